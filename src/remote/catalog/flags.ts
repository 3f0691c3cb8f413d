/** The fields of a message as options of a command: `--name`, `--claim-match.issuer`. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { getOption } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { commentOf } from "./comments.ts";
import { shortName, shortNames } from "./enums.ts";
import { kebab } from "./resources.ts";

/** The option of a field, and where its value belongs in the JSON form of the message. */
export class FieldFlag extends Option {
  readonly field: DescField;
  /** JSON names from the message down to the field. */
  readonly path: readonly string[];

  constructor(name: string, field: DescField, path: readonly string[]) {
    super(`${name} ${placeholder(field)}`, `${commentOf(field).replaceAll("\n", " ")}${valuesText(field)}`);
    this.field = field;
    this.path = path;
    this.argParser(collect).preset("true"); // a boolean without a value
  }
}

/** The values of an enum with more are not listed. */
const maxListed = 20;

/** How deep messages in messages have options of their own. */
const maxDepth = 2;

/** Adds an option for each field that a caller may set. @param except names of fields without one. */
export function addFieldFlags(command: Command, schema: DescMessage, except: readonly string[] = []): FieldFlag[] {
  const flags: FieldFlag[] = [];
  const taken = new Set(command.options.map(({ long }) => long));
  const add = (type: DescMessage, prefix: string, path: readonly string[]) => {
    for (const field of type.fields) {
      if (path.length === 0 && except.includes(field.name)) continue;
      if (getOption(field, field_behavior).includes(FieldBehavior.OUTPUT_ONLY)) continue;
      const here = [...path, field.jsonName];
      if (field.fieldKind === "message" && !isPlain(field.message) && here.length <= maxDepth) {
        add(field.message, `${prefix}${kebab(field.name)}.`, here);
        continue;
      }
      const name = `--${prefix}${kebab(field.name)}`;
      const flag = new FieldFlag(taken.has(name) ? name.replace("--", "--field.") : name, field, here);
      command.addOption(flag);
      flags.push(flag);
    }
  };
  add(schema, "", []);
  return flags;
}

/** Errors: CommandFailure that names the options of required fields that are missing. @param fields what is given. */
export function requireFields(flags: readonly FieldFlag[], fields: JsonObject): void {
  const missing = flags
    .filter(({ field, path }) => path.length === 1 && isRequired(field) && fields[field.jsonName] === undefined)
    .map(({ long }) => long);
  if (missing.length > 0)
    throw new CommandFailure(`${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} required`, 2);
}

function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/** Parses an option that may be given several times. */
export function collect(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), text];
}

/** The JSON form of the fields whose options are given. Errors: CommandFailure that names the option. */
export function fieldsOf(command: Command, flags: readonly FieldFlag[]): JsonObject {
  const fields: JsonObject = {};
  for (const flag of flags) {
    const texts = command.getOptionValue(flag.attributeName()) as readonly string[] | undefined;
    if (texts !== undefined) setField(fields, flag.path, jsonValueOf(flag.field, texts, flag.long!));
  }
  return fields;
}

/** The JSON form of `name=value` pairs, as of `--filter`: names in any form, dotted for fields of messages. */
export function fieldsOfPairs(schema: DescMessage, pairs: readonly string[], flag: string): JsonObject {
  const given = new Map<DescField, { path: string[]; texts: string[] }>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at <= 0) throw new CommandFailure(`${flag} must be like name=value, not ${JSON.stringify(pair)}`, 2);
    const { field, path } = findField(schema, pair.slice(0, at), flag);
    const entry = given.get(field) ?? { path, texts: [] };
    entry.texts.push(pair.slice(at + 1));
    given.set(field, entry);
  }
  const fields: JsonObject = {};
  for (const [field, { path, texts }] of given)
    setField(fields, path, jsonValueOf(field, texts, `${flag} ${field.name}`));
  return fields;
}

/** The field of a name in any form, dotted for fields of messages. Errors: CommandFailure that names the option. */
export function findField(schema: DescMessage, name: string, flag: string): { field: DescField; path: string[] } {
  let type: DescMessage | undefined = schema;
  const path: string[] = [];
  let field: DescField | undefined;
  for (const part of name.split(".")) {
    field = type?.fields.find((it) => kebab(it.name) === kebab(part));
    if (field === undefined) {
      const names = (type?.fields ?? []).map((it) => it.name);
      throw new CommandFailure(`${flag}: there is no ${name}${suggestion(part, names)} (${names.join(", ")})`, 2);
    }
    path.push(field.jsonName);
    type = field.message;
  }
  return { field: field!, path };
}

