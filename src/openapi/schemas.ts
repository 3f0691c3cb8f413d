/** Messages and enums as schemas of ProtoJSON (https://protobuf.dev/programming-guides/json). */
import {
  type AnyDesc,
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescOneof,
  getOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { oneof as oneofOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { fieldName, type JsonFormat } from "../codec/index.ts";
import { type Json, type Reference, refTo, type Schema } from "./document.ts";
import { isRequiredByRules, rulesOf } from "./rules.ts";

/** The comment on a declaration of a proto file; "" without one. */
export type CommentOf = (desc: Exclude<AnyDesc, DescFile>) => string;

/** What a message is used for. A patch has every field, and needs none. */
export type Use = "whole" | "patch";

/** What schemas are made from. */
export interface SchemasOptions {
  /** The messages of requests and of responses. They and the types of their fields may be referred to. */
  readonly inputs: readonly DescMessage[];
  readonly outputs: readonly DescMessage[];
  readonly commentOf: CommentOf;
  /** How responses are written; default: ProtoJSON without options. */
  readonly json?: JsonFormat | undefined;
}

/** The schemas of a document, each made when it is first referred to. */
export class Schemas {
  readonly #commentOf: CommentOf;
  readonly #json: JsonFormat;
  readonly #names: ReadonlyMap<string, string>;
  /** The messages that are in no request. */
  readonly #onlyInResponses: ReadonlySet<DescMessage>;
  readonly #schemas = new Map<string, Schema>();

  constructor({ inputs, outputs, commentOf, json = {} }: SchemasOptions) {
    this.#commentOf = commentOf;
    this.#json = json;
    const given = reachable(inputs);
    const all = reachable([...inputs, ...outputs]);
    this.#onlyInResponses = new Set([...all].filter((desc) => !given.has(desc)));
    this.#names = componentNames(all);
  }

  /** The schemas so far, by name. */
  get components(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Adds a schema that is not a message's. */
  add(name: string, schema: Schema): Reference {
    this.#schemas.set(name, schema);
    return refTo("schemas", name);
  }

  /** The schema of a message where it is used. */
  message(desc: DescMessage, use: Use = "whole"): Schema {
    const wellKnown = wellKnownSchema(desc);
    if (wellKnown !== undefined) return wellKnown;
    const differs = use === "patch" && (this.#requiredOf(desc, []).length > 0 || desc.oneofs.some(isRequired));
    const name = this.#nameOf(desc) + (differs ? "Patch" : "");
    if (!this.#schemas.has(name)) {
      this.#schemas.set(name, {}); // for a message that is found inside itself
      const { required, anyOf, allOf, ...schema } = this.object(desc, desc.fields);
      this.#schemas.set(name, {
        title: name, // what generators name their types after
        ...(differs ? schema : defined({ ...schema, required, anyOf, allOf })),
      });
    }
    return refTo("schemas", name);
  }

  /** The schema of some fields of a message. */
  object(desc: DescMessage, fields: readonly DescField[]): Schema {
    const required = this.#requiredOf(
      desc,
      desc.fields.filter((field) => !fields.includes(field)),
    );
    const oneofs = desc.oneofs.filter(({ fields: members }) => members.some((member) => fields.includes(member)));
    const description = paragraphs(this.#commentOf(desc), ...oneofs.map((oneof) => this.#oneofNote(oneof)));
    return {
      type: "object",
      ...(description !== "" && { description }),
      properties: Object.fromEntries(fields.map((field) => [this.#keyOf(field), this.field(field)])),
      ...(required.length > 0 && { required }),
      ...oneofKeywords(oneofs, (field) => this.#keyOf(field)),
    };
  }

  /** The schema of a field, with its comment and its rules. */
  field(field: DescField): Schema {
    const behaviors = getOption(field, field_behavior);
    const isOutput = behaviors.includes(FieldBehavior.OUTPUT_ONLY);
    const { keywords, notes } = isOutput ? { keywords: {}, notes: [] } : rulesOf(field);
    const { items, ...own } = keywords;
    const schema = this.#fieldType(field, items as Schema | undefined);
    const isImmutable = behaviors.includes(FieldBehavior.IMMUTABLE);
    const description = paragraphs(
      this.#commentOf(field),
      ...notes,
      isImmutable ? "Cannot be changed." : "",
      field.message?.typeName === "google.protobuf.FieldMask" ? "Field paths, separated by commas." : "",
    );
    return {
      ...schema,
      ...own,
      ...(description !== "" && { description }),
      ...(isOutput && { readOnly: true }),
      ...(behaviors.includes(FieldBehavior.INPUT_ONLY) && { writeOnly: true }),
      ...(field.proto.options?.deprecated === true && { deprecated: true }),
    };
  }

  #fieldType(field: DescField, items: Schema | undefined): Schema {
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: { ...this.#valueType(field), ...items } };
      case "map":
        return {
          title: `${this.#nameOf(field.parent)}${pascal(field.jsonName)}Map`,
          type: "object",
          additionalProperties: this.#valueType(field),
        };
      default:
        return this.#valueType(field);
    }
  }

  #valueType(field: DescField): Schema {
    if (field.message !== undefined) return this.message(field.message);
    if (field.enum !== undefined) return this.enumeration(field.enum);
    return scalarSchema(field.scalar as ScalarType);
  }

  /** Whether a request is invalid without the field. */
  isRequired(field: DescField): boolean {
    const { oneof } = field;
    if (oneof !== undefined) return oneof.fields.length === 1 && getOption(oneof, oneofOption).required;
    return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED) || isRequiredByRules(field);
  }

  /** Whether a request is invalid without some of these fields. */
  needs(fields: readonly DescField[]): boolean {
    return fields.some((field) => this.isRequired(field));
  }

  /** The schema of an enum where it is used. */
  enumeration(desc: DescEnum): Schema {
    if (desc.typeName === "google.protobuf.NullValue") return { type: "null" };
    const name = this.#nameOf(desc);
    if (!this.#schemas.has(name)) {
      const isInteger = this.#json.enumAsInteger === true;
      const values = desc.values.map((value) => {
        const comment = this.#commentOf(value).replaceAll("\n", " ");
        const texts = [isInteger ? `\`${value.number}\`` : "", `\`${value.name}\``, comment];
        return `- ${texts.filter((text) => text !== "").join(": ")}`;
      });
      this.#schemas.set(name, {
        title: name,
        ...(isInteger ? { type: "integer", format: "int32" } : { type: "string" }),
        description: paragraphs(this.#commentOf(desc), values.join("\n")),
        enum: [...new Set<Json>(desc.values.map((value) => (isInteger ? value.number : value.name)))],
      });
    }
    return refTo("schemas", name);
  }

  /**
   * The fields that are always there. In a message that is in some request, those that a request must have. Fields that
   * the server sets are not among them, though responses have them: many generators would ask callers for them. In other
   * messages, those without presence, if they are written whatever their value.
   */
  #requiredOf(desc: DescMessage, left: readonly DescField[]): string[] {
    const hasAll = this.#json.alwaysEmitImplicit === true && this.#onlyInResponses.has(desc);
    return desc.fields
      .filter((field) => !left.includes(field) && (this.isRequired(field) || (hasAll && !hasPresence(field))))
      .map((field) => this.#keyOf(field));
  }

  #oneofNote(oneof: DescOneof): string {
    const names = oneof.fields.map((field) => `\`${this.#keyOf(field)}\``).join(", ");
    const rule = getOption(oneof, oneofOption).required ? "Exactly one of" : "At most one of";
    return [`${rule} ${names}.`, this.#commentOf(oneof)].filter((text) => text !== "").join(" ");
  }

  /** The key of a field in an object. */
  #keyOf(field: DescField): string {
    return fieldName(field, this.#json);
  }

  #nameOf(desc: DescMessage | DescEnum): string {
    const name = this.#names.get(desc.typeName);
    if (name === undefined) throw new Error(`${desc.typeName} was not announced`);
    return name;
  }
}

/** Whether the field may be absent from a response. */
function hasPresence(field: DescField): boolean {
  return (
    field.fieldKind !== "list" && field.fieldKind !== "map" && field.presence !== FeatureSet_FieldPresence.IMPLICIT
  );
}

function isRequired(oneof: DescOneof): boolean {
  return oneof.fields.length > 1 && getOption(oneof, oneofOption).required;
}

/** Said of part of a schema, for validators that close every schema: other properties are there. */
const open = { additionalProperties: true };

/** At most one member of each oneof; exactly one where the oneof is required. */
function oneofKeywords(oneofs: readonly DescOneof[], keyOf: (field: DescField) => string): Schema {
  const members = oneofs.map(({ fields }) => fields.map(keyOf));
  const exclusions = members.flatMap((names) =>
    names.length < 2 ? [] : names.map((name): [string, Json] => [name, { properties: without(names, name), ...open }]),
  );
  const choices = oneofs.filter(isRequired).map(({ fields }) => ({
    anyOf: fields.map(keyOf).map((key) => ({ properties: { [key]: {} }, required: [key], ...open })),
  }));
  const choice = choices.length === 1 ? choices[0]! : choices.length > 1 ? { allOf: choices } : {};
  return { ...(exclusions.length > 0 && { dependentSchemas: Object.fromEntries(exclusions) }), ...choice };
}

/** Properties that must not be there. */
function without(names: readonly string[], name: string): Schema {
  return Object.fromEntries(names.filter((other) => other !== name).map((other) => [other, { not: {} }]));
}

/** Joins texts as paragraphs of Markdown; empty ones are left out. */
export function paragraphs(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** The schema of a scalar. */
export function scalarSchema(type: ScalarType): Schema {
  switch (type) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { type: "number", format: type === ScalarType.FLOAT ? "float" : "double" };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: "integer", format: "int32" };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", format: "int64", minimum: 0, maximum: 4_294_967_295 };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "string", format: "uint64", pattern: "^[0-9]+$" };
    default:
      return { type: "string", format: "int64", pattern: "^-?[0-9]+$" };
  }
}

