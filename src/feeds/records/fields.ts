/**
 * Reads untrusted records field by field. An invalid field is refused with its path:
 * `advisories[3].events[0].timestamp: is not an RFC 3339 time`. A field that is absent or null has no value. Texts are
 * well-formed and without NUL. Everything has a maximum length. Fields that were not read can be reported, so that an
 * importer shows what it does not know.
 */
import { FeedRefusal } from "../source/refusal.ts";

/**
 * Receives members that a reader does not know, by their paths without indexes: `advisories[].events[].data.severity`.
 */
export type Unread = (member: string) => void;

/** Receives what is refused alone, by its path and the reason. */
export type Refuse = (path: string, reason: string) => void;

/** Limits of a list of texts. */
interface ListLimits {
  readonly maxItems: number;
  /** Length of each text in UTF-16 units. */
  readonly maxLength: number;
}

/** Default length limit of a text in UTF-16 units. */
const defaultMaxLength = 255;

/** The fields of one object of a record. Errors of all reads: FeedRefusal. */
export class Fields {
  /** Path of the object in its record: `advisories[3]`; "" for the record itself. */
  readonly path: string;
  readonly #values: Readonly<Record<string, unknown>>;
  /** {@link path} without indexes, and with `*` for the names of a map. */
  readonly #kind: string;
  readonly #isMap: boolean;
  readonly #readNames = new Set<string>();
  /** The objects read from this one, by field. Reading one again returns the same object. */
  readonly #children = new Map<string, readonly Fields[]>();

  constructor(value: unknown, path = "", { kind = path, isMap = false } = {}) {
    if (!hasMembers(value)) throw new FeedRefusal(at(path, "is not an object"));
    this.path = path;
    this.#values = value;
    this.#kind = kind;
    this.#isMap = isMap;
  }

  /** Names of the fields that are present. */
  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  /** Whether a field has a value. Does not count as reading it. */
  has(name: string): boolean {
    return this.#peek(name) !== undefined;
  }

  /** A required text that is not empty. */
  text(name: string, maxLength = defaultMaxLength): string {
    const text = this.optionalText(name, maxLength);
    if (text === "") throw this.refusal(name, "is empty");
    return text ?? this.#missing(name);
  }

  optionalText(name: string, maxLength = defaultMaxLength): string | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : readText(value, maxLength, this.#pathOf(name));
  }

  /** A list of texts; empty if absent. */
  texts(name: string, { maxItems, maxLength }: ListLimits): string[] {
    return this.#list(name, maxItems).map((value, i) => readText(value, maxLength, `${this.#pathOf(name)}[${i}]`));
  }

  object(name: string): Fields {
    return this.optionalObject(name) ?? this.#missing(name);
  }

  optionalObject(name: string): Fields | undefined {
    return this.#child(name, false);
  }

  /** An object whose member names are data, such as versions. */
  map(name: string): Fields {
    return this.optionalMap(name) ?? this.#missing(name);
  }

  optionalMap(name: string): Fields | undefined {
    return this.#child(name, true);
  }

