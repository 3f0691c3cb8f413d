/** Generates messages of any type: every field unset, zero or anything that ProtoJSON can express. */
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import fc, { type Arbitrary } from "fast-check";
import { type Local, setField, setOwn } from "../../src/codec/message-fields.ts";
import { desc as fixture } from "../rest/fixture.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }).map((value) => value.replaceAll("\0", "")),
  fc.constantFrom("__proto__", "constructor", '"\\/\b\u001f\u2028é😀', ""),
);
const json = fc
  .json({ maxDepth: 3, stringUnit: "grapheme" })
  .filter((value) => !value.includes("\\u0000"))
  .map((value) => JSON.parse(value));

/** JSON.stringify, and so the library, forgets the sign of zero. */
const unsigned = (zero: number) => zero + 0;

const int = (bits: bigint, signed: boolean) =>
  signed ? fc.bigInt(-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n) : fc.bigInt(0n, 2n ** bits - 1n);

function scalar(type: ScalarType): Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 10 });
    case ScalarType.DOUBLE:
      return fc.double().map(unsigned);
    case ScalarType.FLOAT:
      return fc.float().map(unsigned);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return int(32n, true).map(Number);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return int(32n, false).map(Number);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return int(64n, true);
    default:
      return int(64n, false);
  }
}

/** Any message of the type. `depth` bounds the messages inside messages. */
export function arbitraryMessage(desc: DescMessage, depth: number): Arbitrary<Message> {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      // Whole milliseconds, but never none: there the library writes three digits as well.
      return message(desc, fc.record({ seconds: fc.bigInt(-62_135_596_800n, 253_402_300_799n), nanos: millis }));
    case "google.protobuf.Duration":
      return message(
        desc,
        fc
          .record({
            seconds: fc.bigInt(0n, 315_576_000_000n),
            nanos: fc.integer({ min: 0, max: 999_999_999 }),
            sign: fc.boolean(),
          })
          .map(({ seconds, nanos, sign }) => (sign ? { seconds, nanos } : { seconds: -seconds, nanos: 0 - nanos })),
      );
    case "google.protobuf.FieldMask":
      return message(
        desc,
        fc.record({ paths: fc.array(fc.constantFrom("name", "claim_match.subject", "create_time", "*")) }),
      );
    case "google.protobuf.Any":
      return fc.oneof(
        message(fixture("ClaimMatch"), fc.record({ issuer: text })).map((inner) =>
          anyPack(fixture("ClaimMatch"), inner),
        ),
        fc.constant(create(desc) as Message),
      );
    case "google.protobuf.Value":
      return value.map((kind) => create(desc, { kind } as never));
    case "google.protobuf.ListValue":
      return fc
        .array(
          value.map((kind) => ({ kind })),
          { maxLength: 3 },
        )
        .map((values) => create(desc, { values } as never));
    default:
      return fc
        .tuple(...desc.fields.map((field) => fc.option(fieldValue(field, depth), { nil: undefined, freq: 2 })))
        .map((values) => {
          const result = create(desc) as Message;
          for (const [index, field] of desc.fields.entries()) {
            if (values[index] !== undefined) setField(result as unknown as Local, field, values[index]);
          }
          return result;
        });
  }
}

const millis = fc.integer({ min: 1, max: 999 }).map((count) => count * 1_000_000);

const value = fc.oneof(
  text.map((string) => ({ case: "stringValue", value: string })),
  fc.boolean().map((flag) => ({ case: "boolValue", value: flag })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((number) => ({ case: "numberValue", value: unsigned(number) })),
  fc.constant({ case: "nullValue", value: 0 }),
);

function message(desc: DescMessage, init: Arbitrary<object>): Arbitrary<Message> {
  return init.map((fields) => create(desc, fields as never) as Message);
}

/** A value of the field in its local form; undefined where the depth is used up. */
function fieldValue(field: DescField, depth: number): Arbitrary<unknown> {
  const one = singleValue(field, depth);
  switch (field.fieldKind) {
    case "list":
      return depth === 0 && field.message !== undefined ? fc.constant(undefined) : fc.array(one, { maxLength: 3 });
    case "map":
      return fc.array(fc.tuple(mapKey(field.mapKey), one), { maxLength: 3 }).map((entries) => {
        const map = {};
        for (const [key, entry] of entries) setOwn(map, key, entry);
        return map;
      });
    default:
      return one;
  }
}

function mapKey(type: ScalarType): Arbitrary<string> {
  return type === ScalarType.STRING ? text : scalar(type).map(String);
}

function singleValue(field: DescField, depth: number): Arbitrary<unknown> {
  if (field.enum !== undefined)
    return field.enum.typeName === "google.protobuf.NullValue" ? fc.constant(0) : fc.constantFrom(0, 1, 2, 77, -5);
  if (field.message === undefined) {
    const long = field.fieldKind !== "map" && field.longAsString;
    return long ? scalar(field.scalar).map(String) : scalar(field.scalar);
  }
  if (field.message.typeName === "google.protobuf.Struct") return fc.dictionary(fc.string(), json, { maxKeys: 3 });
  const wrapped = field.message.typeName.endsWith("Value") ? field.message.fields[0] : undefined;
  if (wrapped?.fieldKind === "scalar" && field.fieldKind === "message" && field.oneof === undefined)
    return scalar(wrapped.scalar);
  const isRecursive = field.message === field.parent;
  if (isRecursive && depth === 0) return fc.constant(undefined);
  return arbitraryMessage(field.message, isRecursive ? depth - 1 : depth);
}

/** Any message of the fixture's type with every kind of field. */
export const everything = arbitraryMessage(fixture("Everything"), 1);
