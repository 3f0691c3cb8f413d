/**
 * The scalars of the wire format, written into one growing buffer (https://protobuf.dev/programming-guides/encoding).
 *
 * The length of an embedded message is known only after it was written. The caller guesses how many bytes the length
 * will take, and `close` moves the message when the guess was wrong. The size of the previous length of the same field
 * is nearly always right.
 */

import type { WireType } from "@bufbuild/protobuf/wire";
import { viewOf } from "../bytes.ts";

const initialBytes = 16 * 1024;
/** A larger buffer is released after use. */
const maxKeptBytes = 1024 * 1024;
const maxVarintBytes = 10;
/** Up to this length, a loop in JavaScript is cheaper than a native call. */
const shortText = 16;

const long = new BigInt64Array(1);
const halves = new Uint32Array(long.buffer);

/** Writes scalars into a growing buffer. Values are not checked. */
export class WireWriter {
  bytes = Buffer.allocUnsafeSlow(initialBytes);
  at = 0;
  #view = viewOf(this.bytes);

  /** A copy of what was written, after `headroom` bytes of undefined content. */
  finish(headroom: number): Uint8Array {
    const copy = Buffer.allocUnsafe(headroom + this.at);
    this.bytes.copy(copy, headroom, 0, this.at);
    if (this.bytes.length > maxKeptBytes) this.#use(Buffer.allocUnsafeSlow(initialBytes));
    return copy;
  }

  /** Makes room for `count` bytes. */
  reserve(count: number): void {
    if (this.at + count > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.at + count));
      this.bytes.copy(larger, 0, 0, this.at);
      this.#use(larger);
    }
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /** Field number and wire type, or any unsigned integer of 32 bits. */
  uint32(value: number): void {
    this.reserve(maxVarintBytes);
    if (value < 0x80) this.bytes[this.at++] = value;
    else this.at = putVarint(this.bytes, this.at, value);
  }

  /** Negative numbers are sign-extended to 64 bits. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value);
    else this.#varint64(value >>> 0, 0xffff_ffff);
  }

  sint32(value: number): void {
    this.uint32(((value << 1) ^ (value >> 31)) >>> 0);
  }

  /** An integer of 64 bits, signed or not. */
  int64(value: bigint): void {
    long[0] = value;
    this.#varint64(halves[0] as number, halves[1] as number);
  }

  sint64(value: bigint): void {
    this.int64((value << 1n) ^ (value >> 63n));
  }

  #varint64(low: number, high: number): void {
    this.reserve(maxVarintBytes);
    const { bytes } = this;
    let { at } = this;
    while (high > 0 || low > 0x7f) {
      bytes[at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    bytes[at++] = low;
    this.at = at;
  }

  fixed32(value: number): void {
    this.reserve(4);
    this.#view.setUint32(this.at, value, true);
    this.at += 4;
  }

  fixed64(value: bigint): void {
    this.reserve(8);
    this.#view.setBigUint64(this.at, value, true);
    this.at += 8;
  }

  float(value: number): void {
    this.reserve(4);
    this.#view.setFloat32(this.at, value, true);
    this.at += 4;
  }

  double(value: number): void {
    this.reserve(8);
    this.#view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  /** A google.protobuf.Timestamp, with its length, from microseconds since 1970. */
  timestamp(us: number): void {
    const seconds = Math.floor(us / 1e6);
    const nanos = (us - seconds * 1e6) * 1000;
    const start = this.open(1);
    if (seconds !== 0) {
      this.uint32(0x08);
      this.#varint64(seconds >>> 0, Math.floor(seconds / 2 ** 32) >>> 0);
    }
    if (nanos !== 0) {
      this.uint32(0x10);
      this.uint32(nanos);
    }
    this.close(start, 1);
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.bytes.set(value, this.at);
    this.at += value.length;
  }

  /** Length and bytes. */
  sized(value: Uint8Array): void {
    this.uint32(value.length);
    this.raw(value);
  }

  /** Length and UTF-8; lone surrogates become U+FFFD. */
  string(value: string): void {
    const { length } = value;
    this.reserve(maxVarintBytes + length * 3);
    const { bytes, at } = this;
    if (length <= shortText && putAscii(bytes, at + 1, value)) {
      bytes[at] = length;
      this.at = at + 1 + length;
    } else {
      const guess = varintSize(length);
      this.at = at + guess + bytes.write(value, at + guess);
      this.close(at, guess);
    }
  }

  /** Leaves `guess` bytes for a length, and returns where it starts. */
  open(guess: number): number {
    this.reserve(maxVarintBytes);
    const start = this.at;
    this.at = start + guess;
    return start;
  }

  /** Inserts the length of what was written since `open`, and returns how many bytes the length took. */
  close(start: number, guess: number): number {
    const length = this.at - start - guess;
    const size = varintSize(length);
    if (size !== guess) {
      this.reserve(maxVarintBytes);
      this.bytes.copyWithin(start + size, start + guess, this.at);
      this.at += size - guess;
    }
    putVarint(this.bytes, start, length);
    return size;
  }
}

/** A field's tag, as {@link WireWriter.uint32} writes it. */
export function tagOf(number: number, wireType: WireType): number {
  return ((number << 3) | wireType) >>> 0;
}

function varintSize(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

/** Returns the index after the last byte. */
function putVarint(bytes: Uint8Array, at: number, value: number): number {
  while (value > 0x7f) {
    bytes[at++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  bytes[at++] = value;
  return at;
}

/** Writes ASCII text. Returns false for other text, of which only a part was written. */
function putAscii(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) return false;
    bytes[at + i] = code;
  }
  return true;
}
