/**
 * A map for a hundred entries at most that come and go by the thousand.
 *
 * V8's Map and Set cannot be that: a table that is given up for a larger, a smaller or a cleaner one keeps what was in it, and a link to the table
 * that takes its place, for iterators that are still on it. The table in use while a full collection runs becomes old. Once it is given up, only the
 * next full collection finds that it is garbage, and until then it keeps alive the whole chain of tables after it, hence every entry there has ever
 * been: all of them are copied twice, and become old themselves. Objects that hold what a call has made, kept so, cost a server under load more
 * time than most of what a call does.
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

  /** Puts the last entry in the place of the one that goes. */
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

  /** Visits the entries that there are now; they may be deleted meanwhile. */
  forEach(visit: (value: V, key: K) => void): void {
    const keys = [...this.#keys];
    const values = [...this.#values];
    for (const [i, key] of keys.entries()) visit(values[i]!, key);
  }
}

/** As {@link ShortMap}, of keys alone. */
export class ShortSet<K> extends ShortMap<K, K> {
  add(key: K): this {
    return this.set(key, key);
  }
}
