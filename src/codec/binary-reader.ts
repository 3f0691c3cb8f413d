/**
 * The wire format to messages, by functions specialised once per message descriptor.
 *
 * Accepts what the library accepts and gives the message it gives: unknown fields kept, lists packed or not, of a
 * singular field the last value, messages merged. A known field is read as its type has it, whatever its tag says of the
 * wire type. Only where the library forgets are we better: it loses the unknown values of a closed enum when the message
 * has unknown fields besides.
 */
import { type DescEnum, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { type Local, setOwn } from "./local.ts";
import { localForm } from "./local-form.ts";
import { type Bind, literal, perMessage, placeOf, specialise, zeroMessage } from "./specialise.ts";
import { expectEnd, WireReader } from "./wire-reader.ts";
import { wireScalar } from "./wire-scalars.ts";

/**
 * Gives the message that the bytes hold. Its bytes fields and unknown fields are views of the input.
 * Errors: WireFormatError for what is not such a message, and for messages inside each other deeper than 100.
 */
export type BinaryReader = (bytes: Uint8Array) => Message;

/**
 * The reader for a message type. Each type is compiled once, when it is first read.
 * @param maxFields of a message and those inside it together, for what anybody may send: small fields cost far more time and memory than their bytes.
 */
export function createBinaryReader(desc: DescMessage, maxFields?: number): BinaryReader {
  const type = typeOf(desc);
  return (bytes) => {
    const message = type.zero();
    readMessage(new WireReader(bytes, maxFields), message, type, bytes.length);
    return message as unknown as Message;
  };
}

interface MessageType {
  readonly zero: () => Local;
  readFields: ReadFields;
}

/** Reads fields into a message: those before `end` or, of a group, those before its end tag, which it gives. */
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
  return specialise("from, message, end, isGroup", (bind) => {
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
  });
}

/** Reads so many bytes. Values may reach beyond the end of an embedded message, as they may in the library. */
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

function addUnknown(message: Local, tag: number, data: Uint8Array): void {
  message.$unknown ??= [];
  (message.$unknown as unknown[]).push({ no: tag >>> 3, wireType: tag & 7, data });
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
  if (field.message !== undefined) {
    return `${place} = ${bind(valueReader(field))}(from, ${place});`;
  }
  return field.scalar === ScalarType.STRING
    ? `${place} = from.string(${field.utf8Validation});`
    : `${place} = ${bind(valueReader(field))}(from);`;
}

/** Gives what looks at the next value: whether the enum knows it. One that it does not know counts as an unknown field. */
function closedEnumChecker({ values }: DescEnum): (from: WireReader, message: Local, tag: number) => boolean {
  const known = new Set(values.map((value) => value.number));
  return (from, message, tag) => {
    const start = from.at;
    const isKnown = known.has(from.int32());
    if (isKnown) {
      from.at = start;
    } else {
      addUnknown(message, tag, from.bytes.subarray(start, from.at));
    }
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
    while (from.at < end) {
      items.push(read(from));
    }
  };
}

/** Read as any scalar, or as the length of a message, these bytes are the zero value. */
const ZERO = new Uint8Array(8);

function mapReader(field: DescField & { fieldKind: "map" }): (from: WireReader, entries: Local) => void {
  const readKey = scalarReader(field, field.mapKey);
  const readValue = valueReader(field);
  const zeroKey = readKey(new WireReader(ZERO));
  const zeroValue = (): unknown => field.enum?.values[0]?.number ?? readValue(new WireReader(ZERO));
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
