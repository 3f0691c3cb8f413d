/** JSON text of the values that every writer shares: strings, numbers, names of enums, lists, maps and plain JSON. */
import type { DescEnum, JsonValue } from "@bufbuild/protobuf";
import type { Local } from "../message-fields.ts";

/** Writes a value in its local form, of the type that the writer was made for. */
export type WriteAny = (value: unknown) => string;

/** Nothing to escape: no quotation mark, backslash, control character or surrogate. */
const plainText = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

/** The text of a string. */
export function quote(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** The text of a string without its quotation marks. */
export function escaped(text: string): string {
  return text === "" || plainText.test(text) ? text : JSON.stringify(text).slice(1, -1);
}

/** The texts of the values of an enum, by number, each after `before`; a number without text is written as it is. */
export function enumTexts(desc: DescEnum, before = ""): readonly (string | undefined)[] {
  const texts: string[] = [];
  for (const { number, jsonName } of Object.values(desc.value)) texts[number] = before + quote(jsonName);
  return texts;
}

export function writeDouble(value: number): string {
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}

/** `begin` ends with the opening bracket. */
export function writeList(begin: string, items: readonly unknown[], write: WriteAny): string {
  let text = begin;
  for (let i = 0; i < items.length; i++) text = i === 0 ? text + write(items[i]) : `${text},${write(items[i])}`;
  return `${text}]`;
}

export function writeMap(entries: Local, write: WriteAny): string {
  let text = "";
  for (const key of Object.keys(entries)) text += `${text === "" ? "{" : ","}${quote(key)}:${write(entries[key])}`;
  return text === "" ? "{}" : `${text}}`;
}

/** The text of the JSON that a Struct or Value holds. Throws RangeError for NaN and infinite numbers. */
export function writeJsonValue(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      if (!Number.isFinite(value)) throw new RangeError("google.protobuf.Value cannot be NaN or infinite");
      return String(value);
    case "object":
      if (value === null) return "null";
      return Array.isArray(value)
        ? writeList("[", value, writeJsonValue as WriteAny)
        : writeMap(value, writeJsonValue as WriteAny);
    default:
      return String(value);
  }
}
