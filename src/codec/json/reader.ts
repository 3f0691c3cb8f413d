/**
 * JSON to messages (ProtoJSON), by closures compiled once per message descriptor.
 *
 * Fields are found by lowerCamelCase and by proto name. Unlike the standard, it never guesses: a field given under both
 * names, two members of a oneof, and unknown enum names are violations, even where unknown fields are ignored.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { counted, shorten } from "../../violations.ts";
import { zeroMessage } from "../compile/compile-function.ts";
import {
  getList,
  hasCustomJson,
  isBareStruct,
  type Local,
  type LocalOneof,
  setField,
  setOwn,
} from "../message-fields.ts";
import { listFrom, structFrom, valueFrom } from "../unwrapped-forms.ts";
import { fieldLimits, limitSource } from "./field-limits.ts";
import { type JsonMembers, type JsonNode, JsonNumber } from "./parser.ts";
import { type Leaf, leafOf, scalarLeaf, wellKnownLeaf } from "./scalar-reader.ts";
import type { Violations } from "./violations.ts";

/** Options of a reader. */
interface JsonReaderOptions {
  /** Finds the types of google.protobuf.Any values. */
  readonly registry: Registry;
  /** Skip unknown keys instead of reporting violations. */
  readonly ignoreUnknownFields?: boolean | undefined;
}

/** Makes a message of parsed JSON and collects violations. The message is valid only if there are none. */
type JsonReader = (json: JsonNode, violations: Violations) => Message;

/** The reader for a message type. Readers are compiled once per registry, with the limits in use at that time. */
export function createJsonReader(desc: DescMessage, options: JsonReaderOptions): JsonReader {
  const read = compilerOf(options).message(desc);
  return (json, violations) => (read(json, violations) ?? create(desc)) as Message;
}

/** Reads JSON as the value of one field, in its local form; undefined for null and for what is not acceptable. */
export function createJsonFieldReader(
  field: DescField,
  options: JsonReaderOptions,
): (json: JsonNode, violations: Violations) => unknown {
  const read = valueReader(field, compilerOf(options));
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    const readItems = field.fieldKind === "list" ? listReader(field, read) : mapReader(field, read);
    return (json, violations) => {
      const holder: Local = { [field.localName]: field.fieldKind === "list" ? [] : {} };
      readItems(holder, json, violations);
      return json === null ? undefined : holder[field.localName];
    };
  }
  return (json, violations) => (isUnset(json, field) ? undefined : read(json, violations));
}

/** Returns the value in its local form, or adds a violation and returns undefined. */
type Read = (json: JsonNode, violations: Violations) => unknown;
type ReadField = (message: Local, json: JsonNode, violations: Violations) => void;

interface Compiler {
  readonly options: JsonReaderOptions;
  /** The reader for a message type, compiled when first asked for. */
  message(desc: DescMessage): Read;
}

type Compilers = WeakMap<Registry, Compiler>;

const strictCompilers = new WeakMap<object, Compilers>();
const lenientCompilers = new WeakMap<object, Compilers>();

/** The compiler of a registry, and of the limits that readers are compiled with. */
function compilerOf(options: JsonReaderOptions): Compiler {
  const byLimits = options.ignoreUnknownFields === true ? lenientCompilers : strictCompilers;
  const limits = limitSource();
  const compilers: Compilers = byLimits.get(limits) ?? new WeakMap();
  byLimits.set(limits, compilers);
  const compiler = compilers.get(options.registry) ?? createCompiler(options);
  compilers.set(options.registry, compiler);
  return compiler;
}

