/**
 * What finds the rows of a selection that looks into columns: the index of such a column, or the scope. An index that knows scopes finds no more
 * rows than there are; one that does not, or one of several, is asked how many rows it would find, and the one with the fewest is taken, unless
 * the scope has fewer. All else is then told from the rows.
 */
import { countFound, type Reading, readKeys } from "./reading.ts";
import type { Resolved } from "./selection.ts";
import { holds } from "./subtree.ts";

/** An index is not asked about more ranges than this. */
const maxRanges = 8;
/** Of so many rows the uids are read, to tell in which of many ranges they are. */
const maxUids = 20_000;

/** The selection with a finder, where one is worth it. One with many ranges is resolved to uids instead. */
export async function withFinder(reading: Reading, selected: Resolved): Promise<Resolved> {
  const { uids, parent, ranges = [], comparisons, finders, values } = selected;
  const [first, ...others] = finders;
  if (uids !== undefined || first === undefined) return selected;
  const hasMany = ranges.length > maxRanges;
  const asked = hasMany ? { comparisons, finders, values } : selected;
  const isEverything = parent === undefined && ranges.length === 0;
  if (others.length === 0 && !hasMany && (isEverything || reading.table.knowsScope(first)))
    return { ...selected, finder: first };
  let fewest = await scopeSize(reading, selected);
  if (hasMany) fewest = Math.min(fewest, maxUids);
  let finder: string | undefined;
  for (const column of finders) {
    const found = await countFound(reading, { ...asked, finder: column }, fewest + 1);
    if (found <= fewest) [finder, fewest] = [column, found];
  }
  if (finder === undefined) return selected;
  return hasMany ? inRanges(reading, { ...selected, finder }) : { ...selected, finder };
}

/** About how many rows are in the scope of a selection. */
async function scopeSize({ total }: Reading, { parent, roots }: Resolved): Promise<number> {
  if (parent !== undefined) return total("children", [parent]);
  return total("below", roots === undefined ? [""] : roots.map(({ root }) => root));
}

/** The selection by the uids of what the finder finds in its ranges. */
async function inRanges(reading: Reading, { ranges, ...everywhere }: Resolved): Promise<Resolved> {
  const { comparisons, finders, values } = everywhere;
  const page = { order: byUid, skip: 0, limit: maxUids, facets: [] };
  const keys = await readKeys(reading, everywhere, page, { source: "found", plan: "sort" });
  const uids = keys.map(([uid]) => uid as string).filter((uid) => holds(ranges!, uid));
  return { uids, comparisons, finders, values };
}

const byUid = { terms: [{ column: "uid", descending: false }], after: undefined };
