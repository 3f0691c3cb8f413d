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

/** The row that is packed at a place, without facets. */
export function unpack(packed: Buffer, start = 0): Row {
  const uidStart = start + headBytes;
  const bodyStart = uidStart + packed.readUInt32BE(start + 24);
  const bodyBytes = start + packed.readUInt32BE(start) - bodyStart;
  const uid = packed.toString("latin1", uidStart, bodyStart);
  return {
    uid,
    parent: parentOf(uid),
    version: packed.readUInt32BE(start + 4),
    createTimeUs: readInteger(packed, start + 8),
    updateTimeUs: readInteger(packed, start + 16),
    body: new Uint8Array(packed.buffer, packed.byteOffset + bodyStart, bodyBytes),
    facets: {},
  };
}

/** Rows packed one behind another. */
export function unpackAll(packed: Buffer): Row[] {
  const rows: Row[] = [];
  for (let start = 0; start < packed.length; start += packed.readUInt32BE(start)) rows.push(unpack(packed, start));
  return rows;
}

/** A column of bytes, as drivers give it. */
export function bytesOf(column: unknown): Buffer {
  const { buffer, byteOffset, byteLength } = column as Uint8Array<ArrayBuffer>;
  return Buffer.from(buffer, byteOffset, byteLength);
}

function writeInteger(packed: Buffer, value: number, offset: number): void {
  const high = Math.floor(value / 2 ** 32);
  packed.writeInt32BE(high, offset);
  packed.writeUInt32BE(value - high * 2 ** 32, offset + 4);
}

function readInteger(packed: Buffer, offset: number): number {
  return packed.readInt32BE(offset) * 2 ** 32 + packed.readUInt32BE(offset + 4);
}
