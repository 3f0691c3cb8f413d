/**
 * A map of limited size that evicts entries that were not used for long. Every cache that a client can fill is one.
 * Entries live in two halves: when the newer half is full, it becomes the older, and the previous older half is dropped
 * with what was not used since. A hit in the newer half costs one look-up, where strict LRU order would cost two
 * writes.
 */
export class LruMap<K, V> {
  readonly #half: number;
  #newer = new Map<K, V>();
  #older = new Map<K, V>();

  /** @param maxSize maximum number of entries; the half of it that was used last is always there. */
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
