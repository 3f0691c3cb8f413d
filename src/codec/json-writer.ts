/**
 * Messages to JSON text (ProtoJSON), by closures compiled once per message descriptor.
 *
 * Strings are concatenated, no intermediate object is built, and JSON.stringify is called only for strings with
 * something to escape. Fields come in the order of their numbers, under their lowerCamelCase names.
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
import { type Any, Edition, FeatureSet_FieldPresence, type FieldMask, type Value } from "@bufbuild/protobuf/wkt";
import { hasCustomJson, isUnwrapped, type Local, type LocalOneof, wrapperValue } from "./local.ts";
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
  const write = fieldWriter(field, compilerOf(options.registry));
  return (message) => write(message as unknown as Local) ?? "null";
}

/** The writer for a message type. Writers are compiled once per registry. */
export function createJsonWriter(desc: DescMessage, options: JsonWriterOptions): JsonWriter {
  const write = compilerOf(options.registry).message(desc);
  return write as (message: unknown) => string;
}

/** Writes a value in its local form. The compiler guarantees that the value is of the writer's type. */
type Write = (value: never) => string;
/** Writes one field of a message; undefined when it is left out. */
type WriteField = (message: Local) => string | undefined;

interface Compiler {
  readonly registry: Registry;
  /** The writer for a message type, compiled when first asked for. */
  message(desc: DescMessage): Write;
}

const compilers = new WeakMap<Registry, Compiler>();

function compilerOf(registry: Registry): Compiler {
  let compiler = compilers.get(registry);
  if (compiler === undefined) {
    compiler = createCompiler(registry);
    compilers.set(registry, compiler);
  }
  return compiler;
}

function createCompiler(registry: Registry): Compiler {
  const writers = new Map<DescMessage, Write>();
  const compiler: Compiler = {
    registry,
    message(desc) {
      let write = writers.get(desc);
      if (write === undefined) {
        const wellKnown = wellKnownWriter(desc, compiler);
        if (wellKnown === undefined) {
          const fields: NamedField[] = [];
          write = objectWriter(fields);
          // Known before its fields are compiled, so that a recursive type finds itself.
          writers.set(desc, write);
          fields.push(...namedFields(desc, compiler));
        } else {
          write = wellKnown;
          writers.set(desc, write);
        }
      }
      return write;
    },
  };
  return compiler;
}

interface NamedField {
  readonly first: string;
  readonly next: string;
  readonly write: WriteField;
}

function namedFields(desc: DescMessage, compiler: Compiler): NamedField[] {
  return desc.fields
    .toSorted((a, b) => a.number - b.number)
    .map((field) => {
      const name = `${quote(field.jsonName)}:`;
      return { first: `{${name}`, next: `,${name}`, write: fieldWriter(field, compiler) };
    });
}

function objectWriter(fields: readonly NamedField[]): Write {
  return (message: Local) => {
    let text = "";
    for (const field of fields) {
      const value = field.write(message);
      if (value !== undefined) {
        text += (text === "" ? field.first : field.next) + value;
      }
    }
    return text === "" ? "{}" : `${text}}`;
  };
}

function fieldWriter(field: DescField, compiler: Compiler): WriteField {
  const write = valueWriter(field, compiler) as (value: unknown) => string;
  const name = field.localName;
  if (field.fieldKind === "list") {
    return (message) => writeList(message[name] as unknown[], write);
  }
  if (field.fieldKind === "map") {
    return (message) => writeMap(message[name] as Local, write);
  }
  if (field.oneof !== undefined) {
    const oneofName = field.oneof.localName;
    return (message) => {
      const oneof = message[oneofName] as LocalOneof;
      return oneof.case === name ? write(oneof.value) : undefined;
    };
  }
  if (field.presence === FeatureSet_FieldPresence.IMPLICIT) {
    return (message) => write(message[name]);
  }
  if (field.parent.file.edition === Edition.EDITION_PROTO3) {
    return (message) => {
      const value = message[name];
      return value === undefined ? undefined : write(value);
    };
  }
  // Outside proto3 the prototype holds the defaults of unset fields.
  return (message) => (Object.hasOwn(message, name) && message[name] !== undefined ? write(message[name]) : undefined);
}

function valueWriter(field: DescField, compiler: Compiler): Write {
  if (field.message !== undefined) {
    if (field.message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value") {
      return writeJsonValue;
    }
    const wrapped = isUnwrapped(field) ? wrapperValue(field.message) : undefined;
    return wrapped === undefined ? compiler.message(field.message) : scalarWriter(wrapped.scalar);
  }
  return field.enum === undefined ? scalarWriter(field.scalar) : enumWriter(field.enum);
}

function scalarWriter(type: ScalarType): Write {
  switch (type) {
    case ScalarType.STRING:
      return quote;
    case ScalarType.BOOL:
      return (value: boolean) => (value ? "true" : "false");
    case ScalarType.BYTES:
      return (value: Uint8Array) => `"${formatBytes(value)}"`;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value: number) => (Number.isFinite(value) ? String(value) : `"${value}"`);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return (value: bigint | string) => `"${value}"`;
    default:
      return String;
  }
}

function enumWriter(desc: DescEnum): Write {
  if (desc.typeName === "google.protobuf.NullValue") {
    return () => "null";
  }
  const names = new Map(Object.values(desc.value).map((value) => [value.number, quote(value.jsonName)]));
  return (value: number) => names.get(value) ?? String(value);
}

function writeList(items: readonly unknown[], write: (value: unknown) => string): string {
  let text = "[";
  for (let i = 0; i < items.length; i++) {
    text += (i === 0 ? "" : ",") + write(items[i]);
  }
  return `${text}]`;
}

function writeMap(entries: Local, write: (value: unknown) => string): string {
  let text = "";
  for (const key of Object.keys(entries)) {
    text += `${text === "" ? "{" : ","}${quote(key)}:${write(entries[key])}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

function wellKnownWriter(desc: DescMessage, compiler: Compiler): Write | undefined {
  const wrapped = wrapperValue(desc);
  if (wrapped !== undefined) {
    const write = scalarWriter(wrapped.scalar) as (value: unknown) => string;
    return (message: Local) => write(message[wrapped.localName]);
  }
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return (message: SecondsAndNanos) => `"${formatTimestamp(message)}"`;
    case "google.protobuf.Duration":
      return (message: SecondsAndNanos) => `"${formatDuration(message)}"`;
    case "google.protobuf.FieldMask":
      return (message: FieldMask) => quote(formatFieldMask(message.paths));
    case "google.protobuf.Struct":
      return (message: { fields: Local }) => writeMap(message.fields, writeValue as (value: unknown) => string);
    case "google.protobuf.ListValue":
      return (message: { values: Value[] }) => writeList(message.values, writeValue as (value: unknown) => string);
    case "google.protobuf.Value":
      return writeValue;
    case "google.protobuf.Any":
      return (message: Any) => writeAny(message, compiler.registry);
    default:
      return undefined;
  }
}

function writeValue({ kind }: Value): string {
  switch (kind.case) {
    case "structValue":
      return writeMap(kind.value.fields, writeValue as (value: unknown) => string);
    case "listValue":
      return writeList(kind.value.values, writeValue as (value: unknown) => string);
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
        ? writeList(value, writeJsonValue as (value: unknown) => string)
        : writeMap(value, writeJsonValue as (value: unknown) => string);
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

/** Every character but these needs no escape: quotation mark, backslash, control characters, surrogates. */
const NEEDS_ESCAPE = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

function quote(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}
