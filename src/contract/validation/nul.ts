/**
 * NUL in texts: PostgreSQL refuses it and SQLite cuts the text there, so no request may contain one. The JSON reader
 * refuses it by itself; this checks messages of every protocol.
 */
import { type DescField, type DescMessage, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { resource } from "../../../gen/google/api/resource_pb.ts";
import { getField, type Local } from "../../codec/index.ts";
import { type FieldViolation, maxViolations, shorten } from "../../violations.ts";

/** Checks the value of a field, whose path is `prefix` and `name`. */
type Check = (value: unknown, prefix: string, name: string, found: FieldViolation[]) => void;

interface FieldCheck {
  readonly field: DescField;
  readonly check: Check;
}

const checks = new WeakMap<DescMessage, readonly FieldCheck[]>();

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
  for (const { field, check } of checksOf(schema)) {
    const value = getField(message as Local, field);
    if (value !== undefined) check(value, prefix, field.name, found);
  }
}

/** The checks of the fields that can hold text, made once per message type. */
function checksOf(schema: DescMessage): readonly FieldCheck[] {
  let known = checks.get(schema);
  if (known === undefined) {
    known = schema.fields.flatMap((field) => {
      const check = checkOf(field);
      return check === undefined ? [] : [{ field, check }];
    });
    checks.set(schema, known);
  }
  return known;
}

function checkOf(field: DescField): Check | undefined {
  const isText = field.scalar === ScalarType.STRING;
  const { message } = field;
  const one: Check | undefined = isText
    ? checkText
    : message && ((value, prefix, name, found) => checkMessage(message, value, `${prefix}${name}.`, found));
  switch (field.fieldKind) {
    case "list":
      return (
        one &&
        ((values, prefix, name, found) => {
          for (const [i, value] of (values as readonly unknown[]).entries()) {
            if (found.length > maxViolations) return;
            one(value, prefix, `${name}[${i}]`, found);
          }
        })
      );
    case "map":
      return (entries, prefix, name, found) => {
        for (const [key, value] of Object.entries(entries as object)) {
          if (found.length > maxViolations) return;
          checkText(key, prefix, name, found);
          one?.(value, prefix, `${name}[${JSON.stringify(shorten(key))}]`, found);
        }
      };
    case "message":
      return hasOption(field.message, resource)
        ? (value, prefix, name, found) =>
            checkMessage(field.message, value, prefix === "" ? "" : `${prefix}${name}.`, found)
        : one;
    default:
      return one;
  }
}

function checkText(value: unknown, prefix: string, name: string, found: FieldViolation[]): void {
  if ((value as string).includes("\0")) found.push({ field: prefix + name, description: "must not contain NUL" });
}
