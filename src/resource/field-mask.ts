/**
 * Field masks of partial updates (AIP-134, AIP-161) and of partial answers (AIP-157). A path names a field of the
 * resource, also inside singular messages; repeated and map fields are taken as a whole. `*` alone is the whole
 * resource. An update without a mask takes the populated fields of the body, an answer all.
 */
import { clone, type DescField, type DescMessage, equals, type Message, type MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { readBehaviors } from "../contract/index.ts";
import { type FieldViolation, invalid } from "../errors.ts";
import { shorten } from "../violations.ts";

/** A field, from the resource downwards. */
export type FieldPath = readonly DescField[];

/**
 * The paths that an update changes, without output-only fields.
 * Errors: INVALID_ARGUMENT on `update_mask` for every path that names no field.
 */
export function effectivePaths(schema: DescMessage, mask: FieldMask | undefined, body: Message): FieldPath[] {
  const given = [...new Set(mask?.paths)];
  const paths =
    given.length === 0
      ? populatedPaths(reflect(schema, body))
      : given.length === 1 && given[0] === "*"
        ? replacedPaths(reflect(schema, body))
        : parsePaths(schema, given, "update_mask");
  return paths.filter((path) => !path.some(isSetByServer));
}

/**
 * The paths that an answer is to have (AIP-157); undefined for all.
 * Errors: INVALID_ARGUMENT on `read_mask` for every path that names no field.
 */
export function readPaths(schema: DescMessage, mask: FieldMask | undefined): FieldPath[] | undefined {
  const given = [...new Set(mask?.paths)];
  if (given.length === 0 || (given.length === 1 && given[0] === "*")) return undefined;
  return parsePaths(schema, given, "read_mask");
}

/** A copy of `before` in which each path has its value of `body`, or none. */
export function applyPaths<D extends DescMessage>(
  schema: D,
  before: MessageShape<D>,
  body: MessageShape<D>,
  paths: readonly FieldPath[],
): MessageShape<D> {
  const after = clone(schema, before);
  for (const path of paths) copyPath(reflect(schema, body), reflect(schema, after), path);
  return after;
}

/**
 * Enforces field behavior (AIP-203) at every depth, in place. Output-only fields get the values of `before`. Immutable
 * fields keep theirs.
 * Errors: INVALID_ARGUMENT on every immutable field that the client changed.
 */
export function enforceFieldBehavior(schema: DescMessage, before: Message | undefined, after: Message): void {
  const violations: FieldViolation[] = [];
  enforce(before && reflect(schema, before), reflect(schema, after), "", violations);
  if (violations.length > 0) throw invalid(violations);
}

/** The name of a path in masks and errors: `claim_match.subject`. */
export function pathName(path: FieldPath): string {
  return path.map((field) => field.name).join(".");
}

function isSetByServer(field: DescField): boolean {
  return field.name === "etag" || readBehaviors(field.parent).outputOnly.has(field);
}

/** @param maskName the field of the request that the mask is, for errors. */
function parsePaths(schema: DescMessage, texts: readonly string[], maskName: string): FieldPath[] {
  const paths = texts.map((text) => parsePath(schema, text));
  const unknown = texts.filter((_, i) => paths[i] === undefined);
  if (unknown.length > 0)
    throw invalid(
      unknown.map((text) => ({ field: maskName, description: `${JSON.stringify(shorten(text))} is not a field` })),
    );
  return paths as FieldPath[];
}

/** The fields that a path names; undefined if it names none. */
function parsePath(schema: DescMessage, text: string): FieldPath | undefined {
  const path: DescField[] = [];
  let message: DescMessage | undefined = schema;
  for (const name of text.split(".")) {
    const field: DescField | undefined = message?.fields.find(
      (f) => f.name === name || f.jsonName === name || f.localName === name,
    );
    if (field === undefined) return undefined;
    path.push(field);
    message = field.fieldKind === "message" ? field.message : undefined;
  }
  return path;
}

function populatedPaths(body: ReflectMessage): FieldPath[] {
  return body.fields.flatMap((field): FieldPath[] => {
    if (!body.isSet(field)) return [];
    const nested = hasFields(field) ? populatedPaths(body.get(field) as ReflectMessage) : [];
    return nested.length === 0 ? [[field]] : nested.map((path) => [field, ...path]);
  });
}

function replacedPaths(body: ReflectMessage): FieldPath[] {
  const { immutable } = readBehaviors(body.desc);
  return body.fields.filter((field) => !immutable.has(field) || body.isSet(field)).map((field) => [field]);
}

/** Whether paths continue inside a field: in singular messages of the API, not in well-known types. */
function hasFields(field: DescField): boolean {
  return field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.");
}

function copyPath(from: ReflectMessage, to: ReflectMessage, path: FieldPath): void {
  const [field, ...rest] = path;
  if (field === undefined) return;
  const isGiven = from.isSet(field);
  if (rest.length === 0) {
    if (isGiven) to.set(field, from.get(field));
    else to.clear(field);
    return;
  }
  if (!isGiven && !to.isSet(field)) return;
  if (!to.isSet(field)) to.set(field, reflect((field as DescField & { message: DescMessage }).message));
  copyPath(from.get(field) as ReflectMessage, to.get(field) as ReflectMessage, rest);
}

function enforce(
  before: ReflectMessage | undefined,
  after: ReflectMessage,
  prefix: string,
  violations: FieldViolation[],
): void {
  const { outputOnly, immutable } = readBehaviors(after.desc);
  for (const field of after.fields) {
    const had = before?.isSet(field) ? before.get(field) : undefined;
    if (outputOnly.has(field)) {
      if (had !== undefined) after.set(field, had);
      else if (after.isSet(field)) after.clear(field);
    } else if (immutable.has(field) && had !== undefined) {
      if (!after.isSet(field)) after.set(field, had);
      else if (!sameValue(field, before as ReflectMessage, after)) {
        const path = prefix + field.name;
        violations.push({ field: path, description: `${path} cannot change` });
      }
    } else if (hasFields(field) && after.isSet(field)) {
      enforce(
        had as ReflectMessage | undefined,
        after.get(field) as ReflectMessage,
        `${prefix}${field.name}.`,
        violations,
      );
    }
  }
}

/** Whether a field has the same value in two messages of a type. */
export function sameValue(field: DescField, a: ReflectMessage, b: ReflectMessage): boolean {
  const only = (message: ReflectMessage): Message => {
    const copy = reflect(message.desc);
    copy.set(field, message.get(field));
    return copy.message;
  };
  return equals(a.desc, only(a), only(b));
}
