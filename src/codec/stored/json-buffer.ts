/**
 * JSON text written into one growing buffer of bytes. Values in the wire format are copied into it without being
 * decoded into JavaScript values.
 */
import { viewOf } from "../bytes.ts";
import { dateOf } from "../dates.ts";

const initialBytes = 64 * 1024;
/** A larger buffer is released after use. */
const maxKeptBytes = 1024 * 1024;
const timeBytes = 14; // T12:34:56.789Z
const secondBytes = 20; // 2026-01-02T12:34:56.
const daySeconds = 86_400;
const endOfTime = 253_402_300_800; // 10000-01-01T00:00:00Z

const quotationMark = 0x22;
const comma = 0x2c;
const zeroDigit = 0x30;
const backslash = 0x5c;
const openingBrace = 0x7b;

/** ASCII text that is written often, in words of four bytes, each copied as fast as one byte. Padded with zeros. */
export interface Ascii {
  readonly words: Int32Array;
  readonly length: number;
}

/** Prepares ASCII text to be written often. */
export function asciiOf(text: string): Ascii {
  const bytes = Buffer.alloc(Math.ceil(text.length / 4) * 4);
  bytes.write(text, "latin1");
  const words = Int32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(4 * i));
  return { words, length: text.length };
}

/** The dates of recent days: the timestamps of a list share few. */
const cacheSize = 64;
const days: number[] = new Array(cacheSize).fill(Number.NaN);
const dates: Ascii[] = new Array(cacheSize).fill(asciiOf(""));

function dateAsciiOf(day: number): Ascii {
  const place = day & (cacheSize - 1);
  if (days[place] !== day) {
    days[place] = day;
    dates[place] = asciiOf(dateOf(day));
  }
  return dates[place]!;
}

/** Returned instead of an index by methods that do not know the bytes: the message must be decoded instead. */
export const bailOut = -1;

/** Room after the last byte for the padding of a word. */
const slack = 4;
/** Up to this length, a loop in JavaScript is cheaper than a native call. */
const shortText = 20;

