/**
 * A map that forgets what has not been used for longest once it grows: every cache that an outsider can fill is one. Entries live in two halves;
 * when the newer one is full it becomes the older, and what nobody has asked for since goes. A hit in the newer half costs one look-up, where
 * strict order of use would cost two writes.
 */
export class RecentMap<K, V> {
  readonly #half: number;
  #newer = new Map<K, V>();
  #older = new Map<K, V>();

  /** @param maxSize entries at most; of those used last, half as many are surely there. */
  constructor(maxSize: number) {
    this.#half = Math.ceil(maxSize / 2);
  }

  get(key: K): V | undefined {
    const value = this.#newer.get(key);
    if (value !== undefined || this.#older.size === 0) return value;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: K, value: V): void {
    if (this.#newer.size >= this.#half && !this.#newer.has(key)) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  delete(key: K): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#newer.clear();
    this.#older.clear();
  }
}
