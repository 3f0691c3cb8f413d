/**
 * A map for a hundred entries at most that come and go by the thousand.
 *
 * V8's Map and Set are not for that. A table that they give up, for a larger, a smaller or a cleaner one, keeps what was in it and a link to the one
 * that takes its place, for iterators still on it. The table in use during a full collection becomes old; given up, it is garbage that only the next
 * full collection finds. Until then it keeps the chain of all later tables, hence every entry there has been since: what calls have made is copied
 * twice, and becomes old itself. Under load that was most of what collections of young objects cost.
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