/** ASCII text with nothing to escape. */
const plainAscii = /^[ !#-[\]-~]*$/;

/**
 * Writes JSON into a growing buffer. Methods that read take the start of a value in bytes, and the end of the message
 * around it. They return the index after the value, or {@link bailOut} where the message must be decoded instead.
 */
export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(initialBytes);
  #view = viewOf(this.#bytes);
  #at = 0;
  #isAscii = true;
  /** The second of the timestamp that was written last, and where it is: the next one is often of the same second. */
  #second = Number.NaN;
  #secondAt = 0;

  /** Where the next byte goes. */
  get at(): number {
    return this.#at;
  }

  /** Discards everything from an index on. */
  cutTo(at: number): void {
    this.#at = at;
    this.#second = Number.NaN;
  }

  /** Returns the text, and starts an empty one. */
  take(): string {
    const text = this.#bytes.toString(this.#isAscii ? "latin1" : "utf8", 0, this.#at);
    this.cutTo(0);
    this.#isAscii = true;
    if (this.#bytes.length > maxKeptBytes) this.#use(Buffer.allocUnsafeSlow(initialBytes));
    return text;
  }

  #reserve(count: number): DataView {
    if (this.#at + count + slack > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.#at + count + slack));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#use(larger);
    }
    return this.#view;
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /** Prepared ASCII text. */
  ascii({ words, length }: Ascii): void {
    const view = this.#reserve(length);
    const at = this.#at;
    for (let i = 0; i < words.length; i++) view.setInt32(at + 4 * i, words[i]!, true);
    this.#at = at + length;
  }

  /** ASCII text from a range of bytes. */
  asciiOf(from: DataView, start: number, end: number): void {
    const view = this.#reserve(end - start);
    const shift = this.#at - start;
    let at = start;
    for (; at + 4 <= end; at += 4) view.setInt32(shift + at, from.getInt32(at, true), true);
    for (; at < end; at++) view.setUint8(shift + at, from.getUint8(at));
    this.#at = shift + end;
  }

  /** The comma before a member, unless it is the first. */
  comma(): void {
    if (this.#bytes[this.#at - 1] !== openingBrace) this.#byte(comma);
  }

  #byte(byte: number): void {
    this.#reserve(1).setUint8(this.#at++, byte);
  }

  /** Text without escaping. */
  text(text: string): void {
    const { length } = text;
    const view = this.#reserve(3 * length);
    if (length > shortText) {
      const written = this.#bytes.write(text, this.#at);
      if (written !== length) this.#isAscii = false;
      this.#at += written;
      return;
    }
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        this.#isAscii = false;
        this.#at += this.#bytes.write(text, this.#at);
        return;
      }
      view.setUint8(this.#at + i, code);
    }
    this.#at += length;
  }

  /** A string, escaped, without its quotation marks. */
  string(text: string): void {
    this.text(plainAscii.test(text) ? text : JSON.stringify(text).slice(1, -1));
  }

  /** A whole number from 0 to 2⁵³. */
  integer(value: number): void {
    if (value < 1e8) this.#upToEightDigits(value);
    else {
      const high = Math.floor(value / 1e8);
      this.integer(high);
      this.#eightDigits(value - high * 1e8);
    }
  }

  #upToEightDigits(value: number): void {
    let length = 1;
    for (let limit = 10; value >= limit; limit *= 10) length++;
    const view = this.#reserve(length);
    let at = this.#at + length;
    this.#at = at;
    let rest = value;
    for (; rest >= 10; at -= 2) {
      const high = (rest / 100) | 0;
      putTwoDigits(view, at - 2, rest - high * 100);
      rest = high;
    }
    if (length % 2 === 1) view.setUint8(at - 1, zeroDigit + rest);
  }

  #eightDigits(value: number): void {
    const view = this.#reserve(8);
    const high = Math.floor(value / 10_000);
    putFourDigits(view, this.#at, high);
    putFourDigits(view, this.#at + 4, value - high * 10_000);
    this.#at += 8;
  }

  /** Microseconds since 1970 as a timestamp. */
  time(us: number): void {
    const seconds = Math.floor(us / 1e6);
    this.#timestamp(seconds, Math.floor((us - seconds * 1e6) / 1000));
  }

  #timestamp(seconds: number, millis: number): void {
    if (seconds === this.#second) this.#copySecond();
    else this.#writeSecond(seconds);
    const view = this.#reserve(4);
    const at = this.#at;
    const tens = Math.floor(millis / 10);
    putTwoDigits(view, at, tens);
    view.setUint8(at + 2, zeroDigit + millis - 10 * tens);
    view.setUint8(at + 3, 0x5a); // Z
    this.#at = at + 4;
  }

  #copySecond(): void {
    const view = this.#reserve(secondBytes);
    const at = this.#at;
    for (let i = 0; i < secondBytes; i += 4) view.setInt32(at + i, view.getInt32(this.#secondAt + i, true), true);
    this.#at = at + secondBytes;
  }

  #writeSecond(seconds: number): void {
    const day = Math.floor(seconds / daySeconds);
    const second = seconds - day * daySeconds;
    const minute = Math.floor(second / 60);
    const hour = Math.floor(minute / 60);
    const start = this.#at;
    this.ascii(dateAsciiOf(day));
    const view = this.#reserve(timeBytes);
    const at = this.#at;
    view.setUint8(at, 0x54); // T
    putTwoDigits(view, at + 1, hour);
    view.setUint8(at + 3, 0x3a); // :
    putTwoDigits(view, at + 4, minute - hour * 60);
    view.setUint8(at + 6, 0x3a);
    putTwoDigits(view, at + 7, second - minute * 60);
    view.setUint8(at + 9, 0x2e); // .
    this.#at = at + 10;
    this.#second = seconds;
    this.#secondAt = start;
  }

  /** A string in UTF-8 after its length: escaped, without its quotation marks. */
  stringOf(from: DataView, start: number, end: number): number {
    if (start >= end) return bailOut;
    let at = start;
    let length = from.getUint8(at++);
    if (length > 0x7f) {
      const second = at < end ? from.getUint8(at++) : 0xff;
      if (second > 0x7f) return bailOut;
      length = (length & 0x7f) | (second << 7);
    }
    const stop = at + length;
    if (stop > end) return bailOut;
    const view = this.#reserve(2 * length);
    let to = this.#at;
    for (; at + 4 <= stop; at += 4) {
      const word = from.getInt32(at, true);
      if (mayNeedEscape(word)) break;
      view.setInt32(to, word, true);
      to += 4;
    }
    for (; at < stop; at++) {
      const byte = from.getUint8(at);
      if (byte < 0x20 || byte > 0x7f) return this.#otherString(from, stop - length, stop);
      if (byte === quotationMark || byte === backslash) view.setUint8(to++, backslash);
      view.setUint8(to++, byte);
    }
    this.#at = to;
    return at;
  }

  #otherString(from: DataView, start: number, end: number): number {
    const text = Buffer.from(from.buffer, from.byteOffset + start, end - start).toString();
    if (text.includes("\ufffd")) return bailOut;
    this.string(text);
    return end;
  }

  /** One of several texts, by its index. */
  choiceOf(from: DataView, at: number, end: number, texts: readonly (Ascii | undefined)[]): number {
    if (at >= end) return bailOut;
    const text = texts[from.getUint8(at)]; // of a longer number, the second byte is then no tag
    if (text === undefined) return bailOut;
    this.ascii(text);
    return at + 1;
  }

  /** An integer from 0 to `max`. */
  integerOf(from: DataView, start: number, end: number, max: number): number {
    const at = readInteger(from, start, end);
    if (at === bailOut || integer > max) return bailOut;
    this.integer(integer);
    return at;
  }

  /** A google.protobuf.Timestamp after its length. */
  timestampOf(from: DataView, start: number, end: number): number {
    if (start >= end) return bailOut;
    const stop = start + 1 + from.getUint8(start);
    if (stop > end) return bailOut;
    let at = start + 1;
    let seconds = 0;
    let nanos = 0;
    if (at < stop && from.getUint8(at) === 0x08) {
      at = readInteger(from, at + 1, stop);
      if (at === bailOut) return bailOut;
      seconds = integer;
    }
    if (at < stop && from.getUint8(at) === 0x10) {
      at = readInteger(from, at + 1, stop);
      if (at === bailOut) return bailOut;
      nanos = integer;
    }
    if (at !== stop || seconds >= endOfTime || nanos >= 1e9) return bailOut;
    this.#timestamp(seconds, Math.floor(nanos / 1e6));
    return at;
  }
}

