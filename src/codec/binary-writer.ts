/**
 * Messages to the wire format, by closures compiled once per message descriptor.
 *
 * Gives the bytes the library gives: fields in the order of their numbers, map entries in the order of their object,
 * unknown fields last. Everything is written into one buffer, and what leaves is a copy of it.
 */
import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { Edition, FeatureSet_FieldPresence, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { Local, LocalOneof } from "./local.ts";
import { localForm } from "./local-form.ts";
import { wireScalar } from "./wire-scalars.ts";
import { WireWriter } from "./wire-writer.ts";

/**
 * Gives the bytes of a message, after `headroom` bytes of undefined content, which are the caller's to fill.
 * Throws for values that a field cannot hold, and for required fields that are not set.
 */
export type BinaryWriter = (message: Message, headroom?: number) => Uint8Array;

/** The writer for a message type. Each type is compiled once. */
export function createBinaryWriter(desc: DescMessage): BinaryWriter {
  const write = messageWriter(desc);
  return (message, headroom = 0) => {
    out.at = 0;
    write(message);
    return out.finish(headroom);
  };
}

/** Writing never waits, so that one buffer serves all. */
const out = new WireWriter();

/** Writes a value in its local form, or fields of a message. The compiler guarantees that it is of the right type. */
type Write = (value: never) => void;
type WriteAny = (value: unknown) => void;

const writers = new WeakMap<DescMessage, WriteAny>();

/** The fields of a message, without its length. Compiled when first asked for. */
function messageWriter(desc: DescMessage): WriteAny {
  let write = writers.get(desc);
  if (write === undefined) {
    const fields: WriteAny[] = [];
    write = fieldsWriter(desc, fields) as WriteAny;
    // Known before its fields are compiled, so that a recursive type finds itself.
    writers.set(desc, write);
    fields.push(...desc.fields.toSorted((a, b) => a.number - b.number).map((field) => fieldWriter(field) as WriteAny));
  }
  return write;
}

function fieldsWriter({ typeName, fields: { length } }: DescMessage, fields: readonly WriteAny[]): Write {
  if (length === 0) {
    return writeUnknown;
  }
  if (typeName === "google.protobuf.Timestamp") {
    return writeTimestamp;
  }
  return (message: Message) => {
    expectType(message, typeName);
    for (let i = 0; i < length; i++) {
      (fields[i] as WriteAny)(message);
    }
    writeUnknown(message);
  };
}

/** By hand, because nearly every message has two. */
function writeTimestamp(message: Timestamp): void {
  expectType(message, "google.protobuf.Timestamp");
  const { seconds, nanos } = message;
  if (seconds !== 0n) {
    out.uint32(tagOf(1, WireType.Varint));
    int64.write(out, seconds, TimestampSchema.field.seconds);
  }
  if (nanos !== 0) {
    out.uint32(tagOf(2, WireType.Varint));
    int32.write(out, nanos, TimestampSchema.field.nanos);
  }
  writeUnknown(message);
}

const int64 = wireScalar(ScalarType.INT64);
const int32 = wireScalar(ScalarType.INT32);

function expectType(message: Message, typeName: string): void {
  if (message.$typeName !== typeName) {
    throw new TypeError(`${message.$typeName} in the place of ${typeName}`);
  }
}

function writeUnknown(message: Message): void {
  if (message.$unknown !== undefined) {
    for (const { no, wireType, data } of message.$unknown) {
      out.uint32(tagOf(no, wireType));
      out.raw(data);
    }
  }
}

function fieldWriter(field: DescField): Write {
  switch (field.fieldKind) {
    case "list":
      return listWriter(field);
    case "map":
      return mapWriter(field);
    default:
      return field.presence === FeatureSet_FieldPresence.IMPLICIT ? implicitWriter(field) : explicitWriter(field);
  }
}

/** A field with presence is written when it is set. */
function explicitWriter(field: DescField): Write {
  const write = valueWriter(field);
  const name = field.localName;
  if (field.oneof !== undefined) {
    const oneofName = field.oneof.localName;
    return (message: Local) => {
      const oneof = message[oneofName] as LocalOneof;
      if (oneof.case === name) {
        write(oneof.value);
      }
    };
  }
  if (field.parent.file.edition === Edition.EDITION_PROTO3) {
    return (message: Local) => {
      const value = message[name];
      if (value !== undefined) {
        write(value);
      }
    };
  }
  const isRequired = field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
  return (message: Local) => {
    const value = message[name];
    // Outside proto3 the prototype holds the defaults of unset fields.
    if (value !== undefined && Object.hasOwn(message, name)) {
      write(value);
    } else if (isRequired) {
      throw new TypeError(`${field} is required and not set`);
    }
  };
}

/** A field without presence is written when it is not zero. */
function implicitWriter(field: DescField): Write {
  const write = valueWriter(field);
  const name = field.localName;
  switch (field.scalar) {
    case ScalarType.STRING: {
      const tag = tagOf(field.number, WireType.LengthDelimited);
      return (message: Local) => {
        const value = message[name] as string;
        if (value !== "") {
          out.uint32(tag);
          out.string(value);
        }
      };
    }
    case ScalarType.BYTES:
      return (message: Local) => {
        const value = message[name] as Uint8Array;
        if (value.length > 0) {
          write(value);
        }
      };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (message: Local) => {
        const value = message[name];
        // -0 is not zero.
        if (!Object.is(value, 0)) {
          write(value);
        }
      };
    default: {
      const zero = field.enum?.values[0]?.number ?? 0;
      return (message: Local) => {
        const value = message[name];
        if (Number(value) !== zero) {
          write(value);
        }
      };
    }
  }
}

function listWriter(field: DescField & { fieldKind: "list" }): Write {
  const name = field.localName;
  if (field.packed) {
    return packedWriter(field);
  }
  const write = valueWriter(field);
  return (message: Local) => {
    const items = message[name] as unknown[];
    for (let i = 0; i < items.length; i++) {
      write(items[i]);
    }
  };
}

function packedWriter(field: DescField): Write {
  const { write } = wireScalar(field.scalar);
  const name = field.localName;
  const tag = tagOf(field.number, WireType.LengthDelimited);
  let size = 1;
  return (message: Local) => {
    const items = message[name] as unknown[];
    if (items.length > 0) {
      out.uint32(tag);
      const start = out.open(size);
      for (let i = 0; i < items.length; i++) {
        write(out, items[i], field);
      }
      size = out.close(start, size);
    }
  };
}

function mapWriter(field: DescField & { fieldKind: "map" }): Write {
  const name = field.localName;
  const tag = tagOf(field.number, WireType.LengthDelimited);
  const toKey = mapKeyOf(field.mapKey);
  const writeKey = scalarWriter(field, field.mapKey, 1);
  const writeValue = valueWriter(field, 2);
  let size = 1;
  return (message: Local) => {
    const entries = message[name] as Local;
    for (const key of Object.keys(entries)) {
      const guess = size;
      out.uint32(tag);
      const start = out.open(guess);
      writeKey(toKey(key));
      writeValue(entries[key]);
      size = out.close(start, guess);
    }
  };
}

/** The map key that a property name stands for. */
function mapKeyOf(type: ScalarType): (name: string) => unknown {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return (name) => name;
    case ScalarType.BOOL:
      return (name) => name === "true";
    default:
      return Number;
  }
}

