/** Suggestions for mistyped names. */

/** `; did you mean listen?`: the known name that `name` probably meant; "" where none is near. */
export function suggestion(name: string, known: Iterable<string>): string {
  const [nearest] = [...known]
    .map((other) => ({ other, distance: name.startsWith(`${other}_`) ? 1 : editDistance(name, other) }))
    .filter(({ distance }) => distance <= 3)
    .sort((a, b) => a.distance - b.distance);
  return nearest === undefined ? "" : `; did you mean ${nearest.other}?`;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
