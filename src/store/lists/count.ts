/** Totals: read from the counters, or counted in an index for selections with conditions or uids. */

import { type Awaitable, chain } from "../../awaitable.ts";
import { withDrivingIndex } from "./driving-index.ts";
import type { Selection } from "./query.ts";
import { countRows } from "./read.ts";
import type { Reading } from "./reading.ts";
import { resolve } from "./selection.ts";

/** The exact number of rows of a selection. */
export function count(reading: Reading, selection: Selection): Awaitable<number> {
  const selected = resolve(reading.table, selection);
  if (selected === undefined) return 0;
  const { uids, parent, roots, comparisons } = selected;
  if (uids !== undefined || comparisons.length > 0)
    return withDrivingIndex(reading, selected).then((found) => countRows(reading, found));
  if (parent !== undefined) return reading.total("children", [parent]);
  if (roots === undefined) return reading.total("below", [""]);
  const below = reading.total(
    "below",
    roots.map(({ root }) => root),
  );
  const selves = roots.filter(({ self }) => self).map(({ root }) => root);
  if (selves.length === 0) return below;
  return chain(below, async (rows) => rows + (await countRows(reading, { uids: selves, ...unconditional })));
}

/** Whether a selection has any row. Reading stops at the first one that is found. */
export async function exists(reading: Reading, selection: Selection): Promise<boolean> {
  const selected = resolve(reading.table, selection);
  return selected !== undefined && (await countRows(reading, await withDrivingIndex(reading, selected), 1)) > 0;
}

const unconditional = { comparisons: [], usableIndexes: [], values: {} };
