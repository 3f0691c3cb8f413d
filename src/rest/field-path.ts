/** Field paths (`repo.uid`): from names to descriptors, and from descriptors to the place in a message. */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { getOption } from "../annotations.ts";
import { getField, hasCustomJson, type Local, localOf, newMessage, setField } from "../codec/index.ts";

/** The fields along a path. All but the last are singular messages. */
export type FieldPath = readonly [DescField, ...DescField[]];

const fieldsByName = new WeakMap<DescMessage, Map<string, DescField>>();

/** Finds a field by its proto name or its lowerCamelCase name. */
export function findField(desc: DescMessage, name: string): DescField | undefined {
  let fields = fieldsByName.get(desc);
  if (fields === undefined) {
    fields = new Map(desc.fields.map((field) => [field.jsonName, field]));
    for (const field of desc.fields) fields.set(field.name, field); // the name that annotations use wins
    fieldsByName.set(desc, fields);
  }
  return fields.get(name);
}

/** Follows names through singular messages; undefined where a name is unknown. */
export function resolveFieldPath(desc: DescMessage, names: readonly string[]): FieldPath | undefined {
  const path: DescField[] = [];
  let message: DescMessage | undefined = desc;
  for (const name of names) {
    const field: DescField | undefined = message === undefined ? undefined : findField(message, name);
    if (field === undefined) return undefined;
    path.push(field);
    message = messageBelow(field);
  }
  return path as [DescField, ...DescField[]];
}

/** A field path in text, and the key in brackets where it ends at an entry of a map. */
export interface TextPath {
  readonly path: FieldPath;
  readonly key: string | undefined;
}

const maxPathLength = 100;
/** What separates names in a path. A `json_name` may contain it. */
const separators = /[.[\]]/;

/**
 * Reads `claimMatch.subject` or `labels[env]`; undefined where a name is unknown, or a path of more than 100 fields.
 */
export function parseFieldPath(input: DescMessage, text: string): TextPath | undefined {
  const path: DescField[] = [];
  let message: DescMessage | undefined = input;
  let rest = text;
  while (message !== undefined && path.length < maxPathLength) {
    const name: string = separatedNameOf(message, rest) ?? (rest.split(separators, 1)[0] as string);
    const field = findField(message, name);
    if (field === undefined) return undefined;
    path.push(field);
    const next = rest[name.length];
    rest = rest.slice(name.length + 1);
    const isMap = field.fieldKind === "map";
    if (next === "[" && isMap && rest.endsWith("]")) return textPath(path, rest.slice(0, -1));
    if (next === undefined) return isMap ? undefined : textPath(path, undefined);
    message = next === "." ? messageBelow(field) : undefined;
  }
  return undefined;
}

function textPath(path: readonly DescField[], key: string | undefined): TextPath {
  return { path: path as [DescField, ...DescField[]], key };
}

const separatedNames = new WeakMap<DescMessage, readonly string[]>();

/** The `json_name` with a separator in it that the text begins with, the longest of several. */
function separatedNameOf(desc: DescMessage, text: string): string | undefined {
  let names = separatedNames.get(desc);
  if (names === undefined) {
    const all = desc.fields.map(({ jsonName }) => jsonName);
    names = all.filter((name) => separators.test(name)).sort((a, b) => b.length - a.length);
    separatedNames.set(desc, names);
  }
  return names.find((name) => text.startsWith(name) && ["", ".", "["].includes(text.charAt(name.length)));
}

/** The message whose fields a path may name below a field. */
function messageBelow(field: DescField): DescMessage | undefined {
  return field.fieldKind === "message" && !hasCustomJson(field.message) ? field.message : undefined;
}

/** The field a path ends at. */
export function leafField(path: FieldPath): DescField {
  return path.at(-1) as DescField;
}

/** Whether a request is invalid without the field (AIP-203). */
export function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/** The path in proto names: `claim_match.subject`. */
export function formatFieldPath(path: FieldPath): string {
  return path.map((field) => field.name).join(".");
}

/** The oneofs along a path, each with the member that the path goes through: `repo.source` and `repo.url`. */
export function oneofsAlong(path: FieldPath): [oneof: string, member: string][] {
  return path.flatMap((field, index) => {
    if (field.oneof === undefined) return [];
    const prefix = path.slice(0, index).map(({ name }) => `${name}.`);
    return [[prefix.join("") + field.oneof.name, prefix.join("") + field.name]];
  });
}

/**
 * The member of a oneof that excludes a path. `members`: those given before, by oneof; the ones of the path are added.
 */
export function otherMember(path: FieldPath, members: Map<string, string>): string | undefined {
  for (const [oneof, member] of oneofsAlong(path)) {
    const given = members.get(oneof) ?? member;
    if (given !== member) return given;
    members.set(oneof, member);
  }
  return undefined;
}

/** The message that holds the last field of the path. Missing messages along the path are created. */
export function holderOf(message: Message, path: FieldPath): Local {
  let holder: Local = localOf(message);
  for (const field of path.slice(0, -1)) {
    let next = getField(holder, field) as Local | undefined;
    if (next === undefined) {
      next = newMessage(field.message as DescMessage);
      setField(holder, field, next);
    }
    holder = next;
  }
  return holder;
}
