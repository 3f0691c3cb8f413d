/**
 * JSONPath templates of kubectl: text with expressions in braces, such as
 * `{range .items[*]}{.name}{"\n"}{end}`. Its dialect is older than RFC 9535 and has no library in JavaScript.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { CommandFailure } from "../../command/index.ts";
import { printable, printableJson } from "../../log-text.ts";

/** A parsed expression: the values that it finds in a value. */
export type JsonPath = (value: JsonValue, root: JsonValue) => readonly JsonValue[];

/** A parsed template: the text for a value. */
export type Template = (value: JsonValue) => string;

/** Parses a template. Errors: CommandFailure that says what is expected. */
export function parseTemplate(source: string): Template {
  const parser = new Parser(source);
  const parts = parser.parts(false);
  return (value) => textOfParts(parts, value, value);
}

/** Parses one expression; braces and the first dot may be left out. Errors: CommandFailure. */
export function parsePath(source: string): JsonPath {
  const inner = /^\{(.*)\}$/s.exec(source.trim())?.[1] ?? source.trim();
  const parser = new Parser(/^[.[$@]/.test(inner) ? inner : `.${inner}`);
  return parser.wholePath();
}

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: JsonPath }
  | { readonly kind: "range"; readonly path: JsonPath; readonly parts: readonly Part[] };

/** The text of a value that an expression finds: a text as it is, on one line; else JSON. */
export function textOfValue(value: JsonValue): string {
  return typeof value === "string" ? printable(value) : printableJson(value);
}

function textOfParts(parts: readonly Part[], value: JsonValue, root: JsonValue): string {
  return parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      const found = part.path(value, root);
      return part.kind === "path"
        ? found.map(textOfValue).join(" ")
        : found.map((item) => textOfParts(part.parts, item, root)).join("");
    })
    .join("");
}

/** What one step of a path finds in a value. */
type Step = JsonPath;

/** The steps of a subscript: `['name','uid']` finds the names of all values, then their uids. */
type Union = readonly Step[];

/** Of the result of {@link order}; undefined for values without an order. */
const comparisons: Readonly<Record<string, (result: number | undefined) => boolean>> = {
  "==": (result) => result === 0,
  "!=": (result) => result !== 0,
  "<=": (result = 1) => result <= 0,
  ">=": (result = -1) => result >= 0,
  "<": (result = 0) => result < 0,
  ">": (result = 0) => result > 0,
};

const quotedText = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y;

