/**
 * Messages to JSON text (ProtoJSON), by functions specialised once per message descriptor.
 *
 * Strings are concatenated, no intermediate object is built, and JSON.stringify is called only for strings with
 * something to escape. Every piece costs once more when the text is sent, so that what is known of neighbouring fields
 * beforehand is one piece. Fields come in the order of their numbers, under their lowerCamelCase names.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromBinary,
  type JsonValue,
  type Message,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import type { Any, FieldMask, Value } from "@bufbuild/protobuf/wkt";
import { EncodedMessage, encodedListOf, wholeMessage } from "./encoded.ts";
import { hasCustomJson, isUnwrapped, type Local, wrapperValue } from "./local.ts";
import { type Bind, literal, perMessage, placeOf, presenceOf, specialise } from "./specialise.ts";
import { formatBytes, formatDuration, formatFieldMask, formatTimestamp, type SecondsAndNanos } from "./text-forms.ts";

/** What a writer needs to know beyond the descriptor. */
export interface JsonWriterOptions {
  /** Finds the types of google.protobuf.Any values. */
  readonly registry: Registry;
}

/** Gives the JSON text of a message. Throws for what ProtoJSON cannot express, such as an Any of an unknown type. */
export type JsonWriter = (message: Message) => string;

/**
 * Gives the JSON text of one field of a message, zero values included; `null` when it has presence and is unset.
 */
export function createJsonFieldWriter(field: DescField, options: JsonWriterOptions): JsonWriter {
  const presence = presenceOf(field) ?? "true";
  const write = specialise<JsonWriter>("message", (bind) => {
    const { code, after } = fieldText(field, "", bind, typesOf(options.registry));
    return `return ${presence} ? ${code} + ${literal(after)} : "null";`;
  });
  return (message) => write(wholeMessage(message));
}

/** The writer for a message type. Each type is compiled once per registry, when it is first written. */
export function createJsonWriter(desc: DescMessage, options: JsonWriterOptions): JsonWriter {
  const type = typesOf(options.registry)(desc);
  const write = (message: Message) => type.write(message as never);
  return (message) => (message instanceof EncodedMessage ? message.json(write) : write(message));
}

/** Writes a value in its local form. The compiler guarantees that the value is of the writer's type. */
type Write = (value: never) => string;
type WriteAny = (value: unknown) => string;

interface MessageType {
  write: Write;
}

type TypeOf = (desc: DescMessage) => MessageType;

const typesByRegistry = new WeakMap<Registry, TypeOf>();

function typesOf(registry: Registry): TypeOf {
  let typeOf = typesByRegistry.get(registry);
  if (typeOf === undefined) {
    typeOf = perMessage((desc) => createType(desc, registry));
    typesByRegistry.set(registry, typeOf);
  }
  return typeOf;
}

function createType(desc: DescMessage, registry: Registry): MessageType {
  const type: MessageType = {
    write(message) {
      type.write = wellKnownWriter(desc, registry) ?? objectWriter(desc, typesOf(registry));
      return type.write(message);
    },
  };
  return type;
}

function objectWriter(desc: DescMessage, typeOf: TypeOf): Write {
  return specialise("message", (bind) => {
    const object = new ObjectCode();
    for (const field of desc.fields.toSorted((a, b) => a.number - b.number)) {
      object.add(quote(field.jsonName), presenceOf(field), (before) => fieldText(field, before, bind, typeOf));
    }
    return object.end();
  });
}

/** The code that puts the text of an object together. */
class ObjectCode {
  /** Statements, of which the last is open for one more text to be added. */
  #code = 'let text = ""';
  /** Text that waits to become one piece with the next. */
  #waiting = "{";
  /** The comma before the next member; undefined where only the text can tell. */
  #comma: "" | "," | undefined = "";

