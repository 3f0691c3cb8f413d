/**
 * The scalars of the wire format, read from a buffer (https://protobuf.dev/programming-guides/encoding).
 *
 * Exactly as lenient as the library: a varint may be longer than necessary, up to ten bytes (or any length when it is
 * skipped), and loses the bits that its type has no room for.
 */
import { WireType } from "@bufbuild/protobuf/wire";

/** The input is not a message of the type it was read as. */
export class WireFormatError extends Error {
  override readonly name = "WireFormatError";
}

const maxDepth = 100;
/** Slicing short texts out of one string of the whole input is cheaper than a native call for each. */
const smallInput = 4096;
const shortText = 80;

const { Bit32, Bit64, EndGroup, LengthDelimited, StartGroup, Varint } = WireType;

/** Scratch memory in which the bytes of a number are combined. */
const scratch = new Uint8Array(8);
const float = new Float32Array(scratch.buffer);
const double = new Float64Array(scratch.buffer);
const signed = new BigInt64Array(scratch.buffer);
const unsigned = new BigUint64Array(scratch.buffer);
const halves = new Uint32Array(scratch.buffer);

/**
 * The functions behind `Buffer.toString`. They take any Uint8Array, and creating a Buffer of it would double the cost.
 */
type Slice = (this: Uint8Array, start: number, end: number) => string;
const { latin1Slice, utf8Slice }: { latin1Slice: Slice; utf8Slice: Slice } = Buffer.prototype;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads scalars from bytes, each at the current position. Every method throws WireFormatError for malformed input. */
export class WireReader {
  readonly bytes: Uint8Array;
  at = 0;
  #depth = 0;
  #fields: number;
  /** The input with one character for each byte. */
  #latin1: string | undefined;

  /** @param maxFields the most fields that are read, of all messages together. */
  constructor(bytes: Uint8Array, maxFields = Number.POSITIVE_INFINITY) {
    this.bytes = bytes;
    this.#fields = maxFields;
  }

