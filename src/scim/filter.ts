/** Filters (RFC 7644, section 3.4.2.2), and the paths of PATCH (section 3.5.2), which hold filters. */
import { ScimError, type ScimType } from "./errors.ts";
import { limits } from "./limits.ts";
import { type Json, splitPath } from "./resource.ts";
import type { Attribute } from "./schemas.ts";

/** A filter. Paths are names separated by dots; the URN of a schema may come first. */
export type Filter =
  | { readonly kind: "and" | "or"; readonly left: Filter; readonly right: Filter }
  | { readonly kind: "not"; readonly of: Filter }
  | { readonly kind: "present"; readonly path: string }
  | {
      readonly kind: "compare";
      readonly path: string;
      readonly operator: Operator;
      readonly value: string | number | boolean | null;
    }
  /** Some value of the attribute meets the filter. */
  | { readonly kind: "value"; readonly path: string; readonly filter: Filter };

type Operator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";

/** A path of PATCH: `emails[type eq "work"].value`. */
export interface PatchPath {
  readonly attribute: string;
  readonly filter: Filter | undefined;
  readonly subAttribute: string | undefined;
}

const operators: ReadonlySet<string> = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
const literals: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** Errors: ScimError with `invalidFilter`. */
export function parseFilter(text: string): Filter {
  const parser = new Parser(text, "invalidFilter");
  const filter = parser.or();
  parser.end();
  return filter;
}

/** Errors: ScimError with `invalidPath`. */
export function parsePath(text: string): PatchPath {
  const parser = new Parser(text, "invalidPath");
  const path = parser.patchPath();
  parser.end();
  return path;
}

const token = /\s*(?:(\()|(\))|(\[)|(\])|("(?:[^"\\]|\\.)*")|([A-Za-z$][\w$:.-]*)|(-?\d+(?:\.\d+)?))/y;

class Parser {
  readonly #text: string;
  readonly #type: ScimType;
  #at = 0;
  #nodes = 0;

  constructor(text: string, type: ScimType) {
    const { filterBytes } = limits;
    if (Buffer.byteLength(text) > filterBytes) throw new ScimError(400, `longer than ${filterBytes} bytes`, type);
    this.#text = text;
    this.#type = type;
  }

