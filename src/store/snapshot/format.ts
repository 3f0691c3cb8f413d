/**
 * The format of a snapshot: lines of JSON.
 *
 * | line | |
 * |---|---|
 * | the first | {@link SnapshotHeader} |
 * | of rows | `["table", [[value, …], …]]`, the values in the order of the table's columns, bytes in Base64 |
 * | after the rows of a table | {@link TableEnd} |
 * | the last | `{"end": true}` |
 *
 * Rows are in the order of their keys, so that equal tables have equal digests, whatever database they are in.
 */
import { createHash, type Hash } from "node:crypto";
import { RefusedError } from "../sql/errors.ts";
import type { SnapshotTable, SnapshotType } from "./tables.ts";

/** The first line. */
export interface SnapshotHeader {
  readonly format: "platform-snapshot";
  readonly version: 1;
  /** Unique. */
  readonly id: string;
  /** The names of the migrations of its database. */
  readonly schema: readonly string[];
  readonly tables: readonly SnapshotTable[];
}

/** The line of a table after its rows. */
export interface TableEnd {
  readonly table: string;
  readonly rows: number;
  /** Of its rows, each followed by a line feed. */
  readonly sha256: string;
}

/** How far an export or an import is. */
export interface SnapshotProgress {
  readonly table: string;
  /** Of this table so far. */
  readonly rows: number;
  /** Absent until the whole table is done. */
  readonly sha256?: string;
}

/** The digest of the rows of a table. */
export class TableDigest {
  readonly #hash: Hash = createHash("sha256");
  rows = 0;

  add(line: string): void {
    this.#hash.update(line).update("\n");
    this.rows++;
  }

  end(table: string): TableEnd {
    return { table, rows: this.rows, sha256: this.#hash.digest("hex") };
  }
}

/** A row of a table as a line of JSON. */
export function encodeRow(row: readonly unknown[]): string {
  return JSON.stringify(row.map((value) => (value instanceof Uint8Array ? base64(value) : value)));
}

function base64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

/** The values of a row of a snapshot, as the store writes them. */
export function decodeRow(row: readonly unknown[], types: readonly SnapshotType[]): unknown[] {
  return row.map((value, i) => (types[i] === "bytes" ? Buffer.from(value as string, "base64") : value));
}

/** Errors: RefusedError when a line is not a header that this program can read. */
export function parseHeader(line: string | undefined): SnapshotHeader {
  const header = (line?.startsWith("{") ? parseLine(line) : {}) as Partial<SnapshotHeader>;
  if (header.format !== "platform-snapshot") throw new RefusedError("the file is not a snapshot of this program");
  if (header.version !== 1) throw new RefusedError(`the snapshot has version ${header.version} of the format, not 1`);
  return header as SnapshotHeader;
}

/** Errors: RefusedError for a line that is not JSON: the file was changed, or cut off. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new RefusedError("the snapshot is damaged: it has a line that is not JSON");
  }
}
