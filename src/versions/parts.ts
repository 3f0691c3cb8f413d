/** Comparisons of parts of versions: negative if the first is less, 0 if both are equal, positive if it is greater. */

/** Longest version that is parsed. A longer text counts as not a version. */
export const maxVersionLength = 255;

/** Compares two runs of digits as numbers of any size. */
export function compareDigits(x: string, y: string): number {
  const [a, b] = [withoutZeros(x), withoutZeros(y)];
  return a.length - b.length || compareTexts(a, b);
}

function withoutZeros(digits: string): string {
  return digits.startsWith("0") ? digits.replace(/^0+/, "") : digits;
}

/** Compares texts by their characters. */
export function compareTexts(x: string, y: string): number {
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Compares lists part by part. A list is less than a longer one that begins with it. */
export function compareLists<T>(x: readonly T[], y: readonly T[], compare: (a: T, b: T) => number): number {
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const order = compare(x[i]!, y[i]!);
    if (order !== 0) return order;
  }
  return x.length - y.length;
}

/** Compares lists part by part, up to the end of the longer one, behind which a part is undefined. */
export function compareToEnd<T>(
  x: readonly T[],
  y: readonly T[],
  compare: (a: T | undefined, b: T | undefined) => number,
): number {
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const order = compare(x[i], y[i]);
    if (order !== 0) return order;
  }
  return 0;
}

/** Whether a part is a number. */
export function isDigits(part: string): boolean {
  return /^[0-9]+$/.test(part);
}
