/** Totals: from the counters, except with conditions or uids, which are counted in an index. */
import { withFinder } from "./finder.ts";
import { countRows, type Reading } from "./reading.ts";
import { resolve, type Selection } from "./selection.ts";

/** How many rows a selection has, exactly. */
export async function count(reading: Reading, selection: Selection): Promise<number> {
  const selected = resolve(reading.table, selection);
  if (selected === undefined) return 0;
  const { uids, parent, roots, comparisons } = selected;
  if (uids !== undefined || comparisons.length > 0) return countRows(reading, await withFinder(reading, selected));
  if (parent !== undefined) return reading.total("children", [parent]);
  if (roots === undefined) return reading.total("below", [""]);
  const below = await reading.total(
    "below",
    roots.map(({ root }) => root),
  );
  const selves = roots.filter(({ self }) => self).map(({ root }) => root);
  if (selves.length === 0) return below;
  return below + (await countRows(reading, { uids: selves, comparisons: [], finders: [], values: {} }));
}
