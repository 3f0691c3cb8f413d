/** Reading every row of a selection that may be large: some at a time, so that memory stays bounded. */
import type { ReadSession, Row, Selection, TableSpec } from "../../store/index.ts";

/** Rows read at a time. */
const portion = 1000;

/** The rows of a selection by uid, in portions. */
export async function* portionsOf(
  session: ReadSession,
  table: TableSpec,
  selection: Selection,
): AsyncGenerator<readonly Row[]> {
  for (let after: string | undefined = ""; after !== undefined; ) {
    const rows: Row[] = await session.list(table, {
      ...selection,
      orderBy: [],
      after: [after],
      skip: 0,
      limit: portion,
    });
    yield rows;
    after = rows.length < portion ? undefined : rows.at(-1)!.uid;
  }
}
