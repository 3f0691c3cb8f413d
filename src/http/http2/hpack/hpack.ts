/**
 * HPACK, RFC 7541. Decodes the header blocks of one connection. Encodes fields as literals without Huffman coding,
 * which need no table at the other end.
 */
import { huffmanDecode } from "./huffman.ts";
import { staticTable } from "./static-table.ts";

/** Names and values alternate, as received, in latin1. */
export type FieldList = readonly string[];

/** A header list. */
export interface HeaderList {
  readonly fields: FieldList;
  /** Whether it is larger than allowed. Then `fields` ends with the field that exceeded the limit. */
  readonly isTooLarge: boolean;
  /** The size of `fields`, RFC 9113 section 6.5.2, and of the block, which references make smaller. */
  readonly listBytes: number;
  readonly blockBytes: number;
}

/** The overhead of a field, RFC 7541 section 4.1. */
const fieldOverhead = 32;
/** SETTINGS_HEADER_TABLE_SIZE, the default. */
const maxTableBytes = 4096;
/** Longer blocks are not cached. */
const maxCachedBytes = 4096;

/** A malformed block, which ends the connection with COMPRESSION_ERROR. */
export class HpackError extends Error {}

/** Decodes the header blocks of one connection, in order. */
export class HeaderReader {
  readonly #maxListBytes: number;
  /** The dynamic table, oldest first: names and values alternate. */
  #table: string[] = [];
  #tableBytes = 0;
  #tableLimit = maxTableBytes;
  /** The last block that did not change the table, and its list: clients often repeat a block. */
  #lastBlock: Buffer | undefined;
  #lastList: HeaderList | undefined;

  /** @param maxListBytes the maximum size of a list, RFC 9113 section 6.5.2. */
  constructor(maxListBytes: number) {
    this.#maxListBytes = maxListBytes;
  }

