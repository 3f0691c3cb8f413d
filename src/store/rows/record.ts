/** A row as it is read. */
import type { ColumnValue } from "../sql/indexed-column.ts";

/** One stored resource. */
export interface Row {
  /** The path of ids from the root, as in `a/b/c`: printable ASCII characters above `/`. Never changes. */
  uid: string;
  /** The part of the uid before its last `/`; "" for a root. */
  parent: string;
  /** 1 for a new row, and one more with every update. */
  version: number;
  createTimeUs: number;
  updateTimeUs: number;
  /** The encoded message. All other values of the resource derive from it. */
  body: Uint8Array;
  /** The values of the indexed columns that were read. */
  columns: Record<string, ColumnValue>;
}
