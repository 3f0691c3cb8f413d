/** The fields that a document names, as a message. */
import {
  type DescField,
  type DescMessage,
  fromJson,
  hasOption,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { field as rules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { isUid } from "../../uid.ts";
import { findType } from "../catalog/contract.ts";
import { hasNames } from "../catalog/resources.ts";
import type { Session } from "../session/session.ts";
import { uidOf } from "./lookup.ts";
import { FieldFailure, onePlace, pathOfField, type Source, type ValuePath } from "./source.ts";
import { checkTypes, isNested, isObject } from "./types.ts";

/** The name of a resource in a field that holds the uid of one. */
export interface Reference {
  readonly field: DescField;
  /** `iam.platform.internal/Role`. */
  readonly type: string;
  /** A uid, a name or a path. */
  readonly text: string;
  /** Where it is. */
  readonly path: ValuePath;
  /** Puts the uid in the place of the name. */
  resolve(uid: string): void;
}

/** What a document says about the fields of a resource. */
export interface Spec {
  /** By JSON names. Only the fields that the document names, without those that the server sets. */
  readonly fields: JsonObject;
  readonly references: readonly Reference[];
  /** Paths of the fields that only the server sets. */
  readonly ignored: readonly string[];
}

/** Reads the fields of a resource, in JSON names or proto names. Errors: CommandFailure with the place of the field. */
export function readSpec(schema: DescMessage, value: unknown, source: Source): Spec {
  const references: Reference[] = [];
  const ignored: string[] = [];
  const read = (type: DescMessage, object: object, above: ValuePath): JsonObject => {
    const fields: JsonObject = {};
    for (const [key, item] of Object.entries(object)) {
      const path = [...above, key];
      const field = type.fields.find(({ name, jsonName }) => key === name || key === jsonName);
      if (field === undefined) {
        const hint = suggestion(
          key,
          type.fields.map(({ jsonName }) => jsonName),
        );
        throw new FieldFailure([{ path, text: `${path.join(".")}: ${type.name} has no such field${hint}` }]);
      }
      if (field.jsonName in fields) throw new FieldFailure([{ path, text: `${path.join(".")} is given twice` }]);
      if (hasBehavior(field, FieldBehavior.OUTPUT_ONLY)) ignored.push(path.join("."));
      else fields[field.jsonName] = isNested(field, item) ? read(field.message!, item, path) : item;
    }
    for (const field of type.fields) references.push(...referencesOf(field, fields, above));
    return fields;
  };
  return inPlace(source, () => {
    if (!isObject(value)) throw new FieldFailure([{ path: [], text: "spec must be a mapping of fields" }]);
    const fields = read(schema, value, []);
    checkTypes(schema, fields, source);
    return { fields, references, ignored };
  });
}

/** The fields of a request with uids in the place of names. @param place of the fields, in errors. */
export async function resolveReferences(
  session: Session,
  schema: DescMessage,
  fields: JsonObject,
  place: string,
): Promise<JsonObject> {
  const spec = readSpec(schema, fields, onePlace(place));
  for (const { type, text, resolve } of spec.references) resolve(await uidOf(session, type, text));
  return spec.fields;
}

/** The message of the fields of a spec. Errors: FieldFailure. */
export function messageOf(schema: DescMessage, fields: JsonObject): Message {
  try {
    return fromJson(schema, fields);
  } catch (error) {
    checkTypes(schema, fields, onePlace(""));
    const reason = (error as Error).message.replace(`cannot decode field ${schema.typeName}.`, "");
    const [name = ""] = reason.split(" ");
    throw new FieldFailure([{ path: pathOfField(name), text: reason.replace(" from JSON: ", ": not ") }]);
  }
}

/**
 * Checks the value rules of a resource. Errors: FieldFailure with each violation.
 * @param concerns the fields to check, by JSON name; a rule of a oneof is checked only if all are.
 */
export async function checkValues(
  schema: DescMessage,
  message: Message,
  concerns?: (jsonName: string) => boolean,
): Promise<void> {
  await checkRules(schema, message, ([first]) =>
    first?.kind === "field" ? (concerns?.(first.jsonName) ?? true) : concerns === undefined,
  );
}

/**
 * Checks what a document says before anything is sent. Errors: CommandFailure with the place of each field, exit status
 * 2.
 * @param isWhole whether the document describes the whole resource. Else only rules of the values that it names are
 * checked.
 */
export async function checkSpec(schema: DescMessage, spec: Spec, source: Source, isWhole: boolean): Promise<void> {
  const { fields, references } = readSpec(schema, structuredClone(spec.fields), source);
  for (const { text, resolve } of references) if (!isUid(text)) resolve(anyUid);
  try {
    const message = messageOf(schema, fields);
    await checkRules(schema, message, (path) => isWhole || isNamed(fields, path));
  } catch (error) {
    throw error instanceof FieldFailure ? error.at(source) : error;
  }
}

/**
 * Reads all documents before any of them is used. Errors: CommandFailure with what is wrong with each that cannot be,
 * exit status 2.
 */
export async function checkAll<D, T>(documents: readonly D[], check: (document: D) => T | Promise<T>): Promise<T[]> {
  const [checked, problems]: [T[], string[]] = [[], []];
  for (const document of documents)
    try {
      checked.push(await check(document));
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.exitStatus !== 2) throw error;
      problems.push(...error.lines);
    }
  if (problems.length > 0) throw new CommandFailure(problems, 2);
  return checked;
}

/** Stands for the uid of a resource whose name is not looked up yet. */
const anyUid = "0".repeat(40);

async function checkRules(schema: DescMessage, message: Message, concerns: (path: Path) => boolean): Promise<void> {
  const { violationsOf } = await import("../../contract/index.ts");
  const isInput = ([first]: Path) => first?.kind !== "field" || !hasBehavior(first, FieldBehavior.OUTPUT_ONLY);
  const violations = violationsOf(schema, message, (path) => isInput(path) && concerns(path));
  if (violations.length === 0) return;
  throw new FieldFailure(
    violations.map(({ field, description }) => ({ path: pathOfField(field), text: `${field}: ${description}` })),
  );
}

/**
 * Whether fields have the value at a path: a text, a number or a list, but no message, whose other fields may be
 * missing.
 */
function isNamed(fields: JsonObject, path: Path): boolean {
  let value: JsonValue | undefined = fields;
  for (const part of path) {
    if (part.kind === "list_sub" || part.kind === "map_sub") return true;
    if (part.kind !== "field" || !isObject(value)) return false;
    value = value[part.jsonName];
  }
  return value !== undefined && value !== null && !isObject(value);
}

function inPlace<T>(source: Source, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof FieldFailure ? error.at(source) : error;
  }
}