  /** Enters a message or a group. Errors: WireFormatError below a depth of 100. */
  enter(): void {
    if (++this.#depth > maxDepth) throw new WireFormatError(`nesting deeper than ${maxDepth}`);
  }

  /** Leaves a message or a group. */
  leave(): void {
    this.#depth--;
  }

  /** Field number and wire type. Errors: WireFormatError also when there are too many fields. */
  tag(): number {
    const { bytes, at } = this;
    if (--this.#fields < 0) throw new WireFormatError("too many fields");
    // Nearly every tag is a single byte.
    const first = bytes[at] as number;
    if (first < 0x80 && first > 7 && (first & 7) <= Bit32) {
      this.at = at + 1;
      return first;
    }
    const tag = this.uint32();
    const size = this.at - at;
    if (tag >>> 3 === 0 || (tag & 7) > Bit32 || size > 5 || (size === 5 && (bytes[at + 4] as number) > 0x0f))
      throw new WireFormatError("invalid tag");
    return tag;
  }

  uint32(): number {
    const { bytes } = this;
    let { at } = this;
    let byte = bytes[at++] as number;
    if (byte < 0x80) {
      this.at = at;
      return byte;
    }
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = bytes[at++] as number;
      value |= shift < 32 ? (byte & 0x7f) << shift : 0;
      expectTenBytes(byte, shift);
    }
    this.#moveTo(at);
    return value >>> 0;
  }

  int32(): number {
    return this.uint32() | 0;
  }

  sint32(): number {
    const value = this.uint32();
    return (value >>> 1) ^ -(value & 1);
  }

  int64(): bigint {
    this.#varint64();
    return signed[0] as bigint;
  }

  uint64(): bigint {
    this.#varint64();
    return unsigned[0] as bigint;
  }

  sint64(): bigint {
    const value = this.uint64();
    return (value >> 1n) ^ -(value & 1n);
  }

  bool(): boolean {
    this.#varint64();
    return halves[0] !== 0 || halves[1] !== 0;
  }

  /** Leaves the value in `scratch`. */
  #varint64(): void {
    const { bytes } = this;
    let { at } = this;
    let byte = bytes[at++] as number;
    let low = byte & 0x7f;
    let high = 0;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = bytes[at++] as number;
      const bits = byte & 0x7f;
      if (shift < 32) {
        low |= bits << shift;
        high |= shift === 28 ? bits >>> 4 : 0;
      } else {
        high |= bits << (shift - 32);
      }
      expectTenBytes(byte, shift);
    }
    this.#moveTo(at);
    halves[0] = low;
    halves[1] = high;
  }

  fixed32(): number {
    this.#load(4);
    return halves[0] as number;
  }

  sfixed32(): number {
    return this.fixed32() | 0;
  }

  fixed64(): bigint {
    this.#load(8);
    return unsigned[0] as bigint;
  }

  sfixed64(): bigint {
    this.#load(8);
    return signed[0] as bigint;
  }

  float(): number {
    this.#load(4);
    return float[0] as number;
  }

  double(): number {
    this.#load(8);
    return double[0] as number;
  }

  #load(count: number): void {
    const start = this.at;
    this.#moveTo(start + count);
    for (let i = 0; i < count; i++) scratch[i] = this.bytes[start + i] as number;
  }

  /** Length and bytes, as a view of the input. */
  sized(): Uint8Array {
    const length = this.uint32();
    const start = this.at;
    this.#moveTo(start + length);
    return this.bytes.subarray(start, this.at);
  }

  /** Length and UTF-8. Malformed text is refused if `isStrict`, and becomes U+FFFD otherwise. */
  string(isStrict: boolean): string {
    const length = this.uint32();
    const start = this.at;
    const end = start + length;
    this.#moveTo(end);
    const { bytes } = this;
    if (length <= shortText && bytes.length <= smallInput && isAscii(bytes, start, end)) {
      this.#latin1 ??= latin1Slice.call(bytes, 0, bytes.length);
      return this.#latin1.slice(start, end);
    }
    const text = utf8Slice.call(bytes, start, end);
    if (isStrict && text.includes("\ufffd")) expectUtf8(bytes.subarray(start, end));
    return text;
  }

  /** Skips the value of a field, and returns its bytes as a view of the input. */
  skip(tag: number): Uint8Array {
    const start = this.at;
    switch (tag & 7) {
      case Varint: {
        let at = start;
        while ((this.bytes[at] as number) >= 0x80) at++;
        this.#moveTo(at + 1);
        break;
      }
      case Bit32:
        this.#moveTo(start + 4);
        break;
      case Bit64:
        this.#moveTo(start + 8);
        break;
      case LengthDelimited:
        this.sized();
        break;
      case StartGroup:
        this.#skipGroup(tag >>> 3);
        break;
      default:
        throw new WireFormatError("end of a group that was not begun");
    }
    return this.bytes.subarray(start, this.at);
  }

  #skipGroup(number: number): void {
    this.enter();
    let tag = this.tag();
    while ((tag & 7) !== EndGroup) {
      this.skip(tag);
      tag = this.tag();
    }
    expectEnd(tag, number);
    this.leave();
  }

  #moveTo(at: number): void {
    if (at > this.bytes.length) throw new WireFormatError("unexpected end");
    this.at = at;
  }
}

/** Refuses the end tag of another group. */
export function expectEnd(tag: number, number: number): void {
  if (tag >>> 3 !== number) throw new WireFormatError("end of another group");
}

function expectTenBytes(byte: number, shift: number): void {
  if (shift === 63 && byte >= 0x80) throw new WireFormatError("varint of more than ten bytes");
}

function expectUtf8(bytes: Uint8Array): void {
  try {
    strictUtf8.decode(bytes);
  } catch {
    throw new WireFormatError("malformed UTF-8");
  }
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0;
  for (let i = start; i < end; i++) bits |= bytes[i] as number;
  return bits < 0x80;
}
