/** Facets: what the columns derived from a body hold, how they are stored, and how they are read back. */

/** A value that has a place in an order. */
export type ScalarValue = string | number | null;

/** The value of a facet. Instants are integer microseconds since 1970; null is "", 0 or the empty set. */
export type FacetValue = ScalarValue | readonly string[];

/** Types that are compared and ordered. */
export type ScalarType = "text" | "integer";

/**
 * Types that are looked into, through an index, and give no order: `texts` is a set of strings, of which each is looked for whole; `search` is one
 * text, of which parts are looked for.
 */
export type ContentType = "texts" | "search";

/** What a facet's column holds. */
export type FacetType = ScalarType | ContentType;

/** Whether a type is looked into. */
export function isContent(type: FacetType): type is ContentType {
  return type === "texts" || type === "search";
}

/** Whether a value is one that every database holds alike: text has no NUL and no lone surrogate. */
export function isStorable(value: FacetValue): boolean {
  return typeof value !== "string" || (!value.includes("\0") && value.isWellFormed());
}

/** A scalar as its column stores it; one that cannot be stored, or is of another type, throws. */
export function stored(type: ScalarType, value: FacetValue): string | number {
  if (value === null) return type === "text" ? "" : 0;
  if (typeof value === "object" || (type === "text" ? typeof value !== "string" : !Number.isSafeInteger(value)))
    throw new TypeError(`${value} is not ${type}`);
  if (!isStorable(value)) throw new TypeError("text with NUL or a lone surrogate cannot be stored");
  return value;
}

/** Members of a set that are longer are refused: an index must hold them whole. */
const maxMemberLength = 5000;

/** A facet as its column stores it: a set as a JSON array that has each string once. One that cannot be stored throws. */
export function storedFacet(type: FacetType, value: FacetValue): string | number {
  if (type !== "texts") return stored(type === "integer" ? "integer" : "text", value);
  if (value !== null && typeof value !== "object") throw new TypeError(`${value} is not texts`);
  return JSON.stringify([...new Set(value)].map(storedMember));
}

function storedMember(text: string): string | number {
  if (text.length > maxMemberLength)
    throw new TypeError(`a member of a set has more than ${maxMemberLength} characters`);
  return stored("text", text);
}

/** A facet from what its column stores. */
export function readFacet(type: FacetType, column: unknown): FacetValue {
  return type === "texts" ? (JSON.parse(column as string) as readonly string[]) : (column as string | number);
}
