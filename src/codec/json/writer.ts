/**
 * Messages to JSON text (ProtoJSON), by functions compiled once per message descriptor.
 *
 * Strings are concatenated, no intermediate object is built, and JSON.stringify is called only for strings with
 * something to escape. Every concatenated piece costs again when the text is sent, so constant texts of neighbouring
 * fields are joined at compile time. Fields come in the order of their numbers.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import type { Any, FieldMask, Value } from "@bufbuild/protobuf/wkt";
import { type Bind, compileFunction, literal, perMessage, placeOf, presenceOf } from "../compile/compile-function.ts";
import { hasCustomJson, isBareStruct, isUnwrapped, type Local, localOf, wrapperValue } from "../message-fields.ts";
import { StoredMessage, storedListOf, wholeMessage } from "../stored/stored-message.ts";
import { fieldName, formatKey, type JsonFormat, omission, storedFormat, timestampWriter } from "./format.ts";
import { plainFieldWriter, plainObjectWriter, plainValueWriter, scalarWriter, type TypeOf } from "./plain-writer.ts";
import { formatBytes, formatDuration, formatFieldMask, type SecondsAndNanos } from "./text-forms.ts";
import {
  enumTexts,
  escaped,
  quote,
  type WriteAny,
  writeDouble,
  writeJsonValue,
  writeList,
  writeMap,
} from "./values.ts";

/** Options of a writer. */
interface JsonWriterOptions {
  /** Finds the types of google.protobuf.Any values. */
  readonly registry: Registry;
  /** Default: that of messages in stored form. */
  readonly format?: JsonFormat | undefined;
}

/** Returns the JSON text of a message. Throws for what ProtoJSON cannot express, such as an Any of an unknown type. */
type JsonWriter = (message: Message | StoredMessage) => string;

/** The writer for one field of a message, zero values included; it returns `null` for an unset field with presence. */
export function createJsonFieldWriter(field: DescField, options: JsonWriterOptions): JsonWriter {
  const typeOf = typesOf(options);
  const emit = (bind: Bind) => {
    const { code, after } = fieldText(field, "", bind, typeOf);
    return `return ${presenceOf(field) ?? "true"} ? ${code} + ${literal(after)} : "null";`;
  };
  const write = compileFunction<(message: Message) => string>("message", emit, () => {
    const writeField = plainFieldWriter(field, typeOf);
    return (message) => writeField(localOf(message)) ?? "null";
  });
  return (message) => write(wholeMessage(message));
}

/** The writer for a message type. Each type is compiled once per registry and format, when it is first written. */
export function createJsonWriter(desc: DescMessage, options: JsonWriterOptions): JsonWriter {
  const typeOf = typesOf(options);
  const type = typeOf(desc);
  const write = (message: Message) => type.write(message);
  if (!isStoredFormat(typeOf.format)) return (message) => write(wholeMessage(message));
  return (message) => (message instanceof StoredMessage ? StoredMessage.json(message, write) : write(message));
}

/** Writes a value in its local form. The compiler guarantees that the value is of the writer's type. */
type Write = (value: never) => string;

interface MessageType {
  write(message: Message | Local): string;
}

const typesByRegistry = new WeakMap<Registry, Map<string, TypeOf>>();

function typesOf({ registry, format = storedFormat }: JsonWriterOptions): TypeOf {
  let byFormat = typesByRegistry.get(registry);
  if (byFormat === undefined) {
    byFormat = new Map();
    typesByRegistry.set(registry, byFormat);
  }
  const key = formatKey(format);
  let typeOf = byFormat.get(key);
  if (typeOf === undefined) {
    const made: TypeOf = Object.assign(
      perMessage((desc) => createType(desc, registry, made)),
      { format },
    );
    typeOf = made;
    byFormat.set(key, typeOf);
  }
  return typeOf;
}

function isStoredFormat(format: JsonFormat): boolean {
  return formatKey(format) === formatKey(storedFormat);
}

function createType(desc: DescMessage, registry: Registry, typeOf: TypeOf): MessageType {
  const type: MessageType = {
    write(message) {
      type.write = wellKnownWriter(desc, registry, typeOf.format) ?? objectWriter(desc, typeOf);
      return type.write(message);
    },
  };
  return type;
}

function objectWriter(desc: DescMessage, typeOf: TypeOf): Write {
  const emit = (bind: Bind) => {
    const object = new ObjectCode();
    for (const field of desc.fields.toSorted((a, b) => a.number - b.number))
      object.add(quote(fieldName(field, typeOf.format)), conditionOf(field, bind, typeOf), (before) =>
        fieldText(field, before, bind, typeOf),
      );
    return object.end();
  };
  return compileFunction<Write>("message", emit, () => plainObjectWriter(desc, typeOf));
}