function createCompiler(options: JsonReaderOptions): Compiler {
  const readers = new Map<DescMessage, Read>();
  const compiler: Compiler = {
    options,
    message(desc) {
      let read = readers.get(desc) ?? wellKnownReader(desc, compiler);
      if (read === undefined) {
        const fields = new Map<string, NamedField>();
        read = objectReader(desc, fields, options.ignoreUnknownFields ?? false);
        // Stored before its fields are compiled, so that a recursive type finds itself.
        readers.set(desc, read);
        const named = desc.fields.map((field) => ({ field, read: fieldReader(field, compiler) }));
        for (const it of named) fields.set(it.field.name, it);
        for (const it of named) fields.set(it.field.jsonName, it); // wins over the name of another field
      }
      return read;
    },
  };
  return compiler;
}

interface NamedField {
  readonly field: DescField;
  readonly read: ReadField;
}

function objectReader(desc: DescMessage, fields: Map<string, NamedField>, ignoreUnknown: boolean): Read {
  const zero = zeroMessage(desc);
  return (json, violations) => {
    if (!(json instanceof Map)) return violations.add("must be an object");
    const message = zero();
    for (const [key, value] of json) {
      if (violations.isFull) break;
      const named = fields.get(key);
      if (named === undefined) {
        if (!ignoreUnknown) violations.add("unknown field", shorten(key));
        continue;
      }
      const { field } = named;
      violations.enter(field.name);
      if (key !== field.name && json.has(field.name) && fields.get(field.name) === named)
        violations.add(`given twice, as ${field.name} and ${field.jsonName}`);
      else named.read(message, value, violations);
      violations.leave();
    }
    return message;
  };
}

function fieldReader(field: DescField, compiler: Compiler): ReadField {
  const read = valueReader(field, compiler);
  switch (field.fieldKind) {
    case "list":
      return listReader(field, read);
    case "map":
      return mapReader(field, read);
    default: {
      const { oneof } = field;
      return (message, json, violations) => {
        if (isUnset(json, field)) return;
        const given = oneof === undefined ? undefined : (message[oneof.localName] as LocalOneof).case;
        if (given !== undefined) {
          const other = oneof?.fields.find(({ localName }) => localName === given);
          violations.add(`cannot be given with ${other?.name}`);
          return;
        }
        const value = read(json, violations);
        if (value !== undefined) setField(message, field, value);
      };
    }
  }
}

/** null leaves a field unset, except where null is a value of its own. */
function isUnset(json: JsonNode, field: DescField): boolean {
  return json === null && !holdsNull(field);
}

function holdsNull(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Value" || field.enum?.typeName === "google.protobuf.NullValue";
}

function listReader(field: DescField, read: Read): ReadField {
  const { maxSize = Number.POSITIVE_INFINITY } = fieldLimits(field);
  return (message, json, violations) => {
    if (json === null) return;
    if (!Array.isArray(json)) {
      violations.add("must be an array");
      return;
    }
    if (json.length > maxSize) {
      violations.add(`must have at most ${counted(maxSize, "item")}`);
      return;
    }
    const items = getList(message, field);
    for (const [index, item] of json.entries()) {
      if (violations.isFull) break;
      violations.enterItem(index);
      items.push(isUnset(item, field) ? violations.add("must not be null") : read(item, violations));
      violations.leave();
    }
  };
}

function mapReader(field: DescField & { fieldKind: "map" }, read: Read): ReadField {
  const readKey = mapKeyReader(field.mapKey);
  const { maxSize = Number.POSITIVE_INFINITY } = fieldLimits(field);
  return (message, json, violations) => {
    if (json === null) return;
    if (!(json instanceof Map)) {
      violations.add("must be an object");
      return;
    }
    if (json.size > maxSize) {
      violations.add(`must have at most ${counted(maxSize, "entry")}`);
      return;
    }
    const entries = message[field.localName] as Local;
    for (const [text, item] of json) {
      if (violations.isFull) break;
      violations.enterKey(text);
      const key = readKey(text);
      if (key === undefined) {
        violations.add("invalid key");
      } else if (Object.hasOwn(entries, key)) {
        violations.add("duplicate key");
      } else {
        setOwn(entries, key, isUnset(item, field) ? violations.add("must not be null") : read(item, violations));
      }
      violations.leave();
    }
  };
}

