/** Removing what a feed no longer has, a portion at a time. */
import type { Row, Selection, WriteSession } from "../store/index.ts";
import type { Resource } from "./declaration.ts";

/** What one portion came to. */
export interface Pruned {
  readonly removed: number;
  /** Where the next portion begins; undefined when every row was looked at. */
  readonly next: string | undefined;
}

/** Rows looked at in one transaction. */
const portion = 200;

/** Looks at the next rows of a selection, by uid, and removes those that are not to be kept. */
export async function pruneResource(
  { table }: Resource,
  session: WriteSession,
  selection: Selection,
  isKept: (row: Row) => boolean,
  after?: string,
): Promise<Pruned> {
  const rows = await session.list(table, {
    ...selection,
    orderBy: [{ column: "uid", descending: false }],
    ...(after !== undefined && { after: [after] }),
    skip: 0,
    limit: portion,
  });
  const gone = rows.filter((row) => !isKept(row));
  for (const { uid } of gone) await session.remove(table, uid);
  return { removed: gone.length, next: rows.length < portion ? undefined : rows.at(-1)!.uid };
}
