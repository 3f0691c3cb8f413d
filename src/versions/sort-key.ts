/**
 * Parts of sort keys. Every part marks its own end, so parts can be concatenated, and a version sorts before a longer
 * version that begins with it.
 */

/** The position of a version among the others of its scheme. */
export interface VersionOrder {
  /** Compares bytewise. Versions that the scheme considers equal have the same key. */
  readonly key: string;
  /** Neither a pre-release nor a snapshot. */
  readonly isStable: boolean;
}

/** The key of a number of any size: the count of its digits, then the digits. */
export function numberKey(digits: string): string {
  const significant = digits.replace(/^0+(?=.)/, "");
  const { length } = significant;
  return (length < 26 ? String.fromCharCode(0x60 + length) : `z${String(length).padStart(5, "0")}`) + significant;
}

/** The key of a word without control characters. A prefix of a word sorts before it. */
export function wordKey(word: string): string {
  return `${word}\u0001`;
}
