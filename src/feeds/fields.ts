/**
 * Reading records that nobody has checked, field by field. What is not as it must be is refused with its place in the record:
 * `advisories[3].events[0].timestamp: is not an RFC 3339 time`. A field that is absent or null has no value; text is well-formed and without
 * NUL; everything has a greatest length. Fields that nobody asked for are counted: a reader that does not know what a publisher writes must say so.
 */

/** Receives each member that a reader does not know, by its path without places: `advisories[].events[].data.severity`. */
export type Unread = (member: string) => void;

/** Why a record, or a whole file, is not taken. */
export class FeedRefusal extends Error {
  override readonly name = "FeedRefusal";
}

/** How much a list may hold. */
export interface ListLimits {
  readonly maxItems: number;
  /** UTF-16 units in each text. */
  readonly maxLength: number;
}

/** Longest text of a field that says nothing else, in UTF-16 units. */
const defaultMaxLength = 255;

/** The fields of one object of a record. Errors of every read: FeedRefusal. */
export class Fields {
  /** Where the object is in its record: `advisories[3]`; "" is the record itself. */
  readonly path: string;
  readonly #values: Readonly<Record<string, unknown>>;
  /** {@link path} without places, and with `*` for the names of a map. */
  readonly #kind: string;
  readonly #isMap: boolean;
  readonly #asked = new Set<string>();
  /** The objects read from it, by the name of their field: one that is read twice is the same. */
  readonly #read = new Map<string, readonly Fields[]>();