  /** The list of a complete block. For a repeated block it is the same object. Errors: {@link HpackError}. */
  read(block: Buffer): HeaderList {
    if (this.#lastBlock?.equals(block)) return this.#lastList!;
    this.forget();
    const cursor = { block, at: 0 };
    const fields: string[] = [];
    let bytes = 0;
    let isChanging = false;
    let isBegun = false;
    while (cursor.at < block.length) {
      const first = block[cursor.at]!;
      if (first >= 0x20 && first < 0x40) {
        if (isBegun) throw new HpackError("a table size update after a field");
        this.#resize(readInteger(cursor, 5));
        isChanging = true;
        continue;
      }
      isBegun = true;
      let name: string;
      let value: string;
      if (first >= 0x80) {
        const index = readInteger(cursor, 7);
        name = this.#at(index, 0);
        value = this.#at(index, 1);
      } else {
        const isIndexed = first >= 0x40;
        const index = readInteger(cursor, isIndexed ? 6 : 4);
        name = index === 0 ? readString(cursor) : this.#at(index, 0);
        value = readString(cursor);
        if (isIndexed) {
          this.#add(name, value);
          isChanging = true;
        }
      }
      if (bytes > this.#maxListBytes) continue; // the rest may still change the table
      // Of a field that is too large alone, so much is kept that the list is too large with it, and no more.
      const left = this.#maxListBytes - bytes + 1;
      bytes += name.length + value.length + fieldOverhead;
      fields.push(name.slice(0, left), value.slice(0, left));
    }
    const list = { fields, isTooLarge: bytes > this.#maxListBytes, listBytes: bytes, blockBytes: block.length };
    if (!isChanging && block.length <= maxCachedBytes) {
      this.#lastBlock = Buffer.from(block);
      this.#lastList = list;
    }
    return list;
  }

  /** Drops the cached block. */
  forget(): void {
    this.#lastBlock = undefined;
    this.#lastList = undefined;
  }

  /** Name (`part` 0) or value (1) of an entry of the static or the dynamic table. */
  #at(index: number, part: 0 | 1): string {
    const entry =
      index <= staticTable.length / 2
        ? staticTable[(index - 1) * 2 + part]
        : this.#table[this.#table.length - (index - staticTable.length / 2) * 2 + part];
    if (entry === undefined) throw new HpackError(`no entry ${index}`);
    return entry;
  }

  #add(name: string, value: string): void {
    const size = name.length + value.length + fieldOverhead;
    this.#evict(this.#tableLimit - size);
    if (size > this.#tableLimit) return;
    this.#table.push(name, value);
    this.#tableBytes += size;
  }

  #resize(limit: number): void {
    if (limit > maxTableBytes) throw new HpackError("a table larger than was offered");
    this.#tableLimit = limit;
    this.#evict(limit);
  }

  /** Removes the oldest entries until the rest has at most `maxBytes`. */
  #evict(maxBytes: number): void {
    let count = 0;
    for (; this.#tableBytes > maxBytes && count < this.#table.length; count += 2)
      this.#tableBytes -= this.#table[count]!.length + this.#table[count + 1]!.length + fieldOverhead;
    if (count > 0) this.#table.splice(0, count);
  }
}

interface Cursor {
  readonly block: Buffer;
  at: number;
}

/** An integer with a prefix of `bits`, section 5.1. Errors: {@link HpackError} for more than 28 bits. */
function readInteger(cursor: Cursor, bits: number): number {
  const { block } = cursor;
  const mask = (1 << bits) - 1;
  let value = block[cursor.at++]! & mask;
  if (value < mask) return value;
  for (let shift = 0; shift <= 21; shift += 7) {
    const byte = block[cursor.at++];
    if (byte === undefined) throw new HpackError("an integer cut off");
    value += (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw new HpackError("an integer too large");
}

/** A string literal, section 5.2. */
function readString(cursor: Cursor): string {
  const { block } = cursor;
  if (cursor.at >= block.length) throw new HpackError("a string cut off");
  const isHuffman = block[cursor.at]! >= 0x80;
  const length = readInteger(cursor, 7);
  const start = cursor.at;
  cursor.at += length;
  if (cursor.at > block.length) throw new HpackError("a string cut off");
  if (!isHuffman) return block.toString("latin1", start, cursor.at);
  const text = huffmanDecode(block, start, cursor.at);
  if (text === undefined) throw new HpackError("no Huffman code");
  return text;
}

/** The index of the first entry of the static table with a name. */
const staticIndexes = new Map<string, number>();
for (let at = staticTable.length - 2; at >= 0; at -= 2) staticIndexes.set(staticTable[at]!, at / 2 + 1);

/** A table size update to 0, the first byte of every block. The peer requires one after it has reduced its table. */
export const noTable = 0x20;

/** The maximum number of bytes that {@link writeField} writes. */
export function maxFieldBytes(name: string, value: string): number {
  return name.length + value.length + 12;
}

/** The last values of fields that most responses repeat, with what is written for them. */
const repeated = new Map(
  [":status", "date", "content-type", "cache-control", "vary", "grpc-status"].map((name) => [
    name,
    { value: "", bytes: Buffer.alloc(0) },
  ]),
);
const maxRepeatedChars = 100;

/** Writes a field, in latin1, as a literal without indexing. Returns the end. */
export function writeField(to: Buffer, at: number, name: string, value: string): number {
  const last = repeated.get(name);
  if (last === undefined || value.length > maxRepeatedChars) return writeLiteral(to, at, name, value);
  if (last.value !== value || value === "") {
    const end = writeLiteral(to, at, name, value);
    last.value = value;
    last.bytes = Buffer.from(to.subarray(at, end));
    return end;
  }
  to.set(last.bytes, at);
  return at + last.bytes.length;
}

function writeLiteral(to: Buffer, at: number, name: string, value: string): number {
  const index = staticIndexes.get(name) ?? 0;
  let end = writeInteger(to, at, 4, index);
  if (index === 0) end = writeString(to, end, name);
  return writeString(to, end, value);
}

function writeString(to: Buffer, at: number, text: string): number {
  const start = writeInteger(to, at, 7, text.length);
  return start + to.write(text, start, "latin1");
}

function writeInteger(to: Buffer, at: number, bits: number, value: number): number {
  const mask = (1 << bits) - 1;
  if (value < mask) {
    to[at] = value;
    return at + 1;
  }
  to[at] = mask;
  let end = at + 1;
  let left = value - mask;
  for (; left >= 0x80; left >>>= 7) to[end++] = (left & 0x7f) | 0x80;
  to[end++] = left;
  return end;
}
