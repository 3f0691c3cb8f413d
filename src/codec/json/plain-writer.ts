/**
 * JSON text of messages by closures, for processes that must not generate code. The text equals that of compiled
 * writers.
 */
import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { getField, hasPresence, isBareStruct, isUnwrapped, type Local, wrapperValue } from "../message-fields.ts";
import { fieldName, type JsonFormat, omission } from "./format.ts";
import { formatBytes } from "./text-forms.ts";
import { enumTexts, quote, type WriteAny, writeDouble, writeJsonValue, writeList, writeMap } from "./values.ts";

/** Returns the writer of a message type, whose `write` is replaced when it is first called. */
export interface TypeOf {
  (desc: DescMessage): { write(message: Message | Local): string };
  readonly format: JsonFormat;
}

/** The writer of messages whose JSON is an object of their fields. */
export function plainObjectWriter(desc: DescMessage, typeOf: TypeOf): (message: Local) => string {
  const members = desc.fields
    .toSorted((a, b) => a.number - b.number)
    .map((field) => ({
      name: `${quote(fieldName(field, typeOf.format))}:`,
      isOmitted: omission(field, typeOf.format),
      localName: field.localName,
      write: plainFieldWriter(field, typeOf),
    }));
  return (message) => {
    let text = "{";
    for (const { name, isOmitted, localName, write } of members) {
      if (isOmitted?.(message[localName])) continue;
      const value = write(message);
      if (value !== undefined) text += `${text === "{" ? "" : ","}${name}${value}`;
    }
    return `${text}}`;
  };
}

/** The writer of one field of a message; undefined for a field that has presence and is unset. */
export function plainFieldWriter(field: DescField, typeOf: TypeOf): (message: Local) => string | undefined {
  const write = fieldWriter(field, typeOf);
  if (!hasPresence(field)) return (message) => write(message[field.localName]);
  return (message) => {
    const value = getField(message, field);
    return value === undefined ? undefined : write(value);
  };
}

function fieldWriter(field: DescField, typeOf: TypeOf): WriteAny {
  const write = plainValueWriter(field, typeOf);
  switch (field.fieldKind) {
    case "list":
      return (items) => writeList("[", items as readonly unknown[], write);
    case "map":
      return (entries) => writeMap(entries as Local, write);
    default:
      return write;
  }
}

/** The writer of one value of the field: a singular value, a list item or a map value. */
export function plainValueWriter(field: DescField, typeOf: TypeOf): WriteAny {
  if (field.enum !== undefined) {
    if (field.enum.typeName === "google.protobuf.NullValue") return () => "null";
    if (typeOf.format.enumAsInteger === true) return String;
    const texts = enumTexts(field.enum);
    return (value) => texts[value as number] ?? String(value);
  }
  if (field.message === undefined) return scalarWriter(field.scalar);
  const wrapped = isUnwrapped(field) ? wrapperValue(field.message) : undefined;
  if (wrapped !== undefined) return scalarWriter(wrapped.scalar);
  if (isBareStruct(field)) return writeJsonValue as WriteAny;
  const type = typeOf(field.message);
  return (message) => type.write(message as Local);
}

/** The writer of a scalar type. */
export function scalarWriter(type: ScalarType): WriteAny {
  switch (type) {
    case ScalarType.STRING:
      return quote as WriteAny;
    case ScalarType.BYTES:
      return (bytes) => `"${formatBytes(bytes as Uint8Array)}"`;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return (long) => `"${long}"`;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return writeDouble as WriteAny;
    default:
      return String;
  }
}
