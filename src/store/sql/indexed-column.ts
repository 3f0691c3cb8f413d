/** Indexed columns: the types of their values, and how values are stored and read. */

/** A value that can be ordered. */
export type ScalarValue = string | number | null;

/** The value of an indexed column. Times are integer microseconds since 1970; null is "", 0 or the empty set. */
export type ColumnValue = ScalarValue | readonly string[];

/** The types of columns that can be compared and ordered. */
export type ScalarType = "text" | "integer";

/**
 * The types of content columns, which are searched through a content index and cannot be ordered: `texts` is a set of
 * strings, searched for members; `search` is one text, searched for substrings.
 */
export type ContentType = "texts" | "search";

/** The type of an indexed column. */
export type ColumnType = ScalarType | ContentType;

/** Whether a type is that of a content column. */
export function isContent(type: ColumnType): type is ContentType {
  return type === "texts" || type === "search";
}

/** Whether every database can store a value: text must have neither NUL nor lone surrogates. */
export function isStorable(value: ColumnValue): boolean {
  return typeof value !== "string" || (!value.includes("\0") && value.isWellFormed());
}

/** The stored form of a scalar. Throws for a value that cannot be stored or has another type. */
export function stored(type: ScalarType, value: ColumnValue): string | number {
  if (value === null) return type === "text" ? "" : 0;
  if (typeof value === "object" || (type === "text" ? typeof value !== "string" : !Number.isSafeInteger(value)))
    throw new TypeError(`${value} is not ${type}`);
  if (!isStorable(value)) throw new TypeError("text with NUL or a lone surrogate cannot be stored");
  return value;
}

/** Longer members of a set are refused, in characters: an index holds whole members. */
const maxMemberLength = 5000;

/**
 * The stored form of a value: a set becomes a JSON array without duplicates. Throws for a value that cannot be stored.
 */
export function storedColumn(type: ColumnType, value: ColumnValue): string | number {
  if (type !== "texts") return stored(type === "integer" ? "integer" : "text", value);
  if (value !== null && typeof value !== "object") throw new TypeError(`${value} is not texts`);
  return JSON.stringify([...new Set(value)].map(storedMember));
}

function storedMember(text: string): string | number {
  if (text.length > maxMemberLength)
    throw new TypeError(`a member of a set has more than ${maxMemberLength} characters`);
  return stored("text", text);
}

/** The value of an indexed column from its stored form. */
export function readColumn(type: ColumnType, column: unknown): ColumnValue {
  return type === "texts" ? (JSON.parse(column as string) as readonly string[]) : (column as string | number);
}
