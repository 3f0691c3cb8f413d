/** Compares two runs of digits as numbers of any size: negative, 0 or positive. */
export function compareDigits(x: string, y: string): number {
  const [a, b] = [x.replace(/^0+/, ""), y.replace(/^0+/, "")];
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
