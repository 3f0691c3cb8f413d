/**
 * Subtrees as key ranges. A uid is a path of printable ASCII above `/`, so all that lies below P sorts from `P/` up to `P0` (`0` follows
 * `/`), and P itself directly before: a subtree is one range of keys, and subtrees are disjoint or nested.
 */

/** A uid and what is below it. */
export interface Subtree {
  /** A uid, or "" for everything. */
  readonly root: string;
  /** Whether the root's own row is meant too. */
  readonly self: boolean;
}

/** Keys from `lo` up to, without, `hi`. */
export interface Range {
  readonly lo: string;
  readonly hi: string;
}

/** Every key. */
export const everything: Range = { lo: "", hi: "\x7f" };

/** A union of subtrees that are disjoint and in key order, and their ranges. */
export interface Union {
  readonly roots: readonly Subtree[];
  readonly ranges: readonly Range[];
}

/** What a caller's array was found to be: the same one often comes again, for the page and for its total. */
const unions = new WeakMap<readonly Subtree[], Union | "everything">();

/** The union of subtrees; undefined when it is everything. The array must not change afterwards. */
export function unionOf(subtrees: readonly Subtree[]): Union | undefined {
  let union = unions.get(subtrees);
  if (union === undefined) {
    const roots = reduce(subtrees);
    union = roots === undefined ? "everything" : { roots, ranges: roots.map(rangeOf) };
    unions.set(subtrees, union);
  }
  return union === "everything" ? undefined : union;
}

/** Drops what others cover; linear where the input is in key order already. Undefined when it is everything. */
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

/** Byte order of keys, which for ASCII is that of the characters. */
export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The keys of a subtree. */
export function rangeOf({ root, self }: Subtree): Range {
  return root === "" ? everything : { lo: self ? root : `${root}/`, hi: `${root}0` };
}

/** What is left of ranges in key order behind `uid` (in descending order: before it), in the order of reading. */
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
  const next = `${uid}!`; // below every key that begins with uid, above uid
  return ranges
    .slice(firstWhere(ranges, (range) => range.hi > next))
    .map((range) => (range.lo < next ? { lo: next, hi: range.hi } : range));
}

/** Whether one of disjoint ranges in key order holds `uid`. */
export function holds(ranges: readonly Range[], uid: string): boolean {
  const range = ranges[firstWhere(ranges, ({ hi }) => hi > uid)];
  return range !== undefined && range.lo <= uid;
}

/** The uid one level up; "" for a root. */
export function parentOf(uid: string): string {
  return uid.slice(0, Math.max(0, uid.lastIndexOf("/")));
}

/** Every uid above `uid`, "" first. */
export function ancestorsOf(uid: string): string[] {
  const ancestors = [""];
  for (let slash = uid.indexOf("/"); slash >= 0; slash = uid.indexOf("/", slash + 1))
    ancestors.push(uid.slice(0, slash));
  return ancestors;
}

/** The index of the first range that `test` holds for, where it holds for all behind it (binary search). */
function firstWhere(ranges: readonly Range[], test: (range: Range) => boolean): number {
  let low = 0;
  for (let high = ranges.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (test(ranges[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
