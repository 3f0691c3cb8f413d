/**
 * NUL in texts: PostgreSQL refuses it and SQLite cuts the text there, so no request may contain one. The JSON reader
 * refuses it by itself; this checks messages of every protocol.
 */
import { type DescField, type DescMessage, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { resource } from "../../../gen/google/api/resource_pb.ts";
import { getField, type Local } from "../../codec/index.ts";
import { type FieldViolation, maxViolations, shorten } from "../../violations.ts";

/** Checks the value of one field. */
type Check = (value: unknown, path: string, found: FieldViolation[]) => void;

const checks = new WeakMap<DescMessage, ReadonlyMap<DescField, Check>>();

/**
 * The fields of a request whose text contains NUL, as many as a response lists. Paths in the resource of a request are
 * relative to it.
 */
export function nulViolations(schema: DescMessage, request: Message): FieldViolation[] {
  const found: FieldViolation[] = [];
  checkMessage(schema, request, "", found);
  return found;
}

function checkMessage(schema: DescMessage, message: unknown, prefix: string, found: FieldViolation[]): void {
  for (const [field, check] of checksOf(schema)) {
    const value = getField(message as Local, field);
    if (value !== undefined) check(value, prefix + field.name, found);
  }
}

/** The checks of the fields that can hold text, made once per message type. */
function checksOf(schema: DescMessage): ReadonlyMap<DescField, Check> {
  let known = checks.get(schema);
  if (known === undefined) {
    known = new Map(
      schema.fields.flatMap((field): [DescField, Check][] => {
        const check = checkOf(field);
        return check === undefined ? [] : [[field, check]];
      }),
    );
    checks.set(schema, known);
  }
  return known;
}

function checkOf(field: DescField): Check | undefined {
  const isText = field.scalar === ScalarType.STRING;
  const { message } = field;
  const one: Check | undefined = isText
    ? checkText
    : message && ((value, path, found) => checkMessage(message, value, `${path}.`, found));
  switch (field.fieldKind) {
    case "list":
      return (
        one &&
        ((values, path, found) => {
          for (const [i, value] of (values as readonly unknown[]).entries()) {
            if (found.length > maxViolations) return;
            one(value, `${path}[${i}]`, found);
          }
        })
      );
    case "map":
      return (entries, path, found) => {
        for (const [key, value] of Object.entries(entries as object)) {
          if (found.length > maxViolations) return;
          checkText(key, path, found);
          one?.(value, `${path}[${JSON.stringify(shorten(key))}]`, found);
        }
      };
    case "message":
      return hasOption(field.message, resource)
        ? (value, path, found) => checkMessage(field.message, value, path === field.name ? "" : `${path}.`, found)
        : one;
    default:
      return one;
  }
}

function checkText(value: unknown, field: string, found: FieldViolation[]): void {
  if ((value as string).includes("\0")) found.push({ field, description: "must not contain NUL" });
}
