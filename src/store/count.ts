/** Totals: from the counters, except with conditions or uids, which are counted in an index. */
import { andThen, type Eventually } from "../eventually.ts";
import { withFinder } from "./finder.ts";
import { countRows, type Reading } from "./reading.ts";
import { resolve, type Selection } from "./selection.ts";

/** How many rows a selection has, exactly. */
export function count(reading: Reading, selection: Selection): Eventually<number> {
  const selected = resolve(reading.table, selection);
  if (selected === undefined) return 0;
  const { uids, parent, roots, comparisons } = selected;
  if (uids !== undefined || comparisons.length > 0)
    return withFinder(reading, selected).then((found) => countRows(reading, found));
  if (parent !== undefined) return reading.total("children", [parent]);
  if (roots === undefined) return reading.total("below", [""]);
  const below = reading.total(
    "below",
    roots.map(({ root }) => root),
  );
  const selves = roots.filter(({ self }) => self).map(({ root }) => root);
  if (selves.length === 0) return below;
  return andThen(below, async (rows) => rows + (await countRows(reading, { uids: selves, ...unconditional })));
}

/** Whether a selection has a row. Reading stops at the first, whichever it is: those that share a value may be many. */
export async function exists(reading: Reading, selection: Selection): Promise<boolean> {
  const selected = resolve(reading.table, selection);
  return selected !== undefined && (await countRows(reading, await withFinder(reading, selected), 1)) > 0;
}

const unconditional = { comparisons: [], finders: [], values: {} };
