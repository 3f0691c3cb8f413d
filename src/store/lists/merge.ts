/** Merges sorted streams into one. `compare`: the order of all of them, as for `Array.sort`. */
export async function* merged<T>(
  streams: readonly AsyncGenerator<T>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  const heads = await Promise.all(streams.map(async (stream) => ({ stream, next: await stream.next() })));
  for (;;) {
    const open = heads.filter(({ next }) => next.done !== true);
    const [first] = open.sort((a, b) => compare(a.next.value as T, b.next.value as T));
    if (first === undefined) return;
    yield first.next.value as T;
    first.next = await first.stream.next();
  }
}
