/**
 * Pieces of keys whose bytewise order is the order of versions. Every piece ends where its own text says, so that pieces can follow one another
 * and a shorter version ends before a longer one goes on.
 */

/** Where a version stands among the others of its ecosystem. */
export interface VersionOrder {
  /** Bytewise, the keys of an ecosystem are in its order; two versions that it holds for equal have one key. */
  readonly key: string;
  /** Whether it is meant for everybody: neither a pre-release nor a snapshot. */
  readonly isStable: boolean;
}

/** A number of any size, by how many digits it has, then by the digits. */
export function numberKey(digits: string): string {
  const significant = digits.replace(/^0+(?=.)/, "");
  const { length } = significant;
  return (length < 26 ? String.fromCharCode(0x60 + length) : `z${String(length).padStart(5, "0")}`) + significant;
}

/** A word, which holds no control character, by its letters; one that begins like another but is longer comes later. */
export function wordKey(word: string): string {
  return `${word}\u0001`;
}
