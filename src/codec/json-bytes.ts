/** The bytes of a JSON text, written into one growing buffer, and the values of the wire format that go into it without becoming values between. */
import { dateOf } from "./text-forms.ts";
import { viewOf } from "./wire-writer.ts";

const INITIAL_BYTES = 64 * 1024;
/** The buffer that one large text needed is not kept for the small ones after it. */
const MAX_KEPT_BYTES = 1024 * 1024;
const TIME_BYTES = 14; // T12:34:56.789Z
const DAY_SECONDS = 86_400;
const END_OF_TIME = 253_402_300_800; // 10000-01-01T00:00:00Z

const QUOTE = 0x22;
const COMMA = 0x2c;
const DIGIT = 0x30;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;

/** ASCII that is written often: four bytes in one are copied as fast as one. The last may have zeros behind the text. */
export interface Ascii {
  readonly words: Int32Array;
  readonly length: number;
}

/** ASCII that is to be written often. */
export function asciiOf(text: string): Ascii {
  const bytes = Buffer.alloc(Math.ceil(text.length / 4) * 4);
  bytes.write(text, "latin1");
  const words = Int32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(4 * i));
  return { words, length: text.length };
}

/** The dates of the days that were written last; the timestamps of a list share few. */
const DATE_PLACES = 64;
const days: number[] = new Array(DATE_PLACES).fill(Number.NaN);
const dates: Ascii[] = new Array(DATE_PLACES).fill(asciiOf(""));

function dateAsciiOf(day: number): Ascii {
  const place = day & (DATE_PLACES - 1);
  if (days[place] !== day) {
    days[place] = day;
    dates[place] = asciiOf(dateOf(day));
  }
  return dates[place]!;
}

/** What stands in the place of an index where bytes are not what the caller takes them for. */
export const ELSE = -1;

/** Behind the last byte there is always room for what one word holds beyond its text. */
const SLACK = 4;
/** Up to here a loop is cheaper than leaving JavaScript. */
const SHORT_TEXT = 20;

