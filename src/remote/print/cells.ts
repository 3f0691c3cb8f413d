/** The value of a field as a cell of a table. */
import { type DescEnum, type DescField, type Message, ScalarType } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, type Timestamp, TimestampSchema, timestampDate } from "@bufbuild/protobuf/wkt";
import { shortName } from "../catalog/enums.ts";
import { oneLine } from "./text.ts";

/** Whether times are printed as distances from now, as people read them. */
export interface CellStyle {
  readonly relativeTimes: boolean;
}

/** The cell of a field; "" for a value that is not set, or that has no short form. */
export function cellOf(field: DescField, message: Message, style: CellStyle): string {
  const value = (message as unknown as Record<string, unknown>)[field.localName];
  if (field.oneof !== undefined) {
    const { case: name, value: member } = (message as unknown as Record<string, { case?: string; value?: unknown }>)[
      field.oneof.localName
    ] ?? { case: undefined };
    return name === field.localName ? textOf(field, member, style) : "";
  }
  if (field.fieldKind === "list") return (value as unknown[]).map((item) => textOf(field, item, style)).join(",");
  if (field.fieldKind === "map")
    return Object.entries(value as object)
      .map(([key, item]) => `${oneLine(key)}=${textOf(field, item, style)}`)
      .join(",");
  return value === undefined ? "" : textOf(field, value, style);
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
  return oneLine(String(value));
}

function messageText(field: DescField, value: Message, { relativeTimes }: CellStyle): string {
  if (field.message === undefined) return "";
  switch (field.message.typeName) {
    case TimestampSchema.typeName: {
      const date = timestampDate(value as Timestamp);
      return relativeTimes ? distance(Date.now() - date.getTime()) : date.toISOString();
    }
    case DurationSchema.typeName:
      return `${(value as Duration).seconds}s`;
    default: {
      const shown = field.message.field.name ?? field.message.field.uid;
      return shown === undefined ? "" : cellOf(shown, value, { relativeTimes });
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