  /** A list of objects; empty if absent. @param refuse takes items that are not objects, instead of an error. */
  objects(name: string, maxItems: number, refuse?: Refuse): Fields[] {
    const kind = this.#kindOfItems(name);
    const items = this.#list(name, maxItems).flatMap((value, i) => {
      const path = `${this.#pathOf(name)}[${i}]`;
      if (refuse === undefined || hasMembers(value)) return [new Fields(value, path, { kind })];
      refuse(path, "is not an object");
      return [];
    });
    this.#children.set(name, items);
    return items;
  }

  /** An RFC 3339 time in the years 1 to 9999, or a Date from a parser, in whole milliseconds since 1970. */
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

  /** A non-negative integer. */
  optionalCount(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (!Number.isSafeInteger(value) || (value as number) < 0)
      throw this.refusal(name, "is not a non-negative integer");
    return value as number;
  }

  optionalNumber(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "number" || !Number.isFinite(value)) throw this.refusal(name, "is not a number");
    return value;
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
   * Reports all fields with a value that were not read, of this object and of those read from it.
   * @param ignored members that are ignored on purpose; `versions.*` stands for every name of `versions`.
   */
  reportUnread(ignored: ReadonlySet<string>, unread: Unread): void {
    for (const name of this.names) {
      if (this.#readNames.has(name) || !this.has(name)) continue;
      const member = this.#kindOf(name);
      if (!ignored.has(member) && !ignored.has(join(this.#kind, "*"))) unread(member);
    }
    for (const children of this.#children.values()) for (const child of children) child.reportUnread(ignored, unread);
  }

  /** The error to throw for a field. */
  refusal(name: string, reason: string): FeedRefusal {
    return new FeedRefusal(at(this.#pathOf(name), reason));
  }

  #get(name: string): unknown {
    this.#readNames.add(name);
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
    const existing = this.#children.get(name)?.[0];
    if (existing !== undefined) return existing;
    const child = new Fields(value, this.#pathOf(name), { kind: this.#kindOf(name), isMap });
    this.#children.set(name, [child]);
    return child;
  }

  #kindOf(name: string): string {
    return join(this.#kind, this.#isMap ? "*" : name);
  }

  /** Nested lists of the same name have the same kind, as components of components do. */
  #kindOfItems(name: string): string {
    const kind = `${this.#kindOf(name)}[]`;
    return this.#kind === `${name}[]` || this.#kind.endsWith(`.${name}[]`) ? this.#kind : kind;
  }

  #missing(name: string): never {
    throw this.refusal(name, "is missing");
  }

  #pathOf(name: string): string {
    return join(this.path, name);
  }
}

/** Whether a record is an object that has all of these members. */
export function hasMembers(record: unknown, ...names: readonly string[]): record is Readonly<Record<string, unknown>> {
  if (typeof record !== "object" || record === null || Array.isArray(record)) return false;
  return names.every((name) => Object.hasOwn(record, name));
}

/**
 * Members that a reader ignores on purpose, for {@link Fields.reportUnread}.
 * @param names separated by white space, by the paths of their objects.
 */
export function ignoredMembers(names: Readonly<Record<string, string>>): ReadonlySet<string> {
  const paths = Object.entries(names).flatMap(([path, list]) =>
    list
      .trim()
      .split(/\s+/)
      .map((name) => join(path, name)),
  );
  return new Set(paths);
}

function readText(value: unknown, maxLength: number, path: string): string {
  if (typeof value !== "string") throw new FeedRefusal(at(path, "is not text"));
  if (value.length > maxLength)
    throw new FeedRefusal(at(path, `has ${value.length} characters, more than ${maxLength}`));
  if (value.includes("\0") || !value.isWellFormed())
    throw new FeedRefusal(at(path, "contains NUL or a lone surrogate"));
  return value;
}

const time = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const firstMs = Date.parse("0001-01-01T00:00:00Z");
const lastMs = Date.parse("9999-12-31T23:59:59.999Z");

function parseTime(text: string): number | undefined {
  const [, year, month, day, clock, fraction = "", zone = ""] = time.exec(text) ?? [];
  const date = `${year}-${month}-${day}`;
  const dayMs = Date.parse(`${date}T00:00:00Z`);
  // Date.parse accepts February 30 as a day of March.
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(date)) return undefined;
  const timeMs = Date.parse(`${date}T${clock}${fraction.slice(0, 4)}${zone.toUpperCase()}`);
  return timeMs >= firstMs && timeMs <= lastMs ? timeMs : undefined;
}

/** An invalid Date has a text that is not a time. */
function textOfDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? "Invalid Date" : date.toISOString();
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function at(path: string, reason: string): string {
  return path === "" ? reason : `${path}: ${reason}`;
}
