/** Whether values of a document have the types of their fields, in words for who wrote it. */
import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { suggestion } from "../../did-you-mean.ts";
import { FieldFailure, type Source, type ValuePath } from "./source.ts";

/** A longer enum is not listed. */
const maxListed = 20;

/** Whether the value of a field is a mapping of fields, and not a map or a type with a JSON form of its own. */
export function isNested(field: DescField, value: unknown): value is object {
  return field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.") && isObject(value);
}

/** Whether a value is a mapping. */
export function isObject(value: unknown): value is Record<string, JsonValue> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Checks the values of fields, which have their JSON names. Types with a JSON form of their own, such as times, are
 * left to the JSON reader. Errors: FieldFailure.
 */
export function checkTypes(schema: DescMessage, fields: object, source: Source, above: readonly string[] = []): void {
  for (const [key, value] of Object.entries(fields)) {
    const field = schema.fields.find(({ jsonName }) => key === jsonName);
    if (field === undefined || value === null) continue;
    const path = [...above, key];
    if (isNested(field, value)) checkTypes(field.message!, value, source, path);
    else checkField(field, value, source, path);
  }
}

function checkField(field: DescField, value: JsonValue, source: Source, path: readonly string[]): void {
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) throw problem(path, "must be a list");
    for (const [index, item] of value.entries()) checkItem(field, item, source, path, index);
  } else if (field.fieldKind === "map") {
    if (!isObject(value)) throw problem(path, "must be a mapping");
    for (const [key, item] of Object.entries(value)) checkItem(field, item, source, path, key);
  } else checkItem(field, value, source, path);
}

/** Checks a value that is none of several or, with `at`, one of them. */
function checkItem(
  field: DescField,
  value: JsonValue,
  source: Source,
  above: readonly string[],
  at?: string | number,
): void {
  const path: ValuePath = at === undefined ? above : [...above, at];
  const reason =
    field.enum !== undefined
      ? enumProblem(field.enum, value)
      : field.message !== undefined
        ? messageProblem(field.message, value)
        : scalarProblem(field.scalar!, value, () => source.textOf(path));
  if (reason !== undefined) throw problem(path, reason);
}

function scalarProblem(type: ScalarType, value: JsonValue, text: () => string | undefined): string | undefined {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      if (typeof value === "string") return undefined;
      return typeof value === "object"
        ? "must be a string"
        : `must be a string; quote it: ${JSON.stringify(text() ?? String(value))}`;
    case ScalarType.BOOL:
      return typeof value === "boolean" ? undefined : "must be true or false, without quotes";
    default:
      return typeof value === "number" || typeof value === "string" ? undefined : "must be a number";
  }
}

function enumProblem({ values, value: byNumber }: DescEnum, value: JsonValue): string | undefined {
  if (typeof value === "number" ? value in byNumber : values.some(({ name }) => name === value)) return undefined;
  const names = values.filter(({ number }) => number !== 0).map(({ name }) => name);
  const listed = names.length > maxListed ? "" : ` (${names.join(", ")})`;
  const wanted = String(value).toUpperCase().replace(/[-.]/g, "_"); // `repo.list`, `base`
  const meant = names.find((name) => name === wanted || name.endsWith(`_${wanted}`)) ?? wanted;
  return `there is no ${JSON.stringify(value)}${suggestion(meant, names)}${listed}`;
}

function messageProblem({ typeName }: DescMessage, value: JsonValue): string | undefined {
  switch (typeName) {
    case DurationSchema.typeName:
      return /^-?\d+(\.\d{1,9})?s$/.test(String(value)) ? undefined : "must be a number of seconds, such as 3600s";
    case TimestampSchema.typeName:
      return /T/.test(String(value)) && !Number.isNaN(Date.parse(String(value)))
        ? undefined
        : "must be a time, such as 2026-01-31T12:00:00Z";
    default:
      return isObject(value) || typeName.startsWith("google.protobuf.") ? undefined : "must be a mapping of fields";
  }
}

function problem(path: ValuePath, reason: string): FieldFailure {
  const [first, ...below] = path;
  const text = below.reduce<string>(
    (sum, part) => (typeof part === "number" ? `${sum}[${part}]` : `${sum}.${part}`),
    String(first),
  );
  return new FieldFailure([{ path, text: `${text}: ${reason}` }]);
}