/** The result of `readInteger`. */
let integer = 0;

/** Reads an integer below 2⁴⁹ into `integer`, and returns the index after it. */
function readInteger(from: DataView, start: number, end: number): number {
  integer = 0;
  for (let at = start, unit = 1; at < end && unit < 2 ** 49; unit *= 2 ** 7) {
    const byte = from.getUint8(at++);
    integer += (byte & 0x7f) * unit;
    if (byte < 0x80) return at;
  }
  return bailOut;
}

/**
 * Whether one of four bytes is a control character, a quotation mark, a backslash or not ASCII; may be true where none
 * is. Subtracting more than a byte's value sets its highest bit. A borrow from the next byte can only set more bits.
 */
function mayNeedEscape(word: number): boolean {
  const quotes = (word ^ 0x22222222) - 0x01010101;
  const backslashes = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (((word - 0x20202020) | word | quotes | backslashes) & 0x80808080) !== 0;
}

/** The digits of the numbers from 0 to 99, the first one in the lower byte. */
const twoDigits = Uint16Array.from(
  { length: 100 },
  (_, n) => (zeroDigit + (n % 10)) * 256 + zeroDigit + (n - (n % 10)) / 10,
);

function putTwoDigits(view: DataView, at: number, n: number): void {
  view.setUint16(at, twoDigits[n]!, true);
}

function putFourDigits(view: DataView, at: number, n: number): void {
  const hundreds = Math.floor(n / 100);
  putTwoDigits(view, at, hundreds);
  putTwoDigits(view, at + 2, n - 100 * hundreds);
}