/** One value of the field with its tag: a singular value, a list item or a map value. */
function valueWriter(field: DescField, number = field.number): WriteAny {
  if (field.message === undefined) {
    return scalarWriter(field, field.scalar, number);
  }
  const write = messageWriter(field.message);
  const isGroup = field.fieldKind !== "map" && field.delimitedEncoding;
  const writeValue = isGroup ? groupWriter(number, write) : embeddedWriter(number, write);
  const form = localForm(field);
  return form === undefined ? writeValue : (value) => writeValue(form.toMessage(value));
}

function embeddedWriter(number: number, write: WriteAny): WriteAny {
  const tag = tagOf(number, WireType.LengthDelimited);
  let size = 1;
  return (message) => {
    // Writing the message may set it, where the type is recursive.
    const guess = size;
    out.uint32(tag);
    const start = out.open(guess);
    write(message);
    size = out.close(start, guess);
  };
}

function groupWriter(number: number, write: WriteAny): WriteAny {
  return (message) => {
    out.uint32(tagOf(number, WireType.StartGroup));
    write(message);
    out.uint32(tagOf(number, WireType.EndGroup));
  };
}

function scalarWriter(field: DescField, type: ScalarType | undefined, number: number): WriteAny {
  const { wireType, write } = wireScalar(type);
  const tag = tagOf(number, wireType);
  return (value) => {
    out.uint32(tag);
    write(out, value, field);
  };
}

function tagOf(number: number, wireType: WireType): number {
  return ((number << 3) | wireType) >>> 0;
}
