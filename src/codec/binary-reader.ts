/**
 * The wire format to messages, by closures compiled once per message descriptor.
 *
 * Accepts what the library accepts and gives the message it gives: unknown fields kept, lists packed or not, of a
 * singular field the last value, messages merged. A known field is read as its type has it, whatever its tag says of the
 * wire type. Only where the library forgets are we better: it loses the unknown values of a closed enum when the message
 * has unknown fields besides.
 */
import { create, type DescEnum, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { type Local, type LocalOneof, setOwn } from "./local.ts";
import { localForm } from "./local-form.ts";
import { expectEnd, WireReader } from "./wire-reader.ts";
import { wireScalar } from "./wire-scalars.ts";

/**
 * Gives the message that the bytes hold. Its bytes fields and unknown fields are views of the input.
 * Errors: WireFormatError for what is not such a message, and for messages inside each other deeper than 100.
 */
export type BinaryReader = (bytes: Uint8Array) => Message;

/** The reader for a message type. Each type is compiled once. */
export function createBinaryReader(desc: DescMessage): BinaryReader {
  const type = typeOf(desc);
  return (bytes) => {
    const message = type.create();
    readFields(new WireReader(bytes), message, type, bytes.length);
    return message as unknown as Message;
  };
}

/** Reads the value of a field, whose tag was just read, into a message. */
type ReadField = (from: WireReader, message: Local, tag: number) => void;

interface MessageType {
  readonly create: () => Local;
  /** The fields with low numbers, by number. */
  readonly low: (ReadField | undefined)[];
  /** The other fields. */
  readonly high: Map<number, ReadField>;
}

const LOW_NUMBERS = 64;

const types = new WeakMap<DescMessage, MessageType>();

/** Compiled when first asked for. */
function typeOf(desc: DescMessage): MessageType {
  let type = types.get(desc);
  if (type === undefined) {
    type = { create: creatorOf(desc), low: new Array(LOW_NUMBERS).fill(undefined), high: new Map() };
    // Known before its fields are compiled, so that a recursive type finds itself.
    types.set(desc, type);
    for (const field of desc.fields) {
      if (field.number < LOW_NUMBERS) {
        type.low[field.number] = fieldReader(field);
      } else {
        type.high.set(field.number, fieldReader(field));
      }
    }
  }
  return type;
}

function creatorOf(desc: DescMessage): () => Local {
  // Nearly every message has two, and a literal is made in a fraction of the time.
  return desc.typeName === "google.protobuf.Timestamp"
    ? () => ({ $typeName: "google.protobuf.Timestamp", seconds: 0n, nanos: 0 })
    : () => create(desc) as unknown as Local;
}

/** Reads so many bytes. Values may reach beyond the end of an embedded message, as they may in the library. */
function readFields(from: WireReader, message: Local, type: MessageType, length: number): void {
  from.enter();
  const end = from.at + length;
  while (from.at < end) {
    readField(from, message, type, from.tag());
  }
  from.leave();
}

function readGroup(from: WireReader, message: Local, type: MessageType, number: number): void {
  from.enter();
  let tag = from.tag();
  while ((tag & 7) !== WireType.EndGroup) {
    readField(from, message, type, tag);
    tag = from.tag();
  }
  expectEnd(tag, number);
  from.leave();
}

function readField(from: WireReader, message: Local, type: MessageType, tag: number): void {
  const number = tag >>> 3;
  const read = number < LOW_NUMBERS ? type.low[number] : type.high.get(number);
  if (read === undefined) {
    addUnknown(message, tag, from.skip(tag));
  } else {
    read(from, message, tag);
  }
}

function addUnknown(message: Local, tag: number, data: Uint8Array): void {
  message.$unknown ??= [];
  (message.$unknown as unknown[]).push({ no: tag >>> 3, wireType: tag & 7, data });
}

function fieldReader(field: DescField): ReadField {
  switch (field.fieldKind) {
    case "list":
      return listReader(field);
    case "map":
      return mapReader(field);
    case "enum":
      return field.enum.open ? singularReader(field) : closedEnumReader(field, field.enum);
    default:
      return singularReader(field);
  }
}

function singularReader(field: DescField): ReadField {
  const read = valueReader(field);
  const name = field.localName;
  const oneofName = field.oneof?.localName;
  if (oneofName !== undefined) {
    return (from, message) => {
      const oneof = message[oneofName] as LocalOneof;
      message[oneofName] = { case: name, value: read(from, oneof.case === name ? oneof.value : undefined) };
    };
  }
  if (field.message !== undefined) {
    return (from, message) => {
      message[name] = read(from, message[name]);
    };
  }
  return (from, message) => {
    message[name] = read(from);
  };
}

/** Numbers without a name count as unknown fields. */
function closedEnumReader(field: DescField, { values }: DescEnum): ReadField {
  const known = new Set(values.map((value) => value.number));
  const read = singularReader(field);
  return (from, message, tag) => {
    const start = from.at;
    const number = from.int32();
    if (known.has(number)) {
      from.at = start;
      read(from, message, tag);
    } else {
      addUnknown(message, tag, from.bytes.subarray(start, from.at));
    }
  };
}

function listReader(field: DescField & { fieldKind: "list" }): ReadField {
  const name = field.localName;
  const read = valueReader(field);
  const isPackable = field.message === undefined && wireScalar(field.scalar).wireType !== WireType.LengthDelimited;
  return (from, message, tag) => {
    const items = message[name] as unknown[];
    if (!isPackable || (tag & 7) !== WireType.LengthDelimited) {
      items.push(read(from));
      return;
    }
    const length = from.uint32();
    const end = from.at + length;
    while (from.at < end) {
      items.push(read(from));
    }
  };
}

/** Read as any scalar, or as the length of a message, these bytes are the zero value. */
const ZERO = new Uint8Array(8);

function mapReader(field: DescField & { fieldKind: "map" }): ReadField {
  const name = field.localName;
  const readKey = scalarReader(field, field.mapKey);
  const readValue = valueReader(field);
  const zeroKey = readKey(new WireReader(ZERO));
  const zeroValue = (): unknown => field.enum?.values[0]?.number ?? readValue(new WireReader(ZERO));
  return (from, message) => {
    const length = from.uint32();
    const end = from.at + length;
    let key: unknown;
    let value: unknown;
    while (from.at < end) {
      const tag = from.tag();
      switch (tag >>> 3) {
        case 1:
          key = readKey(from);
          break;
        case 2:
          value = readValue(from, value);
          break;
        default:
          from.skip(tag);
      }
    }
    setOwn(message[name] as Local, String(key ?? zeroKey), value ?? zeroValue());
  };
}

/** Gives a value in its local form. A message is merged into the one that was there. */
type Read = (from: WireReader, before?: unknown) => unknown;

/** Reads one value of the field: a singular value, a list item or a map value. */
function valueReader(field: DescField): Read {
  if (field.message === undefined) {
    return scalarReader(field, field.scalar);
  }
  const read = embeddedReader(field, typeOf(field.message));
  const form = localForm(field);
  if (form === undefined) {
    return read as Read;
  }
  return (from, before) => form.toLocal(read(from, before === undefined ? undefined : form.toMessage(before)));
}

function embeddedReader(field: DescField, type: MessageType): (from: WireReader, before?: Local) => Local {
  if (field.fieldKind !== "map" && field.message !== undefined && field.delimitedEncoding) {
    return (from, message = type.create()) => {
      readGroup(from, message, type, field.number);
      return message;
    };
  }
  return (from, message = type.create()) => {
    readFields(from, message, type, from.uint32());
    return message;
  };
}

function scalarReader(field: DescField, type: ScalarType | undefined): Read {
  const { read } = wireScalar(type);
  if (type === ScalarType.STRING) {
    const isStrict = field.utf8Validation;
    return (from) => from.string(isStrict);
  }
  const isLongAsString =
    field.fieldKind !== "map" && field.message === undefined && field.enum === undefined && field.longAsString;
  return isLongAsString ? (from) => String(read(from)) : read;
}
