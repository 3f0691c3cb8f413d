/** Reading a table a portion at a time, each in a transaction of its own. */
import type { ReadSession, Row, Selection, TableSpec } from "../../store/index.ts";

/** A portion of rows. */
export interface NextRows {
  readonly rows: readonly Row[];
  /** Where the next portion begins; undefined after the last one. */
  readonly next: string | undefined;
}

/** The next rows of a selection, by uid, after the uid `after`; at most `limit`. */
export async function nextRows(
  session: ReadSession,
  table: TableSpec,
  { limit, ...selection }: Selection & { readonly limit: number },
  after: string | undefined,
): Promise<NextRows> {
  const rows = await session.list(table, { ...selection, ...(after !== undefined && { after: [after] }), limit });
  return { rows, next: rows.length < limit ? undefined : rows.at(-1)!.uid };
}
