/** What readers of ProtoJSON pass over in an answer: fields that they do not know, and forms that no writer may use. */

import { isDeepStrictEqual } from "node:util";
import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";

/** A place in an answer: the full name of the message with the key, as it came. */
export interface Oddity {
  readonly kind: "unknown" | "time" | "form";
  /** `platform.registry.v2.Repo.createTime`. */
  readonly field: string;
  readonly expected?: JsonValue;
  readonly actual?: JsonValue;
}

/** UTC with `Z`, and 0, 3, 6 or 9 digits. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(?:\d{3}|\d{6}|\d{9}))?Z$/;
const durationPattern = /^-?\d+(?:\.(?:\d{3}|\d{6}|\d{9}))?s$/;
/** Types whose JSON may be anything. */
const free = ["Any", "Struct", "Value", "ListValue"].map((name) => `google.protobuf.${name}`);

/** Finds them in the JSON of a message. @param whole the same message with all fields, as ProtoJSON is written. */
export function oddities(schema: DescMessage, json: JsonValue, whole: JsonValue): Oddity[] {
  if (!isObject(json) || !isObject(whole)) return [];
  return Object.entries(json).flatMap(([key, value]): Oddity[] => {
    const field = fieldOf(schema, key);
    const path = `${schema.typeName}.${key}`;
    if (field === undefined) return [{ kind: "unknown", field: path }];
    const { jsonName } = field;
    if (key !== jsonName) return [{ kind: "form", field: path, expected: jsonName, actual: key }];
    return value === null ? [] : ofField(field, value, whole[jsonName] ?? null, path);
  });
}

function fieldOf({ fields }: DescMessage, key: string): DescField | undefined {
  return fields.find(({ jsonName }) => jsonName === key) ?? fields.find(({ name }) => name === key);
}

function ofField(field: DescField, value: JsonValue, whole: JsonValue, path: string): Oddity[] {
  switch (field.fieldKind) {
    case "list": {
      const [items, wholes] = [value, whole] as [JsonValue[], JsonValue[]];
      if (field.enum !== undefined && items.length !== wholes.length)
        return items.flatMap((it) => unknownEnum(field.enum!, it));
      return items.flatMap((item, i) => ofValue(field, item, wholes[i]!, path));
    }
    case "map":
      return Object.entries(value as JsonObject).flatMap(([key, entry]) =>
        ofValue(field, entry!, (whole as JsonObject)[key] ?? null, path),
      );
    default:
      return ofValue(field, value, whole, path);
  }
}

function ofValue(field: DescField, value: JsonValue, whole: JsonValue, path: string): Oddity[] {
  const odd = (kind: Oddity["kind"], expected: JsonValue): Oddity[] => [{ kind, field: path, expected, actual: value }];
  const { message } = field;
  if (message === undefined) {
    const unknown = field.enum === undefined ? [] : unknownEnum(field.enum, value);
    return unknown.length > 0 || isDeepStrictEqual(value, whole) ? unknown : odd("form", whole);
  }
  switch (message.typeName) {
    case "google.protobuf.Timestamp":
      return timePattern.test(String(value)) ? [] : odd("time", whole);
    case "google.protobuf.Duration":
      return durationPattern.test(String(value)) ? [] : odd("form", whole);
    default:
      if (free.includes(message.typeName)) return [];
      if (!message.typeName.startsWith("google.protobuf.")) return oddities(message, value, whole);
      return isDeepStrictEqual(value, whole) ? [] : odd("form", whole);
  }
}

/** A value that the enum lacks, by its name. */
function unknownEnum({ typeName, values }: DescEnum, value: JsonValue): Oddity[] {
  if (typeof value !== "string" || values.some(({ name }) => name === value)) return [];
  return [{ kind: "unknown", field: `${typeName}.${value}` }];
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
