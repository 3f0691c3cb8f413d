/** The roots of a selection, by which the rows of a distributed table are found. */
import { rootOf } from "../../uid.ts";
import { rootOfRange } from "../sql/subtree.ts";
import type { Resolved } from "./selection.ts";

/** The roots of all rows that a selection can have; undefined where any root may have some. */
export function rootsOf({ uids, ranges, parent }: Resolved): readonly string[] | undefined {
  if (uids !== undefined) return [...new Set(uids.map(rootOf))];
  if (ranges === undefined) return parent === undefined || parent === "" ? undefined : [rootOf(parent)];
  const roots = new Set<string>();
  for (const range of ranges) {
    const root = rootOfRange(range);
    if (root === undefined) return undefined;
    roots.add(root);
  }
  return [...roots];
}
