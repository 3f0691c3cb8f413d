/**
 * NUL in a text: PostgreSQL refuses it and SQLite cuts the text there, so no request may carry one. JSON is refused while it is read; this looks
 * at messages however they came.
 */
import { type DescField, type DescMessage, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { resource } from "../../gen/google/api/resource_pb.ts";
import { type FieldViolation, maxViolations, shorten } from "../violations.ts";

/** Looks at the value of one field. */
type Look = (value: unknown, path: string, found: FieldViolation[]) => void;

const looks = new WeakMap<DescMessage, ReadonlyMap<DescField, Look>>();

/** The fields of a request whose text has a NUL, no more than an answer tells; paths in the resource of a request are relative to it. */
export function nulViolations(schema: DescMessage, request: Message): FieldViolation[] {
  const found: FieldViolation[] = [];
  lookInto(schema, request, "", found);
  return found;
}

function lookInto(schema: DescMessage, message: unknown, prefix: string, found: FieldViolation[]): void {
  for (const [field, look] of looksOf(schema)) {
    const value = contentOf(message as Record<string, unknown>, field);
    if (value !== undefined) look(value, prefix + field.name, found);
  }
}

/** What can hold text, found once per message type. */
function looksOf(schema: DescMessage): ReadonlyMap<DescField, Look> {
  let known = looks.get(schema);
  if (known === undefined) {
    known = new Map(
      schema.fields.flatMap((field): [DescField, Look][] => {
        const look = lookAt(field);
        return look === undefined ? [] : [[field, look]];
      }),
    );
    looks.set(schema, known);
  }
  return known;
}

function lookAt(field: DescField): Look | undefined {
  const isText = field.scalar === ScalarType.STRING;
  const { message } = field;
  const one: Look | undefined = isText
    ? lookAtText
    : message && ((value, path, found) => lookInto(message, value, `${path}.`, found));
  switch (field.fieldKind) {
    case "list":
      return (
        one &&
        ((values, path, found) => {
          for (const [i, value] of (values as unknown[]).entries()) {
            if (found.length > maxViolations) return;
            one(value, `${path}[${i}]`, found);
          }
        })
      );
    case "map":
      return (entries, path, found) => {
        for (const [key, value] of Object.entries(entries as object)) {
          if (found.length > maxViolations) return;
          lookAtText(key, path, found);
          one?.(value, `${path}[${JSON.stringify(shorten(key))}]`, found);
        }
      };
    case "message":
      return hasOption(field.message, resource)
        ? (value, path, found) => lookInto(field.message, value, path === field.name ? "" : `${path}.`, found)
        : one;
    default:
      return one;
  }
}

function lookAtText(value: unknown, field: string, found: FieldViolation[]): void {
  if ((value as string).includes("\0")) found.push({ field, description: "must not contain NUL" });
}

/** The value of a field in its local form; undefined when it has presence and is unset. */
export function contentOf(message: Record<string, unknown>, field: DescField): unknown {
  if (field.oneof === undefined) return message[field.localName];
  const member = message[field.oneof.localName] as { case?: string; value?: unknown };
  return member.case === field.localName ? member.value : undefined;
}