/** Nothing to escape, and one byte each. */
const PLAIN_ASCII = /^[ !#-[\]-~]*$/;

/**
 * A buffer and where the next byte goes. Methods that read take the place of a value among bytes, and the end of the message around it; they
 * give the place behind it, or {@link ELSE} where it is to be read in another way.
 */
export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #view = viewOf(this.#bytes);
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
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#use(Buffer.allocUnsafeSlow(INITIAL_BYTES));
    return text;
  }

  #reserve(count: number): DataView {
    if (this.#at + count + SLACK > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.#at + count + SLACK));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#use(larger);
    }
    return this.#view;
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /** ASCII. */
  ascii({ words, length }: Ascii): void {
    const view = this.#reserve(length);
    const at = this.#at;
    for (let i = 0; i < words.length; i++) view.setInt32(at + 4 * i, words[i]!, true);
    this.#at = at + length;
  }

  /** ASCII from among bytes. */
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
    if (this.#bytes[this.#at - 1] !== OPENING_BRACE) this.#byte(COMMA);
  }

  #byte(byte: number): void {
    this.#reserve(1).setUint8(this.#at++, byte);
  }

  /** Text as it is. */
  text(text: string): void {
    const { length } = text;
    const view = this.#reserve(3 * length);
    if (length > SHORT_TEXT) {
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

  /** What goes between the quotation marks of a string. */
  string(text: string): void {
    this.text(PLAIN_ASCII.test(text) ? text : JSON.stringify(text).slice(1, -1));
  }

  /** A whole number from 0 to 2⁵³. */
  integer(value: number): void {
    if (value < 1e8) this.text(String(value));
    else {
      const high = Math.floor(value / 1e8);
      this.integer(high);
      this.#eightDigits(value - high * 1e8);
    }
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
    const day = Math.floor(seconds / DAY_SECONDS);
    const second = seconds - day * DAY_SECONDS;
    const minute = Math.floor(second / 60);
    const hour = Math.floor(minute / 60);
    this.ascii(dateAsciiOf(day));
    const view = this.#reserve(TIME_BYTES);
    const at = this.#at;
    view.setUint8(at, 0x54); // T
    putTwoDigits(view, at + 1, hour);
    view.setUint8(at + 3, 0x3a); // :
    putTwoDigits(view, at + 4, minute - hour * 60);
    view.setUint8(at + 6, 0x3a);
    putTwoDigits(view, at + 7, second - minute * 60);
    view.setUint8(at + 9, 0x2e); // .
    const tens = Math.floor(millis / 10);
    putTwoDigits(view, at + 10, tens);
    view.setUint8(at + 12, DIGIT + millis - 10 * tens);
    view.setUint8(at + 13, 0x5a); // Z
    this.#at = at + TIME_BYTES;
  }

  /** What goes between the quotation marks of a string that is held as UTF-8, its length before it. */
  stringOf(from: DataView, start: number, end: number): number {
    if (start >= end) return ELSE;
    let at = start;
    let length = from.getUint8(at++);
    if (length > 0x7f) {
      const second = at < end ? from.getUint8(at++) : 0xff;
      if (second > 0x7f) return ELSE;
      length = (length & 0x7f) | (second << 7);
    }
    const stop = at + length;
    if (stop > end) return ELSE;
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
      if (byte === QUOTE || byte === BACKSLASH) view.setUint8(to++, BACKSLASH);
      view.setUint8(to++, byte);
    }
    this.#at = to;
    return at;
  }

  #otherString(from: DataView, start: number, end: number): number {
    const text = Buffer.from(from.buffer, from.byteOffset + start, end - start).toString();
    if (text.includes("\ufffd")) return ELSE;
    this.string(text);
    return end;
  }

  /** One of some texts, by its index. */
  choiceOf(from: DataView, at: number, end: number, texts: readonly (Ascii | undefined)[]): number {
    if (at >= end) return ELSE;
    const text = texts[from.getUint8(at)]; // the second byte of a longer number is no tag
    if (text === undefined) return ELSE;
    this.ascii(text);
    return at + 1;
  }

  /** An integer, which is not negative. */
  integerOf(from: DataView, start: number, end: number, max: number): number {
    const at = readInteger(from, start, end);
    if (at === ELSE || integer > max) return ELSE;
    this.integer(integer);
    return at;
  }

  /** A google.protobuf.Timestamp, its length before it. */
  timestampOf(from: DataView, start: number, end: number): number {
    if (start >= end) return ELSE;
    const stop = start + 1 + from.getUint8(start);
    if (stop > end) return ELSE;
    let at = start + 1;
    let seconds = 0;
    let nanos = 0;
    if (at < stop && from.getUint8(at) === 0x08) {
      at = readInteger(from, at + 1, stop);
      if (at === ELSE) return ELSE;
      seconds = integer;
    }
    if (at < stop && from.getUint8(at) === 0x10) {
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
function readInteger(from: DataView, start: number, end: number): number {
  integer = 0;
  for (let at = start, unit = 1; at < end && unit < 2 ** 49; unit *= 2 ** 7) {
    const byte = from.getUint8(at++);
    integer += (byte & 0x7f) * unit;
    if (byte < 0x80) return at;
  }
  return ELSE;
}

/**
 * Whether among four bytes one is a control character, a quotation mark, a backslash or no ASCII; perhaps where none is. A byte's highest bit is set
 * by taking away more than it is; what is borrowed from the bytes above can only set more.
 */
function mayNeedEscape(word: number): boolean {
  const quotes = (word ^ 0x22222222) - 0x01010101;
  const backslashes = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (((word - 0x20202020) | word | quotes | backslashes) & 0x80808080) !== 0;
}

function putTwoDigits(view: DataView, at: number, n: number): void {
  const tens = Math.floor(n / 10);
  view.setUint8(at, DIGIT + tens);
  view.setUint8(at + 1, DIGIT + n - 10 * tens);
}

function putFourDigits(view: DataView, at: number, n: number): void {
  const hundreds = Math.floor(n / 100);
  putTwoDigits(view, at, hundreds);
  putTwoDigits(view, at + 2, n - 100 * hundreds);
}