function setField(fields: JsonObject, path: readonly string[], value: JsonValue): void {
  let target = fields;
  for (const name of path.slice(0, -1)) {
    target[name] ??= {};
    target = target[name] as JsonObject;
  }
  target[path.at(-1)!] = value;
}

/** A message without options for its fields: a type with a JSON form of its own. */
function isPlain({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

/** ` (base, fips)`; "" where there are many. */
function valuesText({ enum: type }: DescField): string {
  const names = type === undefined ? [] : shortNames(type);
  return names.length === 0 || names.length > maxListed ? "" : ` (${names.join(", ")})`;
}

function placeholder(field: DescField): string {
  switch (field.fieldKind) {
    case "map":
      return "<KEY=VALUE>";
    case "enum":
      return "<VALUE>";
    case "list":
      return field.listKind === "message" ? "<JSON>" : "<VALUE>";
    case "scalar":
      if (field.scalar === ScalarType.BOOL) return "[BOOL]";
      return [ScalarType.STRING, ScalarType.BYTES].includes(field.scalar) ? "<TEXT>" : "<NUMBER>";
    default:
      if (field.message.typeName === "google.protobuf.Timestamp") return "<TIME>";
      return field.message.typeName === "google.protobuf.Duration" ? "<DURATION>" : "<JSON>";
  }
}

function jsonValueOf(field: DescField, texts: readonly string[], flag: string): JsonValue {
  if (field.fieldKind === "list") {
    if (field.listKind === "message") return texts.map((text) => jsonOf(text, flag));
    const items = field.listKind === "enum" ? texts.flatMap((text) => text.split(",")) : texts;
    return items.map((text) => scalarOf(field, text, flag));
  }
  if (field.fieldKind === "map")
    return Object.fromEntries(
      texts.map((text) => {
        const at = text.indexOf("=");
        if (at <= 0) throw new CommandFailure(`${flag} must be like key=value, not ${JSON.stringify(text)}`, 2);
        return [text.slice(0, at), scalarOf(field, text.slice(at + 1), flag)];
      }),
    );
  if (texts.length > 1) throw new CommandFailure(`${flag} is given ${texts.length} times`, 2);
  return scalarOf(field, texts[0]!, flag);
}

const secondsIn: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86400 };

function scalarOf(field: DescField, text: string, flag: string): JsonValue {
  if (field.enum !== undefined) return enumNumber(field.enum, text, flag);
  if (field.scalar === ScalarType.BOOL) {
    if (text === "true" || text === "false") return text === "true";
    throw new CommandFailure(`${flag} must be true or false, not ${JSON.stringify(text)}`, 2);
  }
  if (field.scalar !== undefined) {
    const isText = field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES;
    if (isText || /^-?\d+(\.\d+)?$/.test(text)) return text;
    throw new CommandFailure(`${flag} must be a number, not ${JSON.stringify(text)}`, 2);
  }
  switch (field.message?.typeName) {
    case "google.protobuf.Timestamp":
    case "google.protobuf.FieldMask":
      return text;
    case "google.protobuf.Duration": {
      const [, count, unit = "s"] = /^(\d+)([smhd])$/.exec(text) ?? [];
      if (count === undefined)
        throw new CommandFailure(`${flag} must be like 90s, 15m, 1h or 7d, not ${JSON.stringify(text)}`, 2);
      return `${Number(count) * secondsIn[unit]!}s`;
    }
    default:
      return jsonOf(text, flag);
  }
}

/** `customer`, `ORG_KIND_CUSTOMER` and `2` name the same value. */
function enumNumber(type: DescEnum, text: string, flag: string): JsonValue {
  const wanted = shortName(type, text.toUpperCase().replaceAll("-", "_"));
  const value = type.values.find(({ name, number }) => shortName(type, name) === wanted || String(number) === text);
  if (value !== undefined) return value.name;
  const names = shortNames(type);
  const listed = names.length > maxListed ? "" : ` (${names.join(", ")})`;
  throw new CommandFailure(`${flag}: there is no ${text}${suggestion(wanted, names)}${listed}`, 2);
}

function jsonOf(text: string, flag: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`${flag} must be JSON, not ${JSON.stringify(text)}`, 2);
  }
}
