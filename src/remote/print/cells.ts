/** The value of a field as a cell of a table. */

import { type DescEnum, type DescField, type Message, ScalarType } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, type Timestamp, TimestampSchema, timestampDate } from "@bufbuild/protobuf/wkt";
import { printable } from "../../log-text.ts";
import { shortName } from "../catalog/enums.ts";

/** How short values are printed. */
export interface CellStyle {
  /** As people read them on a terminal: times as distances from now, digests by their beginning. */
  readonly isBrief: boolean;
}

/** The cell of a field; "" for a value that is not set, or that has no short form. */
export function cellOf(field: DescField, message: Message, style: CellStyle): string {
  const value = fieldValue(field, message);
  if (value === undefined) return "";
  if (field.fieldKind === "list")
    return (value as readonly unknown[]).map((item) => textOf(field, item, style)).join(",");
  if (field.fieldKind === "map")
    return Object.entries(value as object)
      .map(([key, item]) => `${printable(key)}=${textOf(field, item, style)}`)
      .join(",");
  return textOf(field, value, style);
}

/** The value of a field; undefined for a message that is not set, and for a member of a oneof that is not chosen. */
export function fieldValue(field: DescField, message: Message): unknown {
  const fields = message as Message & Record<string, unknown>;
  if (field.oneof === undefined) return fields[field.localName];
  const chosen = fields[field.oneof.localName] as { readonly case?: string; readonly value?: unknown } | undefined;
  return chosen?.case === field.localName ? chosen.value : undefined;
}

/** The messages in a field that has fields of its own, and is not a map; none for types that have a short form. */
export function messagesIn(field: DescField, message: Message): readonly Message[] {
  return hasFields(field) ? ([fieldValue(field, message) ?? []].flat() as Message[]) : [];
}

/** Whether the values of a field are messages with fields of their own. */
export function hasFields(field: DescField): boolean {
  return (
    field.message !== undefined && field.fieldKind !== "map" && !field.message.typeName.startsWith("google.protobuf.")
  );
}

/** `customer` for ORG_KIND_CUSTOMER of OrgKind, as flags accept it; "" for the unspecified value. */
export function enumText(type: DescEnum, number: number): string {
  const value = type.value[number];
  if (value === undefined) return String(number);
  const name = shortName(type, value.name);
  return number === 0 && name === "unspecified" ? "" : name;
}

function textOf(field: DescField, value: unknown, style: CellStyle): string {
  if (field.enum !== undefined) return enumText(field.enum, value as number);
  if (field.message !== undefined) return messageText(field, value as Message, style);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (field.scalar === ScalarType.BOOL) return value ? "yes" : "";
  return printable(String(value));
}

function messageText(field: DescField, value: Message, style: CellStyle): string {
  if (field.message === undefined) return "";
  switch (field.message.typeName) {
    case TimestampSchema.typeName: {
      const date = timestampDate(value as Timestamp);
      return style.isBrief ? distance(Date.now() - date.getTime()) : date.toISOString();
    }
    case DurationSchema.typeName:
      return `${(value as Duration).seconds}s`;
    default: {
      const { name, uid } = field.message.field;
      return [name, uid].map((shown) => (shown === undefined ? "" : cellOf(shown, value, style))).find(Boolean) ?? "";
    }
  }
}

const units: readonly (readonly [seconds: number, name: string])[] = [
  [365 * 86400, "y"],
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
];

/** `3h ago`, `in 5m`. */
function distance(ms: number): string {
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const [unit, name] = units.find(([size]) => seconds >= size) ?? [1, "s"];
  const text = `${Math.floor(seconds / unit)}${name}`;
  return ms >= 0 ? `${text} ago` : `in ${text}`;
}
