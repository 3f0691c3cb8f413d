/** Removing rows that a feed no longer has, a portion at a time. */
import type { Row, Selection, WriteSession } from "../../store/index.ts";
import type { Resource } from "../declaration.ts";
import { type NextRows, nextRows } from "./next-rows.ts";

/** The result of one portion. */
export interface Pruned extends Pick<NextRows, "next"> {
  readonly removed: number;
}

/** The rows of one transaction. */
const portion = 200;

/** Checks the next rows of a selection, by uid, and removes those that are not to be kept. */
export async function pruneResource(
  { table }: Resource,
  session: WriteSession,
  selection: Selection,
  isKept: (row: Row) => boolean,
  after?: string,
): Promise<Pruned> {
  const { rows, next } = await nextRows(session, table, { ...selection, limit: portion }, after);
  const gone = rows.filter((row) => !isKept(row));
  for (const { uid } of gone) await session.remove(table, uid);
  return { removed: gone.length, next };
}
