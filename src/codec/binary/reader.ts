/**
 * The wire format to messages, by functions compiled once per message descriptor.
 *
 * Accepts what the library accepts and returns the same message: unknown fields are kept, lists may be packed or not,
 * the last value of a singular field counts, messages are merged. A known field is read as its type demands, whatever
 * wire type its tag has. One difference: the library loses the unknown values of a closed enum when the message also
 * has unknown fields; this reader keeps them.
 */
import { type DescEnum, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { type Bind, compileFunction, literal, perMessage, placeOf, zeroMessage } from "../compile/compile-function.ts";
import { getField, getList, type Local, type LocalMessage, setField, setOwn } from "../message-fields.ts";
import { localForm } from "../unwrapped-forms.ts";
import { expectEnd, WireReader } from "../wire/reader.ts";
import { wireScalar } from "../wire/scalars.ts";

/**
 * Returns the message that the bytes hold. Its bytes fields and unknown fields are views of the input.
 * Errors: WireFormatError for malformed input, and for messages nested deeper than 100.
 */
export type BinaryReader = (bytes: Uint8Array) => Message;

/** The most fields of a message from a client and those inside it together; JSON may have as many values. */
export const maxRequestFields = 50_000;

/**
 * The reader for a message type. Each type is compiled once, when it is first read.
 * @param maxFields the most fields of a message and those inside it together, for input from clients: small fields cost
 * far more time and memory than their bytes.
 */
export function createBinaryReader(desc: DescMessage, maxFields?: number): BinaryReader {
  const type = typeOf(desc);
  return (bytes) => {
    const message = type.zero();
    readMessage(new WireReader(bytes, maxFields), message, type, bytes.length);
    return message;
  };
}

interface MessageType {
  readonly zero: () => LocalMessage;
  readFields: ReadFields;
}

/** Reads fields into a message, up to `end` or, in a group, to the end tag, which it returns. */
type ReadFields = (from: WireReader, message: Local, end: number, isGroup: boolean) => number;

const typeOf = perMessage((desc: DescMessage): MessageType => {
  const type: MessageType = {
    zero: zeroMessage(desc),
    readFields(from, message, end, isGroup) {
      type.readFields = fieldsReader(desc);
      return type.readFields(from, message, end, isGroup);
    },
  };
  return type;
});

function fieldsReader(desc: DescMessage): ReadFields {
  const emit = (bind: Bind) => {
    const cases = desc.fields.map((field) => `case ${field.number}: ${readStatement(field, bind)} break;`);
    return `while (from.at < end) {
      const tag = from.tag();
      if (isGroup && (tag & 7) === ${WireType.EndGroup}) { return tag; }
      switch (tag >>> 3) {
        ${cases.join("\n        ")}
        default: ${bind(addUnknown)}(message, tag, from.skip(tag));
      }
    }
    return 0;`;
  };
  return compileFunction<ReadFields>("from, message, end, isGroup", emit, () => plainFieldsReader(desc));
}

/** Reads a field whose tag has been read, into a message. */
type ReadField = (from: WireReader, message: Local, tag: number) => void;

/** The equivalent of the generated code. */
function plainFieldsReader(desc: DescMessage): ReadFields {
  const readers = new Map(desc.fields.map((field) => [field.number, plainFieldReader(field)]));
  return (from, message, end, isGroup) => {
    while (from.at < end) {
      const tag = from.tag();
      if (isGroup && (tag & 7) === WireType.EndGroup) return tag;
      const read = readers.get(tag >>> 3);
      if (read === undefined) addUnknown(message, tag, from.skip(tag));
      else read(from, message, tag);
    }
    return 0;
  };
}

function plainFieldReader(field: DescField): ReadField {
  const { localName } = field;
  switch (field.fieldKind) {
    case "list": {
      const read = listReader(field);
      return (from, message, tag) => read(from, getList(message, field), tag);
    }
    case "map": {
      const read = mapReader(field);
      return (from, message) => read(from, message[localName] as Local);
    }
    default: {
      const read = valueReader(field);
      const isKnown = field.enum?.open === false ? closedEnumChecker(field.enum) : () => true;
      return (from, message, tag) => {
        if (isKnown(from, message, tag)) setField(message, field, read(from, messageBefore(message, field)));
      };
    }
  }
}

/** The message that another one is merged into, if the field has one. */
function messageBefore(message: Local, field: DescField): unknown {
  return field.message === undefined ? undefined : getField(message, field);
}

/** Reads a message of `length` bytes. Its values may reach beyond its end, as in the library. */
function readMessage(from: WireReader, message: Local, type: MessageType, length: number): void {
  from.enter();
  type.readFields(from, message, from.at + length, false);
  from.leave();
}

function readGroup(from: WireReader, message: Local, type: MessageType, number: number): void {
  from.enter();
  expectEnd(type.readFields(from, message, Number.POSITIVE_INFINITY, true), number);
  from.leave();
}

function addUnknown(local: Local, tag: number, data: Uint8Array): void {
  const message = local as LocalMessage;
  message.$unknown ??= [];
  message.$unknown.push({ no: tag >>> 3, wireType: tag & 7, data });
}

function readStatement(field: DescField, bind: Bind): string {
  const place = placeOf(field);
  switch (field.fieldKind) {
    case "list":
      return `${bind(listReader(field))}(from, ${place}, tag);`;
    case "map":
      return `${bind(mapReader(field))}(from, ${place});`;
    case "enum":
      return field.enum.open
        ? readSingular(field, bind)
        : `if (${bind(closedEnumChecker(field.enum))}(from, message, tag)) { ${readSingular(field, bind)} }`;
    default:
      return readSingular(field, bind);
  }
}

function readSingular(field: DescField, bind: Bind): string {
  const place = placeOf(field);
  if (field.oneof !== undefined) {
    const oneof = `message[${literal(field.oneof.localName)}]`;
    const name = literal(field.localName);
    const before = `${oneof}.case === ${name} ? ${place} : undefined`;
    return `${oneof} = { case: ${name}, value: ${bind(valueReader(field))}(from, ${before}) };`;
  }
  if (field.message !== undefined) return `${place} = ${bind(valueReader(field))}(from, ${place});`;
  return field.scalar === ScalarType.STRING
    ? `${place} = from.string(${field.utf8Validation});`
    : `${place} = ${bind(valueReader(field))}(from);`;
}

/** Returns a check whether the enum knows the next value. A value that it does not know becomes an unknown field. */
function closedEnumChecker({ values }: DescEnum): (from: WireReader, message: Local, tag: number) => boolean {
  const known = new Set(values.map((value) => value.number));
  return (from, message, tag) => {
    const start = from.at;
    const isKnown = known.has(from.int32());
    if (isKnown) from.at = start;
    else addUnknown(message, tag, from.bytes.subarray(start, from.at));
    return isKnown;
  };
}

function listReader(
  field: DescField & { fieldKind: "list" },
): (from: WireReader, items: unknown[], tag: number) => void {
  const read = valueReader(field);
  const isPackable = field.message === undefined && wireScalar(field.scalar).wireType !== WireType.LengthDelimited;
  return (from, items, tag) => {
    if (!isPackable || (tag & 7) !== WireType.LengthDelimited) {
      items.push(read(from));
      return;
    }
    const length = from.uint32();
    const end = from.at + length;
    while (from.at < end) items.push(read(from));
  };
}

/** Bytes that every scalar type, and the length of a message, reads as zero. */
const zeroBytes = new Uint8Array(8);

function mapReader(field: DescField & { fieldKind: "map" }): (from: WireReader, entries: Local) => void {
  const readKey = scalarReader(field, field.mapKey);
  const readValue = valueReader(field);
  const zeroKey = readKey(new WireReader(zeroBytes));
  const zeroValue = (): unknown => field.enum?.values[0]?.number ?? readValue(new WireReader(zeroBytes));
  return (from, entries) => {
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
    setOwn(entries, String(key ?? zeroKey), value ?? zeroValue());
  };
}

/** Returns a value in its local form. A message is merged into the one that was there. */
type Read = (from: WireReader, before?: unknown) => unknown;

/** Reads one value of the field: a singular value, a list item or a map value. */
function valueReader(field: DescField): Read {
  if (field.message === undefined) return scalarReader(field, field.scalar);
  const read = embeddedReader(field, typeOf(field.message));
  const form = localForm(field);
  if (form === undefined) return read as Read;
  return (from, before) => form.toLocal(read(from, before === undefined ? undefined : form.toMessage(before)));
}

function embeddedReader(field: DescField, type: MessageType): (from: WireReader, before?: Local) => Local {
  if (field.fieldKind !== "map" && field.message !== undefined && field.delimitedEncoding) {
    return (from, message = type.zero()) => {
      readGroup(from, message, type, field.number);
      return message;
    };
  }
  return (from, message = type.zero()) => {
    readMessage(from, message, type, from.uint32());
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
