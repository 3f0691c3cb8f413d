/**
 * HPACK, RFC 7541: reads the header blocks of one connection, and writes header blocks that need no table at the other end: fields are written
 * as literals, without Huffman coding.
 */
import { huffmanDecode } from "./hpack-huffman.ts";
import { staticTable } from "./hpack-static.ts";

/** Names and values in turn, as they came, in latin1. */
export type FieldList = readonly string[];

/** A header list. */
export interface HeaderList {
  readonly fields: FieldList;
  /** Whether it is larger than was allowed: then `fields` are its beginning, up to and with the field that was too much. */
  readonly isTooLarge: boolean;
  /** The size of `fields`, RFC 9113 section 6.5.2, and of the block: references make little of a block much of a list. */
  readonly listBytes: number;
  readonly blockBytes: number;
}

/** What a field has besides its name and value, RFC 7541 section 4.1. */
const fieldOverhead = 32;
/** SETTINGS_HEADER_TABLE_SIZE, as it is without being announced. */
const maxTableBytes = 4096;
/** Longer blocks are not remembered. */
const maxRememberedBytes = 4096;

/** A block that is no HPACK: the connection can go on no more (COMPRESSION_ERROR). */
export class HpackError extends Error {}

/** Reads header blocks, in the order in which they come on one connection. */
export class HeaderReader {
  readonly #maxListBytes: number;
  /** The dynamic table, oldest first: names and values in turn. */
  #table: string[] = [];
  #tableBytes = 0;
  #tableLimit = maxTableBytes;
  /** The last block that left the table as it was, and what it says: clients tend to send the same again. */
  #lastBlock: Buffer | undefined;
  #lastList: HeaderList | undefined;

  /** @param maxListBytes of one list, as RFC 9113 section 6.5.2 counts them. */
  constructor(maxListBytes: number) {
    this.#maxListBytes = maxListBytes;
  }

  /** The list of one whole block; the same object for the same list. Errors: {@link HpackError}. */
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
        if (isBegun) throw new HpackError("a table size after a field");
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
      if (bytes > this.#maxListBytes) continue; // what follows still counts for the table
      bytes += name.length + value.length + fieldOverhead;
      fields.push(name, value);
    }
    const list = {
      fields,
      isTooLarge: bytes > this.#maxListBytes,
      listBytes: bytes,
      blockBytes: block.length,
    };
    if (!isChanging && block.length <= maxRememberedBytes) {
      this.#lastBlock = Buffer.from(block);
      this.#lastList = list;
    }
    return list;
  }

  /** Forgets all but the table. */
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

  /** Takes out the oldest entries until the others have `maxBytes` at most. */
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

/** An integer with a prefix of `bits`, section 5.1. One of more than 28 bits is refused. */
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

/** What a block begins with: whatever the reader's table may hold, nothing is to be put in it. It has to be told so when it makes its table smaller. */
export const noTable = 0x20;

/** How many bytes {@link writeField} takes at most. */
export function maxFieldBytes(name: string, value: string): number {
  return name.length + value.length + 12;
}

/** Writes a field, of latin1, as a literal that nobody is to keep; gives where it ends. */
export function writeField(to: Buffer, at: number, name: string, value: string): number {
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
