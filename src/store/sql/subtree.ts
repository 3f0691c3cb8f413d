/**
 * Subtrees as key ranges. A uid is a path of printable ASCII characters above `/`, so everything below P sorts from
 * `P/` up to `P0` (`0` follows `/`), and P itself directly before. A subtree is therefore one range of keys, and two
 * subtrees are either disjoint or nested.
 */
import { ancestorsOf } from "../../uid.ts";

/** A uid and everything below it. */
export interface Subtree {
  /** A uid, or "" for all rows. */
  readonly root: string;
  /** Whether the root's own row is included. */
  readonly self: boolean;
}

/** Keys from `lo`, included, to `hi`, excluded. */
export interface Range {
  readonly lo: string;
  readonly hi: string;
}

/** The range of all keys. */
export const everything: Range = { lo: "", hi: "\x7f" };

/** Disjoint subtrees in key order, and their ranges. */
export interface Union {
  readonly roots: readonly Subtree[];
  readonly ranges: readonly Range[];
}

/** A cache: the same array often comes twice, for a page and for its total. */
const unions = new WeakMap<readonly Subtree[], Union | "everything">();

/** The union of subtrees; undefined when that is all rows. The array must not change afterwards. */
export function unionOf(subtrees: readonly Subtree[]): Union | undefined {
  let union = unions.get(subtrees);
  if (union === undefined) {
    const roots = reduce(subtrees);
    union = roots === undefined ? "everything" : { roots, ranges: roots.map(rangeOf) };
    unions.set(subtrees, union);
  }
  return union === "everything" ? undefined : union;
}

/** Drops subtrees that others cover. Linear for input in key order. Undefined when the union is all rows. */
function reduce(subtrees: readonly Subtree[]): readonly Subtree[] | undefined {
  const result: Subtree[] = [];
  let end = "";
  for (const subtree of inOrder(subtrees)) {
    if (subtree.root === "") return undefined;
    if (subtree.root >= end) {
      result.push(subtree);
      end = `${subtree.root}0`;
    } else if (subtree.self && subtree.root === result.at(-1)!.root) result[result.length - 1] = subtree;
  }
  return result;
}

function inOrder(subtrees: readonly Subtree[]): readonly Subtree[] {
  for (let i = 1; i < subtrees.length; i++) {
    if (subtrees[i - 1]!.root > subtrees[i]!.root) return subtrees.toSorted((a, b) => compareKeys(a.root, b.root));
  }
  return subtrees;
}

/** Compares keys by their bytes, which for ASCII is the order of characters. */
export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The range of a subtree. */
export function rangeOf({ root, self }: Subtree): Range {
  return root === "" ? everything : { lo: self ? root : `${root}/`, hi: `${root}0` };
}

/** The root of all rows in a range; undefined where they may have several. A cursor ends with `!`. */
export function rootOfRange({ lo, hi }: Range): string | undefined {
  const [root] = /^[^!/]*/.exec(lo)!;
  return root !== "" && hi <= `${root}0` ? root : undefined;
}

/** The parts of ranges in key order that follow `uid` in the direction of reading, in that direction. */
export function remaining(ranges: readonly Range[], uid: string | undefined, descending: boolean): readonly Range[] {
  if (uid === undefined) return descending ? ranges.toReversed() : ranges;
  if (descending) {
    return ranges
      .slice(
        0,
        firstWhere(ranges, (range) => range.lo >= uid),
      )
      .map((range) => (range.hi > uid ? { lo: range.lo, hi: uid } : range))
      .reverse();
  }
  const next = `${uid}!`; // above uid, and below every longer key that starts with it
  return ranges
    .slice(firstWhere(ranges, (range) => range.hi > next))
    .map((range) => (range.lo < next ? { lo: next, hi: range.hi } : range));
}

/** Whether `uid` is in one of disjoint ranges in key order. */
export function holds(ranges: readonly Range[], uid: string): boolean {
  const range = ranges[firstWhere(ranges, ({ hi }) => hi > uid)];
  return range !== undefined && range.lo <= uid;
}

/** The uids above `uid`, and first "", the root of all. */
export function ancestorsWithRoot(uid: string): string[] {
  return ["", ...ancestorsOf(uid)];
}

/** The index of the first range that passes `test`, which must pass all ranges after that (binary search). */
function firstWhere(ranges: readonly Range[], test: (range: Range) => boolean): number {
  let low = 0;
  for (let high = ranges.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (test(ranges[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
