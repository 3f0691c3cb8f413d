/**
 * The stored form of a row: all of it but its facets in one value, because a database makes one value much faster than many. Integers are
 * big-endian.
 *
 * | bytes | |
 * |---|---|
 * | 4 | the length of all this |
 * | 4 | version |
 * | 8 | create time in microseconds |
 * | 8 | update time in microseconds |
 * | 4 | the length of the uid |
 * | … | the uid, then the body |
 */
import type { Row } from "./row.ts";
import { parentOf } from "./subtree.ts";

const headBytes = 28;

/** Packs a row. */
export function pack({ uid, version, createTimeUs, updateTimeUs, body }: Omit<Row, "parent" | "facets">): Buffer {
  const length = headBytes + uid.length + body.length;
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

/** The row that is packed, without facets. */
export function unpack(packed: Buffer<ArrayBuffer>): Row {
  const { uid, version, createTimeUs, updateTimeUs, body } = new PackedRow(packed, viewOf(packed), 0);
  return { uid, parent: parentOf(uid), version, createTimeUs, updateTimeUs, body, facets: {} };
}

/**
 * A row that is packed among others, each of its values read when it is asked for. Its body is what a {@link DataView} of all of them has from `start` to
 * `end`. Not to be spread.
 */
export class PackedRow implements Row {
  readonly #packed: Buffer<ArrayBuffer>;
  readonly #head: number;
  readonly view: DataView<ArrayBuffer>;
  readonly start: number;
  readonly end: number;
  readonly facets = noFacets;

  constructor(packed: Buffer<ArrayBuffer>, view: DataView<ArrayBuffer>, head: number) {
    this.#packed = packed;
    this.#head = head;
    this.view = view;
    this.start = head + headBytes + view.getInt32(head + 24);
    this.end = head + view.getInt32(head);
  }

  /** Where the uid is; it ends where the body starts. */
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

const noFacets = Object.freeze({});

/** Rows packed one behind another. */
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

/** A column of bytes, as drivers give it. */
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
