/**
 * The stored form of a row: everything but its indexed columns in one value, because drivers read one value much faster
 * than many. Integers are big-endian.
 *
 * | bytes | |
 * |---|---|
 * | 4 | total length |
 * | 4 | version |
 * | 8 | create time in microseconds |
 * | 8 | update time in microseconds |
 * | 4 | length of the uid |
 * | … | uid, then body |
 */

import { parentOf } from "../../uid.ts";
import type { Row } from "./record.ts";

const headBytes = 28;

/** The bytes that a row has when it is packed. */
export function packedBytes({ uid, body }: Pick<Row, "uid" | "body">): number {
  return headBytes + uid.length + body.length;
}

/** Packs a row. */
export function pack(row: Omit<Row, "parent" | "columns">): Buffer {
  const { uid, version, createTimeUs, updateTimeUs, body } = row;
  const length = packedBytes(row);
  const packed = Buffer.allocUnsafe(length);
  packed.writeUInt32BE(length, 0);
  packed.writeUInt32BE(version, 4);
  writeInteger(packed, createTimeUs, 8);
  writeInteger(packed, updateTimeUs, 16);
  packed.writeUInt32BE(uid.length, 24);
  packed.write(uid, headBytes, "latin1");
  packed.set(body, headBytes + uid.length);
  return packed;
}

/** Unpacks a row; `columns` is empty. */
export function unpack(packed: Buffer<ArrayBuffer>): Row {
  const start = headBytes + packed.readInt32BE(24);
  const uid = packed.toString("latin1", headBytes, start);
  return {
    uid,
    parent: parentOf(uid),
    version: packed.readUInt32BE(4),
    createTimeUs: packed.readInt32BE(8) * 2 ** 32 + packed.readUInt32BE(12),
    updateTimeUs: packed.readInt32BE(16) * 2 ** 32 + packed.readUInt32BE(20),
    body: new Uint8Array(packed.buffer, packed.byteOffset + start, packed.readInt32BE(0) - start),
    columns: {},
  };
}

/**
 * A packed row in a buffer of many. Its fields are getters that read the buffer, so it must not be spread. Its body is
 * what `view` has from `start` to `end`.
 */
export class PackedRow implements Row {
  readonly #packed: Buffer<ArrayBuffer>;
  readonly #head: number;
  readonly view: DataView<ArrayBuffer>;
  readonly start: number;
  readonly end: number;
  readonly columns = noColumns;

  constructor(packed: Buffer<ArrayBuffer>, view: DataView<ArrayBuffer>, head: number) {
    this.#packed = packed;
    this.#head = head;
    this.view = view;
    this.start = head + headBytes + view.getInt32(head + 24);
    this.end = head + view.getInt32(head);
  }

  /** The offset of the uid. It ends where the body starts. */
  get uidStart(): number {
    return this.#head + headBytes;
  }

  get uid(): string {
    return this.#packed.toString("latin1", this.uidStart, this.start);
  }

  get parent(): string {
    return parentOf(this.uid);
  }

  get version(): number {
    return this.view.getUint32(this.#head + 4);
  }

  get createTimeUs(): number {
    return readInteger(this.view, this.#head + 8);
  }

  get updateTimeUs(): number {
    return readInteger(this.view, this.#head + 16);
  }

  get body(): Uint8Array {
    return new Uint8Array(this.view.buffer, this.view.byteOffset + this.start, this.end - this.start);
  }
}

const noColumns = Object.freeze({});

/** The rows of a buffer that holds packed rows one after another. */
export function unpackAll(packed: Buffer<ArrayBuffer>): PackedRow[] {
  const rows: PackedRow[] = [];
  const view = viewOf(packed);
  for (let head = 0; head < packed.length; ) {
    const row = new PackedRow(packed, view, head);
    rows.push(row);
    head = row.end;
  }
  return rows;
}

/** A column of bytes, as the drivers return it, without copying. */
export function bytesOf(column: unknown): Buffer<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = column as Uint8Array<ArrayBuffer>;
  return Buffer.from(buffer, byteOffset, byteLength);
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer<ArrayBuffer>): DataView<ArrayBuffer> {
  return new DataView(buffer, byteOffset, byteLength);
}

function writeInteger(packed: Buffer, value: number, offset: number): void {
  const high = Math.floor(value / 2 ** 32);
  packed.writeInt32BE(high, offset);
  packed.writeUInt32BE(value - high * 2 ** 32, offset + 4);
}

function readInteger(view: DataView, offset: number): number {
  return view.getInt32(offset) * 2 ** 32 + view.getUint32(offset + 4);
}
