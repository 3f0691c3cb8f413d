/**
 * Selections of a small scope by a range of values, such as names that begin with a text. The index of the column may
 * have any number of rows of other scopes in that range, so the rows of the scope are compared instead.
 */
import { scopeSize } from "./driving-index.ts";
import type { Reading } from "./reading.ts";
import type { Resolved } from "./selection.ts";
import { isRange } from "./statements.ts";

/** A scope of n rows in a table of N is large enough for a walk of an index when n² ≥ walkFactor·N. */
export const walkFactor = 20;

/** The selection, by its scope if that is small and the index of a column could be walked instead. */
export async function byScopeIfSmall(reading: Reading, selected: Resolved): Promise<Resolved> {
  const { parent, roots, comparisons } = selected;
  if ((parent === undefined && roots === undefined) || !comparisons.some(({ operator }) => isRange(operator)))
    return selected;
  const size = await scopeSize(reading, selected);
  return size * size < walkFactor * (await reading.total("below", [""])) ? { ...selected, isByScope: true } : selected;
}