  constructor(value: unknown, path = "", { kind = path, isMap = false } = {}) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new FeedRefusal(at(path, "is not an object"));
    this.path = path;
    this.#values = value as Record<string, unknown>;
    this.#kind = kind;
    this.#isMap = isMap;
  }

  /** The names of the fields there are. */
  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  /** Asking whether a field is there does not count as reading it. */
  has(name: string): boolean {
    return this.#peek(name) !== undefined;
  }

  /** Text that must be there and not be empty. */
  text(name: string, maxLength = defaultMaxLength): string {
    const text = this.optionalText(name, maxLength);
    if (text === "") throw this.refusal(name, "is empty");
    return text ?? this.#missing(name);
  }

  optionalText(name: string, maxLength = defaultMaxLength): string | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : readText(value, maxLength, this.#place(name));
  }

  /** A list of texts; empty where there is none. */
  texts(name: string, { maxItems, maxLength }: ListLimits): string[] {
    return this.#list(name, maxItems).map((value, i) => readText(value, maxLength, `${this.#place(name)}[${i}]`));
  }

  object(name: string): Fields {
    return this.optionalObject(name) ?? this.#missing(name);
  }

  optionalObject(name: string): Fields | undefined {
    return this.#child(name, false);
  }

  /** An object whose names are data: versions, file names. */
  map(name: string): Fields {
    return this.optionalMap(name) ?? this.#missing(name);
  }

  optionalMap(name: string): Fields | undefined {
    return this.#child(name, true);
  }

  /** A list of objects; empty where there is none. */
  objects(name: string, maxItems: number): Fields[] {
    const kind = this.#kindOfItems(name);
    const items = this.#list(name, maxItems).map(
      (value, i) => new Fields(value, `${this.#place(name)}[${i}]`, { kind }),
    );
    this.#read.set(name, items);
    return items;
  }

  /** An RFC 3339 time in the years 1 to 9999, or a Date that a parser made of one, in whole milliseconds since 1970. */
  timeMs(name: string): number {
    return this.optionalTimeMs(name) ?? this.#missing(name);
  }

  optionalTimeMs(name: string): number | undefined {
    const value = this.#get(name);
    const text = value instanceof Date ? textOfDate(value) : this.optionalText(name);
    if (text === undefined) return undefined;
    const timeMs = parseTime(text);
    if (timeMs === undefined)
      throw this.refusal(name, `${JSON.stringify(text)} is not an RFC 3339 time in the years 0001 to 9999`);
    return timeMs;
  }

  /** A whole number from 0 up. */
  optionalCount(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (!Number.isSafeInteger(value) || (value as number) < 0)
      throw this.refusal(name, "is not a whole number from 0 up");
    return value as number;
  }

  isFlag(name: string): boolean {
    return typeof this.#get(name) === "boolean";
  }

  isText(name: string): boolean {
    return typeof this.#get(name) === "string";
  }

  optionalFlag(name: string): boolean | undefined {
    const value = this.#get(name);
    if (value !== undefined && typeof value !== "boolean") throw this.refusal(name, "is not true or false");
    return value;
  }

  /**
   * Reports every field with a value that nobody asked for, of this object and of those read from it.
   * @param intended the members that are known and left unread on purpose; `versions.*` stands for every name of `versions`.
   */
  tellUnread(intended: ReadonlySet<string>, unread: Unread): void {
    for (const name of this.names) {
      if (this.#asked.has(name) || !this.has(name)) continue;
      const member = this.#kindOf(name);
      if (!intended.has(member) && !intended.has(join(this.#kind, "*"))) unread(member);
    }
    for (const children of this.#read.values()) for (const child of children) child.tellUnread(intended, unread);
  }

  /** What to throw about a field. */
  refusal(name: string, reason: string): FeedRefusal {
    return new FeedRefusal(at(this.#place(name), reason));
  }

  #get(name: string): unknown {
    this.#asked.add(name);
    return this.#peek(name);
  }

  #peek(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined;
  }

  #list(name: string, maxItems: number): readonly unknown[] {
    const value = this.#get(name) ?? [];
    if (!Array.isArray(value)) throw this.refusal(name, "is not a list");
    if (value.length > maxItems) throw this.refusal(name, `has ${value.length} items, more than ${maxItems}`);
    return value;
  }

  #child(name: string, isMap: boolean): Fields | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const known = this.#read.get(name)?.[0];
    if (known !== undefined) return known;
    const child = new Fields(value, this.#place(name), { kind: this.#kindOf(name), isMap });
    this.#read.set(name, [child]);
    return child;
  }

  #kindOf(name: string): string {
    return join(this.#kind, this.#isMap ? "*" : name);
  }

  /** A list in an item of a list of the same name is of the same kind: components have components. */
  #kindOfItems(name: string): string {
    const kind = `${this.#kindOf(name)}[]`;
    return this.#kind === `${name}[]` || this.#kind.endsWith(`.${name}[]`) ? this.#kind : kind;
  }

  #missing(name: string): never {
    throw this.refusal(name, "is missing");
  }

  #place(name: string): string {
    return join(this.path, name);
  }
}

function readText(value: unknown, maxLength: number, place: string): string {
  if (typeof value !== "string") throw new FeedRefusal(at(place, "is not text"));
  if (value.length > maxLength)
    throw new FeedRefusal(at(place, `has ${value.length} characters, more than ${maxLength}`));
  if (value.includes("\0") || !value.isWellFormed()) throw new FeedRefusal(at(place, "holds NUL or a lone surrogate"));
  return value;
}

const time = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const firstMs = Date.parse("0001-01-01T00:00:00Z");
const lastMs = Date.parse("9999-12-31T23:59:59.999Z");

function parseTime(text: string): number | undefined {
  const [, year, month, day, clock, fraction = "", zone = ""] = time.exec(text) ?? [];
  const date = `${year}-${month}-${day}`;
  const dayMs = Date.parse(`${date}T00:00:00Z`);
  // A day that its month does not have is taken for one of the next month.
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(date)) return undefined;
  const timeMs = Date.parse(`${date}T${clock}${fraction.slice(0, 4)}${zone.toUpperCase()}`);
  return timeMs >= firstMs && timeMs <= lastMs ? timeMs : undefined;
}

/** A Date that is none has no text that is a time. */
function textOfDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? "Invalid Date" : date.toISOString();
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function at(place: string, reason: string): string {
  return place === "" ? reason : `${place}: ${reason}`;
}