  end(): void {
    if (this.#text.slice(this.#at).trim() !== "") this.#fail();
  }

  /** Its depth has no limit of its own: each level is a node. */
  or(): Filter {
    let left = this.#and();
    while (this.#word("or")) left = { kind: "or", left, right: this.#and() };
    return left;
  }

  #and(): Filter {
    let left = this.#term();
    while (this.#word("and")) left = { kind: "and", left, right: this.#term() };
    return left;
  }

  #term(): Filter {
    if (++this.#nodes > limits.filterNodes) this.#tooMany();
    if (this.#word("not")) {
      if (!this.#take("(")) this.#fail();
      return { kind: "not", of: this.#closed() };
    }
    if (this.#take("(")) return this.#closed();
    const path = this.#name();
    if (this.#take("[")) {
      const filter = this.or();
      if (!this.#take("]")) this.#fail();
      // `emails[type eq "work"].value eq "a"`, which Entra ID sends: both are about the same value.
      const sub = this.#subAttribute();
      return {
        kind: "value",
        path,
        filter: sub === undefined ? filter : { kind: "and", left: filter, right: this.#comparison(sub) },
      };
    }
    return this.#comparison(path);
  }

  #comparison(path: string): Filter {
    const operator = this.#name().toLowerCase();
    if (operator === "pr") return { kind: "present", path };
    if (!operators.has(operator)) this.#fail();
    return { kind: "compare", path, operator: operator as Operator, value: this.#value() };
  }

  #closed(): Filter {
    const filter = this.or();
    if (!this.#take(")")) this.#fail();
    return filter;
  }

  patchPath(): PatchPath {
    const name = this.#name();
    if (!this.#take("[")) return { ...splitPath(name), filter: undefined };
    const filter = this.or();
    if (!this.#take("]")) this.#fail();
    return { attribute: name, filter, subAttribute: this.#subAttribute() };
  }

  /** `.value`, right after the filter of a value. */
  #subAttribute(): string | undefined {
    const sub = /\.([A-Za-z$][\w$-]*)/y;
    sub.lastIndex = this.#at;
    const found = sub.exec(this.#text);
    if (found !== null) this.#at = sub.lastIndex;
    return found?.[1];
  }

  #next(): RegExpExecArray | undefined {
    token.lastIndex = this.#at;
    return token.exec(this.#text) ?? undefined;
  }

  #take(mark: string): boolean {
    const found = this.#next();
    if (found?.[0].trim() !== mark) return false;
    this.#at += found[0].length;
    return true;
  }

  #word(word: string): boolean {
    const found = this.#next();
    if (found?.[6]?.toLowerCase() !== word) return false;
    this.#at += found[0].length;
    return true;
  }

  #name(): string {
    const found = this.#next();
    if (found?.[6] === undefined) this.#fail();
    this.#at += found[0].length;
    return found[6];
  }

  #value(): string | number | boolean | null {
    const found = this.#next();
    if (found === undefined) this.#fail();
    this.#at += found[0].length;
    const [, , , , , quoted, word, number] = found;
    if (quoted !== undefined) {
      try {
        return JSON.parse(quoted) as string;
      } catch {
        this.#fail();
      }
    }
    if (number !== undefined) return Number(number);
    const literal = literals.get(word?.toLowerCase() ?? "");
    return literal === undefined ? this.#fail() : literal;
  }

  #tooMany(): never {
    throw new ScimError(400, `more than ${limits.filterNodes} comparisons`, this.#type);
  }

  #fail(): never {
    throw new ScimError(400, `malformed at ${JSON.stringify(this.#text.slice(this.#at, this.#at + 40))}`, this.#type);
  }
}

/** Finds the attribute with a path, and its values in a resource. */
export interface Lookup {
  attributeAt(path: string): Attribute | undefined;
  valuesAt(resource: Json, path: string): readonly unknown[];
}

/** Whether a resource meets a filter. An attribute that does not exist has no value. */
export function meets(resource: Json, filter: Filter, lookup: Lookup): boolean {
  switch (filter.kind) {
    case "and":
      return meets(resource, filter.left, lookup) && meets(resource, filter.right, lookup);
    case "or":
      return meets(resource, filter.left, lookup) || meets(resource, filter.right, lookup);
    case "not":
      return !meets(resource, filter.of, lookup);
    case "present":
      return lookup.valuesAt(resource, filter.path).length > 0;
    case "value":
      return lookup
        .valuesAt(resource, filter.path)
        .some(
          (value) =>
            typeof value === "object" &&
            value !== null &&
            meets(value as Json, filter.filter, within(filter.path, lookup)),
        );
    case "compare": {
      const { path, operator } = filter;
      const attribute = lookup.attributeAt(path);
      const isExact = attribute?.caseExact === true;
      const value = typed(attribute, filter.value);
      const values = lookup.valuesAt(resource, path).map(plain);
      if (value === null) return (operator === "eq") === (values.length === 0);
      if (operator === "ne") return !values.some((each) => compare(each, "eq", value, isExact));
      return values.some((each) => compare(each, operator, value, isExact));
    }
  }
}

/** The value of a comparison: Entra ID writes `primary eq "True"`. */
function typed(attribute: Attribute | undefined, value: string | number | boolean | null) {
  if (attribute?.type !== "boolean") return value;
  return value === "True" ? true : value === "False" ? false : value;
}

/** How many nodes a filter has: what it costs to check a value. */
export function nodesOf(filter: Filter): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return nodesOf(filter.left) + nodesOf(filter.right);
    case "not":
      return 1 + nodesOf(filter.of);
    case "value":
      return 1 + nodesOf(filter.filter);
    default:
      return 1;
  }
}

/** The lookup in a value of a complex attribute. */
export function within(path: string, lookup: Lookup): Lookup {
  return {
    attributeAt: (inner) => lookup.attributeAt(`${path}.${inner}`),
    valuesAt(value, inner) {
      const attribute = lookup.attributeAt(`${path}.${inner}`);
      const item = attribute && value[attribute.name];
      return item === undefined ? [] : [item];
    },
  };
}

/** A complex value stands for its `value`. */
function plain(value: unknown): unknown {
  return typeof value === "object" && value !== null && "value" in value ? value.value : value;
}

function compare(a: unknown, operator: Operator, b: string | number | boolean, isExact: boolean): boolean {
  if (typeof a !== typeof b) return false;
  if (typeof a !== "string" || typeof b !== "string") return operator === "eq" && a === b;
  const [left, right] = isExact ? [a, b] : [a.toLowerCase(), b.toLowerCase()];
  switch (operator) {
    case "eq":
      return left === right;
    case "co":
      return left.includes(right);
    case "sw":
      return left.startsWith(right);
    case "ew":
      return left.endsWith(right);
    case "gt":
      return left > right;
    case "ge":
      return left >= right;
    case "lt":
      return left < right;
    case "le":
      return left <= right;
    default:
      return false;
  }
}