  /** Adds a member, under a condition or always. */
  add(name: string, condition: string | undefined, valueText: (before: string) => ValueText): void {
    const { code, after } = valueText(`${this.#waiting}${this.#comma ?? ""}${name}:`);
    const text = this.#comma === undefined ? `(text === "{" ? "" : ",") + ${code}` : code;
    if (condition === undefined) {
      this.#code += ` + ${text}`;
      this.#waiting = after;
      this.#comma = ",";
    } else {
      const otherwise = literal(this.#waiting);
      this.#code += `;\n  text = ${condition} ? text + ${text} + ${literal(after)} : text + ${otherwise};\n  text = text`;
      this.#waiting = "";
      this.#comma ||= undefined;
    }
  }

  end(): string {
    return `${this.#code} + ${literal(`${this.#waiting}}`)};\n  return text;`;
  }
}

/** The code of a text, and a constant to follow it. */
interface ValueText {
  readonly code: string;
  readonly after: string;
}

/** The text of a field that is set in `message`, after a constant one. */
function fieldText(field: DescField, before: string, bind: Bind, typeOf: TypeOf): ValueText {
  const place = placeOf(field);
  if (field.fieldKind === "list") {
    const items = `${bind(writeList)}(${literal(`${before}[`)}, ${place}, ${bind(itemWriter(field, typeOf))})`;
    const code = `(${place}.length === 0 ? ${literal(`${before}[]`)} : ${items})`;
    return {
      code: field.message === undefined ? code : encodedListText(field.message, code, before, bind, typeOf),
      after: "",
    };
  }
  if (field.fieldKind === "map") {
    const entries = `${bind(writeMap)}(${place}, ${bind(itemWriter(field, typeOf))})`;
    return { code: `${literal(before)} + ${entries}`, after: "" };
  }
  return valueText(field, place, before, bind, typeOf);
}

/** The text of a list of messages that may be encoded still, or else as `code` has it. */
function encodedListText(desc: DescMessage, code: string, before: string, bind: Bind, typeOf: TypeOf): string {
  const type = typeOf(desc);
  const write = bind((message: Message) => type.write(message as never));
  const list = `${bind(encodedListOf)}(message)`;
  return `(${list} === undefined ? ${code} : ${literal(`${before}[`)} + ${list}.json(${write}) + "]")`;
}

/** Gives what writes a list item or a map value. */
function itemWriter(field: DescField, typeOf: TypeOf): WriteAny {
  if (field.scalar === ScalarType.STRING) {
    return quote as WriteAny;
  }
  return specialise("value", (bind) => {
    const { code, after } = valueText(field, "value", "", bind, typeOf);
    return `return ${code} + ${literal(after)};`;
  });
}

/** The text of one value of the field: a singular value, a list item or a map value. */
function valueText(field: DescField, place: string, before: string, bind: Bind, typeOf: TypeOf): ValueText {
  if (field.enum !== undefined) {
    return { code: enumText(field.enum, place, before, bind), after: "" };
  }
  if (field.message === undefined) {
    return scalarText(field.scalar, place, before, bind);
  }
  const wrapped = isUnwrapped(field) ? wrapperValue(field.message) : undefined;
  if (wrapped !== undefined) {
    return scalarText(wrapped.scalar, place, before, bind);
  }
  if (field.message.typeName === "google.protobuf.Timestamp") {
    return quotedText(`${bind(formatTimestamp)}(${place})`, before);
  }
  const isBareStruct =
    field.message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
  const text = isBareStruct ? `${bind(writeJsonValue)}(${place})` : `${bind(typeOf(field.message))}.write(${place})`;
  return { code: `${literal(before)} + ${text}`, after: "" };
}

function scalarText(type: ScalarType, place: string, before: string, bind: Bind): ValueText {
  switch (type) {
    case ScalarType.STRING:
      return quotedText(`${bind(escaped)}(${place})`, before);
    case ScalarType.BYTES:
      return quotedText(`${bind(formatBytes)}(${place})`, before);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return quotedText(place, before);
    case ScalarType.BOOL:
      return { code: `(${place} ? ${literal(`${before}true`)} : ${literal(`${before}false`)})`, after: "" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { code: `${literal(before)} + ${bind(writeDouble)}(${place})`, after: "" };
    default:
      return { code: `${literal(before)} + ${place}`, after: "" };
  }
}

function quotedText(code: string, before: string): ValueText {
  return { code: `${literal(`${before}"`)} + ${code}`, after: '"' };
}

function enumText(desc: DescEnum, place: string, before: string, bind: Bind): string {
  if (desc.typeName === "google.protobuf.NullValue") {
    return literal(`${before}null`);
  }
  const texts: string[] = [];
  for (const { number, jsonName } of Object.values(desc.value)) {
    texts[number] = before + quote(jsonName);
  }
  return `(${bind(texts)}[${place}] ?? ${literal(before)} + ${place})`;
}

function writeDouble(value: number): string {
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}

/** `begin` ends with the bracket. */
function writeList(begin: string, items: readonly unknown[], write: WriteAny): string {
  let text = begin;
  for (let i = 0; i < items.length; i++) {
    text = i === 0 ? text + write(items[i]) : `${text},${write(items[i])}`;
  }
  return `${text}]`;
}

function writeMap(entries: Local, write: WriteAny): string {
  let text = "";
  for (const key of Object.keys(entries)) {
    text += `${text === "" ? "{" : ","}${quote(key)}:${write(entries[key])}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

function wellKnownWriter(desc: DescMessage, registry: Registry): Write | undefined {
  const wrapped = wrapperValue(desc);
  if (wrapped !== undefined) {
    return specialise("message", (bind) => {
      const { code, after } = scalarText(wrapped.scalar, placeOf(wrapped), "", bind);
      return `return ${code} + ${literal(after)};`;
    });
  }
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return (message: SecondsAndNanos) => `"${formatTimestamp(message)}"`;
    case "google.protobuf.Duration":
      return (message: SecondsAndNanos) => `"${formatDuration(message)}"`;
    case "google.protobuf.FieldMask":
      return (message: FieldMask) => quote(formatFieldMask(message.paths));
    case "google.protobuf.Struct":
      return (message: { fields: Local }) => writeMap(message.fields, writeValue as WriteAny);
    case "google.protobuf.ListValue":
      return (message: { values: Value[] }) => writeList("[", message.values, writeValue as WriteAny);
    case "google.protobuf.Value":
      return writeValue;
    case "google.protobuf.Any":
      return (message: Any) => writeAny(message, registry);
    default:
      return undefined;
  }
}

function writeValue({ kind }: Value): string {
  switch (kind.case) {
    case "structValue":
      return writeMap(kind.value.fields, writeValue as WriteAny);
    case "listValue":
      return writeList("[", kind.value.values, writeValue as WriteAny);
    case undefined:
      throw new TypeError("google.protobuf.Value without a value");
    default:
      return writeJsonValue(kind.case === "nullValue" ? null : kind.value);
  }
}

function writeJsonValue(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      if (!Number.isFinite(value)) {
        throw new RangeError("google.protobuf.Value cannot be NaN or infinite");
      }
      return String(value);
    case "object":
      if (value === null) {
        return "null";
      }
      return Array.isArray(value)
        ? writeList("[", value, writeJsonValue as WriteAny)
        : writeMap(value, writeJsonValue as WriteAny);
    default:
      return String(value);
  }
}

function writeAny(any: Any, registry: Registry): string {
  if (any.typeUrl === "") {
    return "{}";
  }
  const desc = registry.getMessage(any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1));
  if (desc === undefined) {
    throw new TypeError(`${JSON.stringify(any.typeUrl)} is not in the registry`);
  }
  const text = createJsonWriter(desc, { registry })(fromBinary(desc, any.value));
  const type = `{"@type":${quote(any.typeUrl)}`;
  if (hasCustomJson(desc)) {
    return `${type},"value":${text}}`;
  }
  return text === "{}" ? `${type}}` : `${type},${text.slice(1)}`;
}

/** Nothing to escape: no quotation mark, backslash, control character or surrogate. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** What goes between the quotation marks. */
function escaped(text: string): string {
  return text === "" || PLAIN.test(text) ? text : JSON.stringify(text).slice(1, -1);
}
