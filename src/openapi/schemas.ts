/** Messages and enums as schemas of ProtoJSON (https://protobuf.dev/programming-guides/json). */
import type { AnyDesc, DescEnum, DescField, DescFile, DescMessage, DescOneof, ScalarType } from "@bufbuild/protobuf";
import { oneof as oneofOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { getOption } from "../annotations.ts";
import { fieldName, hasPresence, type JsonFormat } from "../codec/index.ts";
import { type Json, type Reference, refTo, type Schema } from "./document.ts";
import { isRequiredByRules, noRules, rulesOf, type ValueRules } from "./rules.ts";
import { scalarSchema, wellKnownSchema } from "./values.ts";

/** The comment on a declaration of a proto file; "" without one. */
export type CommentOf = (desc: Exclude<AnyDesc, DescFile>) => string;

/**
 * What a message is used for.
 * - `answer`: what the server sends. It has no value rules, since what is stored may be older than they are.
 * - `partial`: an answer that may lack any field. A page of a list has all but parts of its items.
 * - `input`: what a caller sends, with nothing but the fields that are read.
 * - `patch`: an input that may lack any field, as may the messages in it; items of lists and maps are whole.
 */
export type Form = "answer" | "partial" | "input" | "patch";

/** What schemas are made from. */
export interface SchemasOptions extends FieldNotes {
  /**
   * The messages of requests, of responses and of error details. They and the types of their fields may be referred to.
   */
  readonly inputs: readonly DescMessage[];
  readonly outputs: readonly DescMessage[];
  readonly errorDetails: readonly DescMessage[];
  readonly commentOf: CommentOf;
  /** How responses are written; default: ProtoJSON without options. */
  readonly json?: JsonFormat | undefined;
}

/** What an API adds to its fields. */
export interface FieldNotes {
  /** Whether every answer has the field, though it has presence. */
  readonly isAlwaysSet?: ((field: DescField) => boolean) | undefined;
  /** The pattern of a text whose rules no option states. */
  readonly patternOf?: ((field: DescField) => string | undefined) | undefined;
}

/** The schemas of a document, each made when it is first referred to. */
export class Schemas {
  readonly #commentOf: CommentOf;
  readonly #json: JsonFormat;
  readonly #notes: FieldNotes;
  readonly #names: ReadonlyMap<string, string>;
  /** The messages of responses, and of requests. */
  readonly #outputs: ReadonlySet<DescMessage>;
  readonly #inputs: ReadonlySet<DescMessage>;
  readonly #schemas = new Map<string, Schema>();

  constructor({ inputs, outputs, errorDetails, commentOf, json = {}, ...notes }: SchemasOptions) {
    this.#commentOf = commentOf;
    this.#json = json;
    this.#notes = notes;
    this.#inputs = reachable(inputs, isInput);
    this.#outputs = reachable(outputs, isOutput);
    this.#names = componentNames(reachable([...inputs, ...outputs, ...errorDetails], () => true));
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
  message(desc: DescMessage, form: Form): Schema {
    const wellKnown = wellKnownSchema(desc);
    if (wellKnown !== undefined) return wellKnown;
    const name = this.#nameOf(desc) + this.#suffixOf(desc, form);
    if (!this.#schemas.has(name)) {
      this.#schemas.set(name, {}); // for a message that is found inside itself
      // The title is what generators name their types after.
      this.#schemas.set(name, { title: name, ...this.object(desc, desc.fields, form) });
    }
    return refTo("schemas", name);
  }

  /** The schema of some fields of a message. */
  object(desc: DescMessage, fields: readonly DescField[], form: Form): Schema {
    const had = fields.filter(isSent(form) ? isInput : (field) => this.#isWritten(field));
    const required = had.filter((field) => this.#isAlwaysThere(field, form)).map((field) => this.#keyOf(field));
    const oneofs = desc.oneofs.filter(({ fields: members }) => members.some((member) => had.includes(member)));
    const description = paragraphs(this.#commentOf(desc), ...oneofs.map((oneof) => this.#oneofNote(oneof)));
    const members = oneofs.map((oneof) => oneof.fields.map((field) => this.#keyOf(field)));
    const needed = form === "input" ? members.filter((_, i) => isRequired(oneofs[i]!)) : [];
    return {
      type: "object",
      ...(description !== "" && { description }),
      properties: Object.fromEntries(had.map((field) => [this.#keyOf(field), this.field(field, form)])),
      ...(required.length > 0 && { required }),
      ...exclusions(members),
      ...choices(needed),
      ...(isSent(form) && { additionalProperties: false }),
    };
  }

  /** The schema of a field, with its comment; of one that is sent, with its rules. */
  field(field: DescField, form: Form): Schema {
    const schema = this.#fieldType(field, form);
    const { keywords, notes } = isSent(form) ? this.#rulesOf(field) : noRules;
    const { items, additionalProperties, ...own } = keywords;
    const isEmpty = !isSent(form) && !isOutput(field);
    const description = paragraphs(this.#commentOf(field), ...notes, isEmpty ? "Always empty in answers." : "");
    return {
      ...schema,
      ...(items !== undefined && { items: { ...(schema.items as Schema), ...(items as Schema) } }),
      ...(additionalProperties !== undefined && {
        additionalProperties: { ...(schema.additionalProperties as Schema), ...(additionalProperties as Schema) },
      }),
      ...own,
      ...(description !== "" && { description }),
      ...(field.proto.options?.deprecated === true && { deprecated: true }),
    };
  }

  #rulesOf(field: DescField): ValueRules {
    const { keywords, notes } = rulesOf(field);
    const pattern = this.#notes.patternOf?.(field);
    const isImmutable = getOption(field, field_behavior).includes(FieldBehavior.IMMUTABLE);
    return {
      keywords: { ...keywords, ...(pattern !== undefined && { pattern }) },
      notes: [
        ...notes,
        ...(isImmutable ? ["Cannot be changed."] : []),
        ...(field.message?.typeName === "google.protobuf.FieldMask" ? ["Field paths, separated by commas."] : []),
      ],
    };
  }

  #fieldType(field: DescField, form: Form): Schema {
    const item = form === "patch" ? "input" : form;
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: this.#valueType(field, item) };
      case "map":
        return {
          title: `${this.#nameOf(field.parent)}${this.#suffixOf(field.parent, form)}${pascal(field.jsonName)}Map`,
          type: "object",
          additionalProperties: this.#valueType(field, item),
        };
      default:
        return this.#valueType(field, form);
    }
  }

  #valueType(field: DescField, form: Form): Schema {
    if (field.message !== undefined) return this.message(field.message, form);
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

  /** Whether answers may have a field. One that is never returned is empty where empty fields are written. */
  #isWritten(field: DescField): boolean {
    return isOutput(field) || (this.#json.alwaysEmitImplicit === true && !hasPresence(field));
  }

  /** Whether an object of a form is invalid without the field. */
  #isAlwaysThere(field: DescField, form: Form): boolean {
    if (form === "input") return this.isRequired(field);
    if (form === "patch" || (form === "partial" && !isPage(field.parent))) return false;
    if (hasPresence(field)) return this.#notes.isAlwaysSet?.(field) === true;
    return this.#json.alwaysEmitImplicit === true;
  }

  /** What the name of a form adds to that of its message. The first of the forms that a message has adds nothing. */
  #suffixOf(desc: DescMessage, form: Form): string {
    const first = this.#outputs.has(desc) ? "answer" : this.#inputs.has(desc) ? "input" : "partial";
    const own = form === "patch" && !this.#needsSome(desc, new Set()) ? "input" : form;
    return own === first ? "" : pascal(own);
  }

  /** Whether an input of a message, or of one that is in it once, is invalid without some field. */
  #needsSome(desc: DescMessage, outer: ReadonlySet<DescMessage>): boolean {
    if (outer.has(desc)) return false;
    const inner = new Set([...outer, desc]);
    const fields = desc.fields.filter(isInput);
    const parts = fields.flatMap((field) => (field.fieldKind === "message" ? [field.message] : []));
    return this.needs(fields) || desc.oneofs.some(isRequired) || parts.some((part) => this.#needsSome(part, inner));
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

/** Whether a form is of requests. */
function isSent(form: Form): boolean {
  return form === "input" || form === "patch";
}

/** Whether a field is in requests. */
function isInput(field: DescField): boolean {
  return !getOption(field, field_behavior).includes(FieldBehavior.OUTPUT_ONLY);
}

/** Whether the value of a field is in responses. */
function isOutput(field: DescField): boolean {
  return !getOption(field, field_behavior).includes(FieldBehavior.INPUT_ONLY);
}

/** Whether a message is a page of a list (AIP-158). */
function isPage(desc: DescMessage): boolean {
  return desc.fields.some(({ name }) => name === "next_page_token");
}

function isRequired(oneof: DescOneof): boolean {
  return oneof.fields.length > 1 && getOption(oneof, oneofOption).required;
}

/** At most one of the properties of each list. */
function exclusions(oneofs: readonly (readonly string[])[]): Schema {
  const others = oneofs.flatMap((names) =>
    names.length < 2
      ? []
      : names.map((name): [string, Json] => [name, absent(names.filter((other) => other !== name))]),
  );
  return others.length > 0 ? { dependentSchemas: Object.fromEntries(others) } : {};
}

/** Some of the properties of each list. Generators of clients ignore `not`, and take `anyOf` for a choice of types. */
function choices(oneofs: readonly (readonly string[])[]): Schema {
  const [first, ...more] = oneofs.map(absent);
  if (first === undefined) return {};
  return { not: more.length === 0 ? first : { anyOf: [first, ...more] } };
}

/** An object without these properties. Validators that close every schema must know that it may have others. */
function absent(names: readonly string[]): Schema {
  return { properties: Object.fromEntries(names.map((name) => [name, { not: {} }])), additionalProperties: true };
}

/** Joins texts as paragraphs of Markdown; empty ones are left out. */
export function paragraphs(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** The messages and those of their fields, as far as a predicate of fields says. */
function reachable(messages: Iterable<DescMessage>, isFollowed: (field: DescField) => boolean): Set<DescMessage> {
  const found = new Set<DescMessage>();
  const visit = (desc: DescMessage) => {
    if (found.has(desc)) return;
    found.add(desc);
    for (const field of desc.fields) if (field.message !== undefined && isFollowed(field)) visit(field.message);
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
