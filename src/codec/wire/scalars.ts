/** The scalar types on the wire: the wire type of each, and how its values are written and read in their local form. */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import type { WireReader } from "./reader.ts";
import type { WireWriter } from "./writer.ts";

/** One scalar type. */
interface WireScalar {
  readonly wireType: WireType;
  /** Writes a value, without its tag. Throws RangeError, naming the field, for one that the type cannot hold. */
  write(out: WireWriter, value: unknown, field: DescField): void;
  /** Reads a value. 64-bit integers are bigint; malformed text is refused. */
  read(from: WireReader): unknown;
}

/** Returns a scalar type; an enum, whose type is undefined, is an int32. */
export function wireScalar(type: ScalarType | undefined): WireScalar {
  return scalars[type ?? ScalarType.INT32];
}

const { Varint, Bit32, Bit64, LengthDelimited } = WireType;

const scalars: Record<ScalarType, WireScalar> = {
  [ScalarType.DOUBLE]: {
    wireType: Bit64,
    write: (out, value) => out.double(value as number),
    read: (from) => from.double(),
  },
  [ScalarType.FLOAT]: {
    wireType: Bit32,
    write: (out, value, field) => out.float(floatOf(value, field)),
    read: (from) => from.float(),
  },
  [ScalarType.INT32]: {
    wireType: Varint,
    write: (out, value, field) => out.int32(int32Of(value, field)),
    read: (from) => from.int32(),
  },
  [ScalarType.SINT32]: {
    wireType: Varint,
    write: (out, value, field) => out.sint32(int32Of(value, field)),
    read: (from) => from.sint32(),
  },
  [ScalarType.SFIXED32]: {
    wireType: Bit32,
    write: (out, value, field) => out.fixed32(int32Of(value, field)),
    read: (from) => from.sfixed32(),
  },
  [ScalarType.UINT32]: {
    wireType: Varint,
    write: (out, value, field) => out.uint32(uint32Of(value, field)),
    read: (from) => from.uint32(),
  },
  [ScalarType.FIXED32]: {
    wireType: Bit32,
    write: (out, value, field) => out.fixed32(uint32Of(value, field)),
    read: (from) => from.fixed32(),
  },
  [ScalarType.INT64]: {
    wireType: Varint,
    write: (out, value, field) => out.int64(int64Of(value, field)),
    read: (from) => from.int64(),
  },
  [ScalarType.SINT64]: {
    wireType: Varint,
    write: (out, value, field) => out.sint64(int64Of(value, field)),
    read: (from) => from.sint64(),
  },
  [ScalarType.SFIXED64]: {
    wireType: Bit64,
    write: (out, value, field) => out.fixed64(int64Of(value, field)),
    read: (from) => from.sfixed64(),
  },
  [ScalarType.UINT64]: {
    wireType: Varint,
    write: (out, value, field) => out.int64(uint64Of(value, field)),
    read: (from) => from.uint64(),
  },
  [ScalarType.FIXED64]: {
    wireType: Bit64,
    write: (out, value, field) => out.fixed64(uint64Of(value, field)),
    read: (from) => from.fixed64(),
  },
  [ScalarType.BOOL]: {
    wireType: Varint,
    write: (out, value) => out.uint32(value ? 1 : 0),
    read: (from) => from.bool(),
  },
  [ScalarType.STRING]: {
    wireType: LengthDelimited,
    write: (out, value) => out.string(value as string),
    read: (from) => from.string(true),
  },
  [ScalarType.BYTES]: {
    wireType: LengthDelimited,
    write: (out, value) => out.sized(value as Uint8Array),
    read: (from) => from.sized(),
  },
};

function int32Of(value: unknown, field: DescField): number {
  const number = value as number;
  return (number | 0) === number ? number : refuse(value, field);
}

function uint32Of(value: unknown, field: DescField): number {
  const number = value as number;
  return number >>> 0 === number ? number : refuse(value, field);
}

function floatOf(value: unknown, field: DescField): number {
  const number = value as number;
  return Number.isFinite(Math.fround(number)) || !Number.isFinite(number) ? number : refuse(value, field);
}

function int64Of(value: unknown, field: DescField): bigint {
  const long = BigInt(value as bigint | string);
  return BigInt.asIntN(64, long) === long ? long : refuse(value, field);
}

function uint64Of(value: unknown, field: DescField): bigint {
  const long = BigInt(value as bigint | string);
  return BigInt.asUintN(64, long) === long ? long : refuse(value, field);
}

function refuse(value: unknown, field: DescField): never {
  throw new RangeError(`${value} is not a value of ${field}`);
}
