/**
 * Rows that belong to a row of another table, and stay behind when it is removed: because they are too many for its
 * transaction, or because something went wrong. The tables are walked in the order of uids, a page at a time, again and
 * again.
 */
import type { Database, ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";

/** What the rows of a table belong to. */
export interface Belonging {
  readonly table: TableSpec;
  readonly owner: TableSpec;
  /** The uid of the owner; absent: it is the parent. undefined for a row that may be without one. */
  ownerOf?(row: Row): string | undefined;
  /** Called in the transaction with what it removes. */
  onRemoved?(session: WriteSession, rows: readonly Row[]): Promise<void>;
}

const pageSize = 100;
/** How many pages without an orphan are read in a row. */
const maxPages = 20;

/** Creates a task that looks at the next page of a table. It returns whether it should run again at once. */
export function removeOrphans(database: Database, belonging: Belonging): () => Promise<boolean> {
  const { table, onRemoved } = belonging;
  const ownerOf = belonging.ownerOf ?? (({ parent }: Row): string | undefined => parent);
  let after: string | undefined;
  let pages = 0;

  async function orphansOf(session: ReadSession, rows: readonly Row[]): Promise<readonly Row[]> {
    const owners = await session.getMany(belonging.owner, [...new Set(rows.flatMap((row) => ownerOf(row) ?? []))]);
    return rows.filter((row) => {
      const owner = ownerOf(row);
      return owner !== undefined && !owners.has(owner);
    });
  }

  async function remove(found: readonly Row[]): Promise<void> {
    await database.transact(async (session) => {
      const removed: Row[] = [];
      for (const { uid } of await orphansOf(session, found)) {
        const row = await session.remove(table, uid);
        if (row !== undefined) removed.push(row);
      }
      await onRemoved?.(session, removed);
    });
  }

  return async () => {
    const rows = await database.read.list(table, { limit: pageSize, ...(after !== undefined && { after: [after] }) });
    const orphans = await orphansOf(database.read, rows);
    if (orphans.length > 0) {
      await remove(orphans);
      pages = 0;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) {
      after = undefined;
      pages = 0;
      return false;
    }
    // The others below a parent that exists are passed over: `0` is the character after `/`.
    const isPassed = belonging.ownerOf === undefined && orphans.at(-1) !== last;
    after = isPassed ? `${last.parent}0` : last.uid;
    pages = (pages + 1) % maxPages;
    return pages !== 0;
  };
}
