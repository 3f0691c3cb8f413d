/**
 * Estimates what a statement costs before it runs. One that may read many rows runs as a long query, beside the event
 * loop. Everything else runs at once, because a change of threads costs more than reading a page.
 */
import { type Awaitable, chain } from "../../awaitable.ts";
import type { SqlConnection } from "../sql/statement.ts";
import type { Page, Reading } from "./reading.ts";
import type { Resolved } from "./selection.ts";
import type { Shape } from "./statements.ts";

/** The counters of at most this many roots are summed. */
const fewRoots = 16;

/** The connection for a statement of this shape. */
export function connectionFor(
  reading: Reading,
  selected: Resolved,
  page: Page,
  shape: Pick<Shape, "read" | "source" | "plan">,
): Awaitable<SqlConnection> {
  const { connection, longQueries } = reading;
  if (longQueries === undefined || readsFew(longQueries.fewRows, selected, page, shape)) return connection;
  return chain(maxRows(reading, selected), (rows) => (rows <= longQueries.fewRows ? connection : longQueries));
}

/** Whether a statement reads at most `fewRows` rows and ranges, however many the table has. */
function readsFew(
  fewRows: number,
  { comparisons, drivingIndex, uids, ranges = [], parent }: Resolved,
  { order: { terms }, skip, limit }: Page,
  { read, source, plan }: Pick<Shape, "read" | "source" | "plan">,
): boolean {
  if (source === "uids") return uids!.length <= fewRows;
  if (drivingIndex !== undefined || comparisons.length > 0 || skip > fewRows) return false;
  if (read === "count" || ranges.length > fewRows) return false;
  if (read === "limitedCount") return limit <= fewRows;
  if (plan === "sort" || (plan === "walk" && (source !== "table" || parent !== undefined))) return false;
  // An index serves the first column and the uid. Rows that are equal in the first of three columns are sorted.
  return terms.length <= 2 && (terms.length < 2 || terms[1]!.column === "uid");
}

/** No fewer rows than a statement can read: those in its scope, or of the table. */
function maxRows({ total }: Reading, { parent, roots }: Resolved): Awaitable<number> {
  if (parent !== undefined) return total("children", [parent]);
  if (roots === undefined || roots.length > fewRoots) return total("below", [""]);
  const below = total(
    "below",
    roots.map(({ root }) => root),
  );
  return chain(below, (rows) => rows + roots.length);
}
