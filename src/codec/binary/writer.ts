/**
 * Messages to the wire format, by functions compiled once per message descriptor.
 *
 * Returns the same bytes as the library: fields in the order of their numbers, map entries in the order of their
 * object, unknown fields last. Everything is written into one buffer; callers get a copy.
 */
import { type DescField, type DescMessage, type Message, ScalarType, toBinary } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { type Bind, compileFunction, literal, perMessage, placeOf, presenceOf } from "../compile/compile-function.ts";
import type { Local } from "../message-fields.ts";
import { StoredMessage, storedListOf } from "../stored/stored-message.ts";
import { localForm } from "../unwrapped-forms.ts";
import { wireScalar } from "../wire/scalars.ts";
import { tagOf, WireWriter } from "../wire/writer.ts";

/**
 * Returns the bytes of a message, after `headroom` bytes of undefined content for the caller to fill.
 * Throws for values that a field cannot hold, and for required fields that are not set.
 */
export type BinaryWriter = (message: Message | StoredMessage, headroom?: number) => Uint8Array;

/** The writer for a message type. Each type is compiled once, when it is first written. */
export function createBinaryWriter(desc: DescMessage): BinaryWriter {
  const type = typeOf(desc);
  return (message, headroom = 0) => {
    out.at = 0;
    if (message instanceof StoredMessage) StoredMessage.wire(message, out);
    else type.write(message);
    return out.finish(headroom);
  };
}

/** Writing is synchronous, so that one buffer is enough. */
const out = new WireWriter();

/** Writes a value in its local form. The compiler guarantees that it is of the right type. */
type Write = (value: unknown) => void;

interface MessageType {
  /** Writes the fields of a message, without its length. */
  write: (message: Message) => void;
}

const typeOf = perMessage((desc: DescMessage): MessageType => {
  const type: MessageType = {
    write(message) {
      type.write = fieldsWriter(desc);
      type.write(message);
    },
  };
  return type;
});

function fieldsWriter(desc: DescMessage): MessageType["write"] {
  if (desc.fields.length === 0) return writeUnknown;
  const emit = (bind: Bind) => {
    const fields = desc.fields.toSorted((a, b) => a.number - b.number).map((field) => writeStatement(field, bind));
    const typeName = literal(desc.typeName);
    return `if (message.$typeName !== ${typeName}) { ${bind(refuseType)}(message, ${typeName}); }
    ${fields.join("\n    ")}
    if (message.$unknown !== undefined) { ${bind(writeUnknown)}(message); }`;
  };
  return compileFunction<MessageType["write"]>("message", emit, () => (message) => out.raw(toBinary(desc, message)));
}

function refuseType(message: Message, typeName: string): never {
  throw new TypeError(`${message.$typeName} in the place of ${typeName}`);
}

function writeUnknown(message: Message): void {
  if (message.$unknown !== undefined) {
    for (const { no, wireType, data } of message.$unknown) {
      out.uint32(tagOf(no, wireType));
      out.raw(data);
    }
  }
}

function writeStatement(field: DescField, bind: Bind): string {
  const place = placeOf(field);
  const presence = presenceOf(field);
  if (field.fieldKind === "list") {
    const write = `${bind(listWriter(field))}(${place});`;
    return field.message === undefined ? write : storedListStatement(field, write, bind);
  }
  if (field.fieldKind === "map") return `${bind(mapWriter(field))}(${place});`;
  const write = writeValue(field, bind);
  if (presence === undefined) return `{ const value = ${place}; if (${nonZero(field)}) { ${write} } }`;
  const otherwise =
    field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED
      ? ` else { ${bind(refuseUnset)}(${bind(field)}); }`
      : "";
  return `if (${presence}) { const value = ${place}; ${write} }${otherwise}`;
}

/** Writes a list of messages in stored form, or another list by `write`. */
function storedListStatement(field: DescField, write: string, bind: Bind): string {
  const tag = tagOf(field.number, WireType.LengthDelimited);
  return `{ const list = ${bind(storedListOf)}(message);
    if (list === undefined) { ${write} } else { list.wire(${bind(out)}, ${tag}); } }`;
}

function refuseUnset(field: DescField): never {
  throw new TypeError(`${field} is required and not set`);
}

/** A field without presence is written when its value is not zero. */
function nonZero(field: DescField): string {
  switch (field.scalar) {
    case ScalarType.STRING:
      return 'value !== ""';
    case ScalarType.BYTES:
      return "value.length > 0";
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      // -0 is not zero.
      return "!Object.is(value, 0)";
    default:
      return `Number(value) !== ${field.enum?.values[0]?.number ?? 0}`;
  }
}

function writeValue(field: DescField, bind: Bind): string {
  if (field.message !== undefined) return `${bind(valueWriter(field))}(value);`;
  const { wireType, write } = wireScalar(field.scalar);
  return `${bind(out)}.uint32(${tagOf(field.number, wireType)}); ${bind(write)}(${bind(out)}, value, ${bind(field)});`;
}

function listWriter(field: DescField & { fieldKind: "list" }): (items: unknown[]) => void {
  if (field.packed) return packedWriter(field);
  const write = valueWriter(field);
  return (items) => {
    for (let i = 0; i < items.length; i++) write(items[i]);
  };
}

function packedWriter(field: DescField): (items: unknown[]) => void {
  const { write } = wireScalar(field.scalar);
  const tag = tagOf(field.number, WireType.LengthDelimited);
  let size = 1;
  return (items) => {
    if (items.length > 0) {
      out.uint32(tag);
      const start = out.open(size);
      for (let i = 0; i < items.length; i++) write(out, items[i], field);
      size = out.close(start, size);
    }
  };
}

function mapWriter(field: DescField & { fieldKind: "map" }): (entries: Local) => void {
  const tag = tagOf(field.number, WireType.LengthDelimited);
  const toKey = mapKeyOf(field.mapKey);
  const writeKey = scalarWriter(field, field.mapKey, 1);
  const writeValue = valueWriter(field, 2);
  let size = 1;
  return (entries) => {
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
function valueWriter(field: DescField, number = field.number): Write {
  if (field.message === undefined) return scalarWriter(field, field.scalar, number);
  const type = typeOf(field.message);
  const isGroup = field.fieldKind !== "map" && field.delimitedEncoding;
  const writeValue = isGroup ? groupWriter(number, type) : embeddedWriter(number, type);
  const form = localForm(field);
  return form === undefined ? writeValue : (value) => writeValue(form.toMessage(value));
}

function embeddedWriter(number: number, type: MessageType): Write {
  const tag = tagOf(number, WireType.LengthDelimited);
  let size = 1;
  return (message) => {
    // Writing the message may set it, where the type is recursive.
    const guess = size;
    out.uint32(tag);
    const start = out.open(guess);
    type.write(message as Message);
    size = out.close(start, guess);
  };
}

function groupWriter(number: number, type: MessageType): Write {
  return (message) => {
    out.uint32(tagOf(number, WireType.StartGroup));
    type.write(message as Message);
    out.uint32(tagOf(number, WireType.EndGroup));
  };
}

function scalarWriter(field: DescField, type: ScalarType | undefined, number: number): Write {
  const { wireType, write } = wireScalar(type);
  const tag = tagOf(number, wireType);
  return (value) => {
    out.uint32(tag);
    write(out, value, field);
  };
}