function defined(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}

const anyValue: Json = {};

/** The schema of a type of google.protobuf that has its own JSON form. */
function wellKnownSchema({ typeName, fields }: DescMessage): Schema | undefined {
  if (!typeName.startsWith("google.protobuf.")) return undefined;
  switch (typeName.slice("google.protobuf.".length)) {
    case "Timestamp":
      return { type: "string", format: "date-time" };
    case "Duration":
      return { type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$", examples: ["3600s"] };
    case "FieldMask":
      return { type: "string" };
    case "Empty":
      return { type: "object" };
    case "Struct":
      return { type: "object", additionalProperties: anyValue };
    case "Value":
      return {};
    case "ListValue":
      return { type: "array", items: anyValue };
    case "Any":
      return { type: "object", properties: { "@type": { type: "string" } }, required: ["@type"] };
    default: {
      const [value] = fields;
      const isWrapper = typeName.endsWith("Value") && fields.length === 1 && value?.scalar !== undefined;
      if (!isWrapper) return undefined;
      const { type, ...rest } = scalarSchema(value.scalar);
      return { type: [type as string, "null"], ...rest };
    }
  }
}

/** The messages and those of their fields. */
function reachable(messages: Iterable<DescMessage>): Set<DescMessage> {
  const found = new Set<DescMessage>();
  const visit = (desc: DescMessage) => {
    if (found.has(desc)) return;
    found.add(desc);
    for (const { message } of desc.fields) if (message !== undefined) visit(message);
  };
  for (const message of messages) visit(message);
  return found;
}

/** Names of components by type name: the shortest that no other type has. */
function componentNames(messages: Iterable<DescMessage>): Map<string, string> {
  const types = new Map<string, DescMessage | DescEnum>();
  for (const message of messages) {
    types.set(message.typeName, message);
    for (const { enum: desc } of message.fields) if (desc !== undefined) types.set(desc.typeName, desc);
  }
  const shortOf = ({ typeName, file }: DescMessage | DescEnum) => pascal(typeName.slice(file.proto.package.length));
  const shared = new Map<string, number>();
  for (const desc of types.values()) shared.set(shortOf(desc), (shared.get(shortOf(desc)) ?? 0) + 1);
  return new Map(
    [...types].map(([typeName, desc]) => [
      typeName,
      shared.get(shortOf(desc)) === 1 ? shortOf(desc) : pascal(typeName),
    ]),
  );
}

function pascal(name: string): string {
  return name
    .split(".")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}
