/** The bytes of a JSON text, written into one growing buffer, and the values of the wire format that go into it without becoming values between. */
import { dateOf } from "./text-forms.ts";

const INITIAL_BYTES = 64 * 1024;
/** The buffer that one large text needed is not kept for the small ones after it. */
const MAX_KEPT_BYTES = 1024 * 1024;
const TIMESTAMP_BYTES = 24; // 2024-01-31T12:34:56.789Z
const DAY_SECONDS = 86_400;
const END_OF_TIME = 253_402_300_800; // 10000-01-01T00:00:00Z

const QUOTE = 0x22;
const COMMA = 0x2c;
const DIGIT = 0x30;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;

/** What stands in the place of an index where bytes are not what the caller takes them for. */
export const ELSE = -1;

/**
 * A buffer and where the next byte goes. Methods that read take the place of a value among bytes, and the end of the message around it; they
 * give the place behind it, or {@link ELSE} where it is to be read in another way.
 */
export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #at = 0;
  #isAscii = true;

  /** Where the next byte goes. */
  get at(): number {
    return this.#at;
  }

  /** Forgets all from a place on. */
  cutTo(at: number): void {
    this.#at = at;
  }

  /** All that was written, and begins anew. */
  take(): string {
    const text = this.#bytes.toString(this.#isAscii ? "latin1" : "utf8", 0, this.#at);
    this.#at = 0;
    this.#isAscii = true;
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    return text;
  }

  #reserve(count: number): Buffer {
    if (this.#at + count > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.#at + count));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#bytes = larger;
    }
    return this.#bytes;
  }

  /** ASCII. */
  ascii(text: Uint8Array): void {
    const { length } = text;
    const bytes = this.#reserve(length);
    let at = this.#at;
    for (let i = 0; i < length; i++) bytes[at++] = text[i]!;
    this.#at = at;
  }

  /** The comma before a member, unless it is the first. */
  comma(): void {
    if (this.#bytes[this.#at - 1] === OPENING_BRACE) return;
    this.#reserve(1)[this.#at++] = COMMA;
  }

  /** Text as it is. */
  text(text: string): void {
    const { length } = text;
    const bytes = this.#reserve(3 * length);
    let at = this.#at;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        this.#isAscii = false;
        this.#at += bytes.write(text, this.#at);
        return;
      }
      bytes[at++] = code;
    }
    this.#at = at;
  }

  /** What goes between the quotation marks of a string. */
  string(text: string): void {
    const { length } = text;
    const bytes = this.#reserve(2 * length);
    let at = this.#at;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code > 0x7f) {
        this.text(JSON.stringify(text).slice(1, -1));
        return;
      }
      if (code === QUOTE || code === BACKSLASH) bytes[at++] = BACKSLASH;
      bytes[at++] = code;
    }
    this.#at = at;
  }

  /** Microseconds since 1970 as a timestamp. */
  time(us: number): void {
    const seconds = Math.floor(us / 1e6);
    this.#timestamp(seconds, Math.floor((us - seconds * 1e6) / 1000));
  }

  #timestamp(seconds: number, millis: number): void {
    const bytes = this.#reserve(TIMESTAMP_BYTES);
    const day = Math.floor(seconds / DAY_SECONDS);
    const second = seconds - day * DAY_SECONDS;
    const minute = Math.floor(second / 60);
    const hour = Math.floor(minute / 60);
    const date = dateOf(day);
    let at = this.#at;
    for (let i = 0; i < date.length; i++) bytes[at++] = date.charCodeAt(i);
    bytes[at] = 0x54; // T
    putTwoDigits(bytes, at + 1, hour);
    bytes[at + 3] = 0x3a; // :
    putTwoDigits(bytes, at + 4, minute - hour * 60);
    bytes[at + 6] = 0x3a;
    putTwoDigits(bytes, at + 7, second - minute * 60);
    bytes[at + 9] = 0x2e; // .
    const tens = Math.floor(millis / 10);
    putTwoDigits(bytes, at + 10, tens);
    bytes[at + 12] = DIGIT + millis - 10 * tens;
    bytes[at + 13] = 0x5a; // Z
    this.#at = at + 14;
  }

  /** What goes between the quotation marks of a string that is held as UTF-8, its length before it. */
  stringOf(from: Uint8Array, start: number, end: number): number {
    let at = start;
    let length = from[at++]!;
    if (length > 0x7f) {
      const second = from[at++]!;
      if (second > 0x7f) return ELSE;
      length = (length & 0x7f) | (second << 7);
    }
    const stop = at + length;
    if (stop > end) return ELSE;
    const bytes = this.#reserve(2 * length);
    let to = this.#at;
    for (; at < stop; at++) {
      const byte = from[at]!;
      if (byte < 0x20 || byte > 0x7f) return this.#otherString(from, stop - length, stop);
      if (byte === QUOTE || byte === BACKSLASH) bytes[to++] = BACKSLASH;
      bytes[to++] = byte;
    }
    this.#at = to;
    return at;
  }

  #otherString(from: Uint8Array, start: number, end: number): number {
    const text = Buffer.from(from.buffer, from.byteOffset + start, end - start).toString();
    if (text.includes("\ufffd")) return ELSE;
    this.string(text);
    return end;
  }

  /** One of some texts, by its index. */
  choiceOf(from: Uint8Array, at: number, end: number, texts: readonly (Uint8Array | undefined)[]): number {
    if (at >= end) return ELSE;
    const text = texts[from[at]!]; // the second byte of a longer number is no tag
    if (text === undefined) return ELSE;
    this.ascii(text);
    return at + 1;
  }

  /** An integer, which is not negative. */
  integerOf(from: Uint8Array, start: number, end: number, max: number): number {
    const at = readInteger(from, start, end);
    if (at === ELSE || integer > max) return ELSE;
    this.text(String(integer));
    return at;
  }

  /** A google.protobuf.Timestamp, its length before it. */
  timestampOf(from: Uint8Array, start: number, end: number): number {
    const stop = start + 1 + from[start]!;
    if (stop > end) return ELSE;
    let at = start + 1;
    let seconds = 0;
    let nanos = 0;
    if (at < stop && from[at] === 0x08) {
      at = readInteger(from, at + 1, stop);
      if (at === ELSE) return ELSE;
      seconds = integer;
    }
    if (at < stop && from[at] === 0x10) {
      at = readInteger(from, at + 1, stop);
      if (at === ELSE) return ELSE;
      nanos = integer;
    }
    if (at !== stop || seconds >= END_OF_TIME || nanos >= 1e9) return ELSE;
    this.#timestamp(seconds, Math.floor(nanos / 1e6));
    return at;
  }
}

/** What `readInteger` has read. */
let integer = 0;

/** Reads a number below 2⁴⁹. */
function readInteger(from: Uint8Array, start: number, end: number): number {
  integer = 0;
  for (let at = start, unit = 1; at < end && unit < 2 ** 49; unit *= 2 ** 7) {
    const byte = from[at++]!;
    integer += (byte & 0x7f) * unit;
    if (byte < 0x80) return at;
  }
  return ELSE;
}

function putTwoDigits(bytes: Uint8Array, at: number, n: number): void {
  const tens = Math.floor(n / 10);
  bytes[at] = DIGIT + tens;
  bytes[at + 1] = DIGIT + n - 10 * tens;
}