/** Reads a map key given as text into the property name it has in the message object. */
export function mapKeyReader(type: ScalarType): (text: string) => string | undefined {
  switch (type) {
    case ScalarType.STRING:
      return (text) => text;
    case ScalarType.BOOL:
      return (text) => (text === "true" || text === "false" ? text : undefined);
    default: {
      const leaf = scalarLeaf(type);
      return (text) => {
        const value = /^-?\d+$/.test(text) ? leaf.read(text) : undefined;
        return value === undefined ? undefined : String(value);
      };
    }
  }
}

function valueReader(field: DescField, compiler: Compiler): Read {
  const leaf = leafOf(field);
  if (leaf !== undefined) return leafReader(leaf);
  return isBareStruct(field) ? readStructObject : compiler.message(field.message as DescMessage);
}

function leafReader(leaf: Leaf): Read {
  return (json, violations) => leaf.read(json) ?? violations.add(`must be ${leaf.expects}`);
}

function wellKnownReader(desc: DescMessage, compiler: Compiler): Read | undefined {
  const leaf = wellKnownLeaf(desc);
  if (leaf !== undefined) return leafReader(leaf);
  switch (desc.typeName) {
    case "google.protobuf.Any":
      return (json, violations) => readAny(json, violations, compiler);
    case "google.protobuf.Struct":
      return (json, violations) => {
        const object = readStructObject(json, violations);
        return object && structFrom(object as JsonObject);
      };
    case "google.protobuf.ListValue":
      return (json, violations) =>
        Array.isArray(json)
          ? listFrom(readJsonValue(json, violations) as JsonValue[])
          : violations.add("must be an array");
    case "google.protobuf.Value":
      return (json, violations) => valueFrom(readJsonValue(json, violations));
    default:
      return undefined;
  }
}

function readAny(json: JsonNode, violations: Violations, compiler: Compiler): Any | undefined {
  if (!(json instanceof Map)) return violations.add("must be an object");
  if (json.size === 0) return create(AnySchema);
  const typeUrl = json.get("@type");
  if (typeof typeUrl !== "string" || !typeUrl.includes("/")) return violations.add("must be a type URL", "@type");
  const desc = compiler.options.registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
  if (desc === undefined) return violations.add("unknown type", "@type");
  const before = violations.list.length;
  const message = readAnyContent(json, desc, violations, compiler);
  // A message with violations might not be encodable.
  if (message === undefined || violations.list.length > before) return undefined;
  return create(AnySchema, { typeUrl, value: toBinary(desc, message as Message) });
}

function readAnyContent(json: JsonMembers, desc: DescMessage, violations: Violations, compiler: Compiler): unknown {
  const content = new Map(json);
  content.delete("@type");
  const read = compiler.message(desc);
  if (!hasCustomJson(desc)) return read(content, violations);
  const value = content.get("value");
  if (value === undefined || content.size > 1) return violations.add("must have the members @type and value");
  violations.enter("value");
  const message = read(value, violations);
  violations.leave();
  return message;
}

function readStructObject(json: JsonNode, violations: Violations): JsonValue | undefined {
  return json instanceof Map ? readJsonValue(json, violations) : violations.add("must be an object");
}

function readJsonValue(json: JsonNode, violations: Violations): JsonValue | undefined {
  if (json instanceof JsonNumber) return readNumber(json, violations);
  if (Array.isArray(json)) return json.map((item) => readJsonValue(item, violations) ?? null);
  if (json instanceof Map) {
    const members: Local = {};
    for (const [key, item] of json) setOwn(members, key, readJsonValue(item, violations));
    return members as JsonValue;
  }
  return json;
}

function readNumber(json: JsonNumber, violations: Violations): number | undefined {
  const number = Number(json.text);
  return Number.isFinite(number) ? number : violations.add("must be a number of double precision");
}
