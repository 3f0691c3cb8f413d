/** How versions of a type are read and compared. */

/** An order of versions. `P` is a version that has been read, once for many comparisons. */
export interface Ordering<P> {
  /** Reads a version; undefined for a text that is not one. */
  parse(version: string): P | undefined;
  /** Negative if `a` is before `b`, 0 if they are equal, positive if it is after. */
  compare(a: P, b: P): number;
}