/** Whether a field has a behavior of AIP-203. */
export function hasBehavior(field: DescField, behavior: FieldBehavior): boolean {
  return getOption(field, field_behavior).includes(behavior);
}

/**
 * Whether a field refers to a resource by a uid, and not by an id of another form, as of what is imported. Of what has
 * names, a filter or a method takes nothing else.
 */
export function hasUid(field: DescField): boolean {
  if (!hasOption(field, resource_reference)) return false;
  const kind = findType(getOption(field, resource_reference).type);
  if (kind !== undefined && hasNames(kind) && /Request$/.test(field.parent.name)) return true;
  const { type } = getOption(field, rules);
  const text = type.case === "repeated" ? type.value.items?.type : type;
  return text?.case === "string" && text.value.pattern.startsWith("^[0-9a-f]{40}");
}

/** The references in a field of a mapping. */
function referencesOf(field: DescField, fields: JsonObject, above: ValuePath): Reference[] {
  const value = fields[field.jsonName];
  if (!hasUid(field) || value === undefined) return [];
  const { type } = getOption(field, resource_reference);
  if (!Array.isArray(value)) return typeof value === "string" && value !== "" ? [referenceTo(value, fields)] : [];
  return value.flatMap((item, index) => (typeof item === "string" ? [referenceTo(item, value, index)] : []));

  function referenceTo(text: string, holder: JsonObject | JsonValue[], index?: number): Reference {
    const path = [...above, field.jsonName, ...(index === undefined ? [] : [index])];
    return { field, type, text, path, resolve: (uid) => Object.assign(holder, { [index ?? field.jsonName]: uid }) };
  }
}
