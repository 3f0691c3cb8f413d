/**
 * A map for at most a hundred entries that are replaced often.
 *
 * V8's Map and Set cost too much here. When they replace their hash table, the old table keeps its entries and a link
 * to the new one, for iterators. A table that was in use during a full collection is in the old generation. Once
 * replaced, it is garbage that only the next full collection finds, and until then it keeps all later tables and their
 * entries alive. These are copied twice and become old themselves. Under load that was most of the cost of young
 * collections.
 */
export class ShortMap<K, V> {
  readonly #keys: K[] = [];
  readonly #values: V[] = [];

  get size(): number {
    return this.#keys.length;
  }

  get(key: K): V | undefined {
    const at = this.#keys.indexOf(key);
    return at < 0 ? undefined : this.#values[at];
  }

  set(key: K, value: V): this {
    const at = this.#keys.indexOf(key);
    if (at >= 0) this.#values[at] = value;
    else {
      this.#keys.push(key);
      this.#values.push(value);
    }
    return this;
  }

  /** Moves the last entry to the place of the deleted one. */
  delete(key: K): boolean {
    const at = this.#keys.indexOf(key);
    if (at < 0) return false;
    const lastKey = this.#keys.pop()!;
    const lastValue = this.#values.pop()!;
    if (at < this.#keys.length) {
      this.#keys[at] = lastKey;
      this.#values[at] = lastValue;
    }
    return true;
  }

  /** Visits the current entries, which may be deleted meanwhile. */
  forEach(visit: (value: V, key: K) => void): void {
    const keys = [...this.#keys];
    const values = [...this.#values];
    for (const [i, key] of keys.entries()) visit(values[i]!, key);
  }
}
