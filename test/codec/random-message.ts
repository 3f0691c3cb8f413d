/** Messages of any type, with everything the wire format can hold: what JSON cannot express and unknown fields too. */
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { isUnwrapped, type Local, setField, setOwn, wrapperValue } from "../../src/codec/message-fields.ts";
import type { Random } from "./random.ts";

/** `depth` bounds the messages inside messages. */
export function randomMessage(desc: DescMessage, random: Random, depth = 3): Message {
  const message = create(desc) as Message;
  const sparseness = random.pick([1, 2, 4]) + Math.floor(desc.fields.length / 12);
  for (const field of desc.fields) {
    // Required fields are nearly always there, or most messages could not be written.
    if (field.presence === 3 ? !random.oneIn(20) : random.oneIn(sparseness)) {
      const value = fieldValue(field, random, depth);
      if (value !== undefined) setField(message as unknown as Local, field, value);
    }
  }
  if (random.oneIn(8)) message.$unknown = Array.from({ length: 1 + random.below(3) }, () => unknownField(desc, random));
  return message;
}

function fieldValue(field: DescField, random: Random, depth: number): unknown {
  if (field.message !== undefined && depth === 0) return undefined;
  switch (field.fieldKind) {
    case "list":
      return Array.from({ length: random.below(4) }, () => singleValue(field, random, depth));
    case "map": {
      const entries: Local = {};
      for (let count = random.below(3); count > 0; count--)
        setOwn(entries, String(scalarValue(field.mapKey, random)), singleValue(field, random, depth));
      return entries;
    }
    default:
      return singleValue(field, random, depth);
  }
}

function singleValue(field: DescField, random: Random, depth: number): unknown {
  if (field.enum !== undefined) return random.oneIn(8) ? random.bits() | 0 : random.pick(field.enum.values).number;
  if (field.message === undefined) {
    const value = scalarValue(field.scalar, random);
    return field.fieldKind !== "map" && field.longAsString ? String(value) : value;
  }
  if (field.message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value")
    return jsonObject(random, 2);
  const wrapped = isUnwrapped(field) ? wrapperValue(field.message) : undefined;
  return wrapped === undefined ? randomMessage(field.message, random, depth - 1) : scalarValue(wrapped.scalar, random);
}

const texts = ["", "a", "é", "\0", "\ufeffBOM", "😀", "\ud800", "x\udc00y", "__proto__", "constructor", "€".repeat(50)];

function text(random: Random): string {
  return random.oneIn(4)
    ? random.pick(texts)
    : "0123456789abcdef/".repeat(9).slice(0, random.below(random.pick([20, 150])));
}

const doubles = [0, -0, 1, -1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, 1e308];

function scalarValue(type: ScalarType, random: Random): unknown {
  switch (type) {
    case ScalarType.STRING:
      return text(random);
    case ScalarType.BOOL:
      return random.oneIn(2);
    case ScalarType.BYTES:
      return random.bytes(random.below(12));
    case ScalarType.DOUBLE:
      return random.oneIn(2) ? random.pick(doubles) : random.bits() / 3;
    case ScalarType.FLOAT:
      return Math.fround(random.oneIn(2) ? random.pick(doubles) : random.bits() / 3);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return integer(random) | 0;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return integer(random) >>> 0;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return BigInt.asIntN(64, long(random));
    default:
      return BigInt.asUintN(64, long(random));
  }
}

/** Of every size, and the edges of each. */
function integer(random: Random): number {
  const value = random.oneIn(3) ? 0x80000000 : random.bits();
  return (value >>> random.below(32)) - random.below(2);
}

function long(random: Random): bigint {
  const value = random.oneIn(3) ? 1n << 63n : (BigInt(random.bits()) << 32n) | BigInt(random.bits());
  return (value >> BigInt(random.below(64))) - BigInt(random.below(2));
}

function jsonObject(random: Random, depth: number): Local {
  const json: Local = {};
  for (let count = random.below(3); count > 0; count--) setOwn(json, text(random), jsonValue(random, depth));
  return json;
}

function jsonValue(random: Random, depth: number): unknown {
  const choice = random.below(depth === 0 ? 4 : 6);
  switch (choice) {
    case 0:
      return null;
    case 1:
      return random.oneIn(2);
    case 2:
      return random.pick(doubles);
    case 3:
      return text(random);
    case 4:
      return [jsonValue(random, depth - 1), jsonValue(random, depth - 1)];
    default:
      return jsonObject(random, depth - 1);
  }
}

const unknownValues: [WireType, number[]][] = [
  [WireType.Varint, [0x80, 0x01]],
  [WireType.Bit32, [1, 2, 3, 4]],
  [WireType.Bit64, [1, 2, 3, 4, 5, 6, 7, 8]],
  [WireType.LengthDelimited, [2, 0xff, 0xfe]],
];

function unknownField(desc: DescMessage, random: Random) {
  let no = random.pick([7, 63, 64, 1000, 2 ** 29 - 2]);
  while (desc.fields.some((field) => field.number === no)) no--;
  const [wireType, data] = random.pick(unknownValues);
  return { no, wireType, data: Uint8Array.from(data) };
}