/** The condition under which a field is written; undefined for always. */
function conditionOf(field: DescField, bind: Bind, { format }: TypeOf): string | undefined {
  const isOmitted = omission(field, format);
  return isOmitted === undefined ? presenceOf(field) : `!${bind(isOmitted)}(${placeOf(field)})`;
}

/** The code that puts the text of an object together. */
class ObjectCode {
  /** Statements, of which the last is open for one more text to be added. */
  #code = 'let text = ""';
  /** Constant text that is joined with the next. */
  #waiting = "{";
  /** The comma before the next member; undefined where it depends on the members before. */
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
      code:
        field.message !== undefined && isStoredFormat(typeOf.format)
          ? storedListText(field.message, code, before, bind, typeOf)
          : code,
      after: "",
    };
  }
  if (field.fieldKind === "map") {
    const entries = `${bind(writeMap)}(${place}, ${bind(itemWriter(field, typeOf))})`;
    return { code: `${literal(before)} + ${entries}`, after: "" };
  }
  return valueText(field, place, before, bind, typeOf);
}

/** The text of a list of messages in stored form, or of another list by `code`. */
function storedListText(desc: DescMessage, code: string, before: string, bind: Bind, typeOf: TypeOf): string {
  const type = typeOf(desc);
  const write = bind((message: Message) => type.write(message));
  const list = `${bind(storedListOf)}(message)`;
  return `(${list} === undefined ? ${code} : ${literal(`${before}[`)} + ${list}.json(${write}) + "]")`;
}

/** Returns the writer of a list item or a map value. */
function itemWriter(field: DescField, typeOf: TypeOf): WriteAny {
  if (field.scalar === ScalarType.STRING) return quote as WriteAny;
  const emit = (bind: Bind) => {
    const { code, after } = valueText(field, "value", "", bind, typeOf);
    return `return ${code} + ${literal(after)};`;
  };
  return compileFunction<WriteAny>("value", emit, () => plainValueWriter(field, typeOf));
}

/** The text of one value of the field: a singular value, a list item or a map value. */
function valueText(field: DescField, place: string, before: string, bind: Bind, typeOf: TypeOf): ValueText {
  if (field.enum !== undefined) return { code: enumText(field.enum, place, before, bind, typeOf.format), after: "" };
  if (field.message === undefined) return scalarText(field.scalar, place, before, bind);
  const wrapped = isUnwrapped(field) ? wrapperValue(field.message) : undefined;
  if (wrapped !== undefined) return scalarText(wrapped.scalar, place, before, bind);
  if (field.message.typeName === "google.protobuf.Timestamp")
    return quotedText(`${bind(timestampWriter(typeOf.format))}(${place})`, before);
  const text = isBareStruct(field)
    ? `${bind(writeJsonValue)}(${place})`
    : `${bind(typeOf(field.message))}.write(${place})`;
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

function enumText(desc: DescEnum, place: string, before: string, bind: Bind, format: JsonFormat): string {
  if (desc.typeName === "google.protobuf.NullValue") return literal(`${before}null`);
  if (format.enumAsInteger === true) return `${literal(before)} + ${place}`;
  return `(${bind(enumTexts(desc, before))}[${place}] ?? ${literal(before)} + ${place})`;
}

function wellKnownWriter(desc: DescMessage, registry: Registry, format: JsonFormat): Write | undefined {
  const wrapped = wrapperValue(desc);
  if (wrapped !== undefined) {
    const write = scalarWriter(wrapped.scalar);
    return (message: Local) => write(message[wrapped.localName]);
  }
  switch (desc.typeName) {
    case "google.protobuf.Timestamp": {
      const formatTimestamp = timestampWriter(format);
      return (message: SecondsAndNanos) => `"${formatTimestamp(message)}"`;
    }
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
      return (message: Any) => writeAny(message, registry, format);
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

function writeAny(any: Any, registry: Registry, format: JsonFormat): string {
  if (any.typeUrl === "") return "{}";
  const desc = registry.getMessage(any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1));
  if (desc === undefined) throw new TypeError(`${JSON.stringify(any.typeUrl)} is not in the registry`);
  const text = createJsonWriter(desc, { registry, format })(fromBinary(desc, any.value));
  const type = `{"@type":${quote(any.typeUrl)}`;
  if (hasCustomJson(desc)) return `${type},"value":${text}}`;
  return text === "{}" ? `${type}}` : `${type},${text.slice(1)}`;
}
