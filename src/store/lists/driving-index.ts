/**
 * Chooses the driving index of a selection with conditions on content columns: the content index that finds its rows,
 * or none, when its scope does. A single index that knows scopes is always chosen. Otherwise each index is asked how
 * many rows it would find, and the one with the fewest is chosen, unless the scope has fewer, or its search texts are
 * read faster. The other conditions are checked on the rows.
 *
 * Without a driving index, the rows of a small scope are compared with ranges of values, such as names that begin with
 * a text: the index of the column may have any number of rows of other scopes in that range.
 */

import { holds } from "../sql/subtree.ts";
import { countFound, readKeys } from "./read.ts";
import type { Reading } from "./reading.ts";
import type { Resolved } from "./selection.ts";
import { isRange } from "./statements.ts";
import type { Table } from "./table.ts";

/** A content index is not queried with more ranges than this. */
const maxRanges = 8;
/** For more ranges, the uids of at most this many rows are read and compared with the ranges here. */
const maxUids = 20_000;
/** What it costs to read a search text through an index, where a row costs 1. */
const scanCost = 1 / 7;

/** A scope of n rows in a table of N is large enough for a walk of an index when n² ≥ walkFactor·N. */
export const walkFactor = 20;

/**
 * The selection with its driving index, if one is chosen. With many ranges, it is the selection by the uids that the
 * index finds.
 */
export async function withDrivingIndex(reading: Reading, selected: Resolved): Promise<Resolved> {
  const { uids, parent, ranges = [], comparisons, usableIndexes, values } = selected;
  const [first, ...others] = usableIndexes;
  if (uids !== undefined) return selected;
  if (first === undefined) return byScopeIfSmall(reading, selected);
  const hasMany = ranges.length > maxRanges;
  const counted = hasMany ? { comparisons, usableIndexes, values } : selected;
  const isScannable = canScan(reading.table, selected);
  const isEverything = parent === undefined && ranges.length === 0;
  const isBest = isEverything && (!isScannable || comparisons.every(({ operator }) => operator === "containsExact"));
  if (others.length === 0 && !hasMany && (isBest || reading.table.knowsScope(first)))
    return { ...selected, drivingIndex: first };
  let fewest = await scopeSize(reading, selected);
  if (isScannable) fewest = Math.ceil(fewest * scanCost);
  if (hasMany) fewest = Math.min(fewest, maxUids);
  let drivingIndex: string | undefined;
  for (const column of usableIndexes) {
    const found = await countFound(reading, { ...counted, drivingIndex: column }, fewest + 1);
    if (found <= fewest) [drivingIndex, fewest] = [column, found];
  }
  if (drivingIndex === undefined)
    return isScannable ? { ...selected, isScanned: true } : byScopeIfSmall(reading, selected);
  return hasMany ? inRanges(reading, { ...selected, drivingIndex }) : { ...selected, drivingIndex };
}

/** Whether the rows of a selection can be found by their search texts and their scope alone. */
export function canScan({ scansTexts, spec }: Table, { comparisons, usableIndexes: [first] }: Resolved): boolean {
  return scansTexts && spec.columns[first!] === "search" && comparisons.every(({ column }) => column === first);
}

/** The approximate number of rows in the scope of a selection. */
async function scopeSize({ total }: Reading, { parent, roots }: Resolved): Promise<number> {
  if (parent !== undefined) return total("children", [parent]);
  return total("below", roots === undefined ? [""] : roots.map(({ root }) => root));
}

/** The selection, by its scope alone if that is small and an index could be walked for a range of values. */
async function byScopeIfSmall(reading: Reading, selected: Resolved): Promise<Resolved> {
  const { parent, roots, comparisons } = selected;
  const hasScope = parent !== undefined || roots !== undefined;
  if (!hasScope || !comparisons.some(({ operator }) => isRange(operator))) return selected;
  const size = await scopeSize(reading, selected);
  return size * size < walkFactor * (await reading.total("below", [""])) ? { ...selected, isByScope: true } : selected;
}

/** The selection by the uids of the rows that the driving index finds in the ranges. */
async function inRanges(reading: Reading, { ranges, ...everywhere }: Resolved): Promise<Resolved> {
  const { comparisons, usableIndexes, values } = everywhere;
  const page = { order: byUid, skip: 0, limit: maxUids, columns: [] };
  const keys = await readKeys(reading, everywhere, page, "sort");
  const uids = keys.map(([uid]) => uid as string).filter((uid) => holds(ranges!, uid));
  return { uids, comparisons, usableIndexes, values };
}

const byUid = { terms: [{ column: "uid", descending: false }], after: undefined };