/** Reads a source from its beginning to its end. */
class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** The parts of a template up to its end, or up to `{end}`. */
  parts(isInRange: boolean): Part[] {
    const parts: Part[] = [];
    for (;;) {
      const text = this.#take(/[^{]*/y);
      if (text !== "") parts.push({ kind: "text", text });
      if (this.#isAtEnd) {
        if (isInRange) this.#fail("{end}");
        return parts;
      }
      this.#take(/\{\s*/y);
      if (this.#takes(/end\s*\}/y)) {
        if (!isInRange) this.#fail("a range before {end}");
        return parts;
      }
      if (this.#takes(/range\s+/y)) {
        const path = this.#path();
        this.#expect(/\s*\}/y, "}");
        parts.push({ kind: "range", path, parts: this.parts(true) });
      } else {
        const quoted = this.#literal();
        parts.push(typeof quoted === "string" ? { kind: "text", text: quoted } : { kind: "path", path: this.#path() });
        this.#expect(/\s*\}/y, "}");
      }
    }
  }

  /** One path, with nothing after it. */
  wholePath(): JsonPath {
    const path = this.#path();
    if (!this.#isAtEnd) this.#fail("a field or [");
    return path;
  }

  get #isAtEnd(): boolean {
    return this.#at >= this.#source.length;
  }

  #path(): JsonPath {
    const isFromRoot = this.#takes(/\$/y);
    if (!isFromRoot) this.#takes(/@/y);
    const unions: Union[] = [];
    for (let union = this.#step(); union !== undefined; union = this.#step()) unions.push(union);
    if (unions.length === 0 && !/[$@.]/.test(this.#source[this.#at - 1] ?? "")) this.#fail("a path, such as .name");
    return (value, root) =>
      unions.reduce<readonly JsonValue[]>(
        (found, union) => union.flatMap((step) => found.flatMap((each) => step(each, root))),
        [isFromRoot ? root : value],
      );
  }

  #step(): Union | undefined {
    if (this.#takes(/\.\./y)) {
      if (this.#takes(/(?=\[)/y)) return [descendants];
      const step = this.#name();
      return [(value, root) => descendants(value).flatMap((each) => step(each, root))];
    }
    if (this.#takes(/\.(?=\[)/y) || this.#source[this.#at] === "[") return this.#subscript();
    if (!this.#takes(/\./y)) return undefined;
    if (/^(?:[\s}]|$)/.test(this.#source.slice(this.#at))) return [itself]; // `{.}`
    return [this.#name()];
  }

  #name(): Step {
    if (this.#takes(/\*/y)) return children;
    const name = this.#take(/(?:\\.|[^\s.[\]{}()<>=!,'"|])+/y);
    if (name === "") this.#fail("the name of a field");
    return member(name.replace(/\\(.)/g, "$1"));
  }

  #subscript(): Union {
    this.#expect(/\[\s*/y, "[");
    const steps: Step[] = [];
    do steps.push(this.#selector());
    while (this.#takes(/\s*,\s*/y));
    this.#expect(/\s*\]/y, "]");
    return steps;
  }

  #selector(): Step {
    if (this.#takes(/\*/y)) return children;
    if (this.#takes(/\?\(\s*/y)) {
      const step = this.#filter();
      this.#expect(/\s*\)/y, ")");
      return step;
    }
    const [slice] = this.#match(/(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(\d+))?/y) ?? [];
    if (slice !== undefined) {
      const [from, to, step = "1"] = slice.split(":").map((text) => text.trim() || undefined);
      if (Number(step) === 0) this.#fail("a step of 1 or more");
      return (value) =>
        Array.isArray(value)
          ? value
              .slice(Number(from ?? 0), to === undefined ? undefined : Number(to))
              .filter((_, i) => i % Number(step) === 0)
          : [];
    }
    const [quoted] = this.#match(quotedText) ?? [];
    if (quoted !== undefined) return nested(quoted.slice(1, -1));
    const key = this.#literal();
    if (typeof key === "number") return (value) => (Array.isArray(value) ? value.slice(key, key + 1 || undefined) : []);
    return this.#fail("*, a number, a slice, a name in quotes or ?(…)");
  }

  #filter(): Step {
    const left = this.#path();
    const operator = this.#match(/\s*(==|!=|<=|>=|<|>)\s*/y)?.[1];
    if (operator === undefined) return (value, root) => children(value).filter((each) => left(each, root).length > 0);
    const literal = this.#literal();
    const right: JsonPath = literal === undefined ? this.#path() : () => [literal];
    const holds = comparisons[operator]!;
    return (value, root) =>
      children(value).filter((each) => {
        const [[a], [b]] = [left(each, root), right(each, root)];
        return a !== undefined && b !== undefined && holds(order(a, b));
      });
  }

  /** A text in quotes, a number, true, false or null; undefined for anything else. */
  #literal(): string | number | boolean | null | undefined {
    const [quoted] = this.#match(quotedText) ?? [];
    if (quoted !== undefined) return unquoted(quoted);
    const [number] = this.#match(/-?\d+(?:\.\d+)?(?![\w.])/y) ?? [];
    if (number !== undefined) return Number(number);
    const [word] = this.#match(/(?:true|false|null)\b/y) ?? [];
    return word === undefined ? undefined : (JSON.parse(word) as boolean | null);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }

  #take(pattern: RegExp): string {
    return this.#match(pattern)?.[0] ?? "";
  }

  #takes(pattern: RegExp): boolean {
    return this.#match(pattern) !== undefined;
  }

  #expect(pattern: RegExp, what: string): void {
    if (!this.#takes(pattern)) this.#fail(what);
  }

  #fail(expected: string): never {
    const rest = this.#source.slice(this.#at);
    const where = rest === "" ? "at the end" : `before ${JSON.stringify(rest)}`;
    throw new CommandFailure(`JSONPath: ${expected} is expected ${where} of ${JSON.stringify(this.#source)}`, 2);
  }
}

function itself(value: JsonValue): readonly JsonValue[] {
  return [value];
}

function member(name: string): Step {
  return (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
      ? [value[name]!]
      : [];
}

/** A field, or one of a field: `metadata.name`. A dot in a name is `\.`. */
function nested(text: string): Step {
  const steps = text.split(/(?<!\\)\./).map((name) => member(name.replace(/\\(.)/gs, "$1")));
  return (value, root) =>
    steps.reduce<readonly JsonValue[]>((found, step) => found.flatMap((each) => step(each, root)), [value]);
}

function children(value: JsonValue): readonly JsonValue[] {
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}

/** A value and everything in it. */
function descendants(value: JsonValue): readonly JsonValue[] {
  return [value, ...children(value).flatMap(descendants)];
}

/**
 * Less than 0 if `a` is before `b`, 0 if they are equal; undefined if they have no order. JSON has large numbers as
 * texts: a text is compared with a number as one.
 */
export function order(a: JsonValue, b: JsonValue): number | undefined {
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : Number(a > b);
  const [x, y] = [a, b].map((it) => (typeof it === "string" && it !== "" ? Number(it) : it));
  if (typeof x === "number" && typeof y === "number") return Number.isNaN(x - y) ? undefined : x - y;
  return a === b ? 0 : undefined;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gs, (_, char: string) => escapes[char] ?? char);
}
