/** Header fields of a call inside this process, in a Map: what `Headers` does for fields that are plain ASCII, at a tenth of its cost. */

/** Fields by lower-case name. Values are not checked: whoever sends them over a wire does that. */
export class PlainHeaders implements Headers {
  readonly #fields = new Map<string, string>();
  readonly #cookies: string[] = [];

  append(name: string, value: string): void {
    const key = name.toLowerCase();
    if (key === "set-cookie") this.#cookies.push(value);
    const earlier = this.#fields.get(key);
    this.#fields.set(key, earlier === undefined ? value : `${earlier}, ${value}`);
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  delete(name: string): void {
    const key = name.toLowerCase();
    if (key === "set-cookie") this.#cookies.length = 0;
    this.#fields.delete(key);
  }

  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  getSetCookie(): string[] {
    return [...this.#cookies];
  }

  forEach(visit: (value: string, name: string, parent: Headers) => void): void {
    for (const [name, value] of this) visit(value, name, this);
  }

  *entries(): Generator<[string, string]> {
    for (const [name, value] of this.#fields) {
      if (name !== "set-cookie") yield [name, value];
      else for (const cookie of this.#cookies) yield [name, cookie];
    }
  }

  *keys(): Generator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): Generator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): Generator<[string, string]> {
    return this.entries();
  }
}
