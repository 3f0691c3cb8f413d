/**
 * Path templates, by the grammar of google/api/http.proto:
 *
 *     Template  = "/" Segments [ Verb ] ;
 *     Segments  = Segment { "/" Segment } ;
 *     Segment   = "*" | "**" | LITERAL | Variable ;
 *     Variable  = "{" FieldPath [ "=" Segments ] "}" ;
 *     FieldPath = IDENT { "." IDENT } ;
 *     Verb      = ":" LITERAL ;
 *
 * Beyond http.proto, segments may follow `**`. It may stand once in a template, so that its length follows from that
 * of the path.
 */

/** One segment: a literal in normal form (see `normalizeSegment`), or a wildcard. */
type Segment = { readonly kind: "literal"; readonly text: string } | { readonly kind: "*" | "**" };

/** A field bound to the segments from `start` to before `end`. */
export interface Variable {
  readonly fieldPath: string;
  readonly start: number;
  readonly end: number;
  /** Column of the field path in the template, from 1. */
  readonly column: number;
}

/** A parsed template. */
export interface Template {
  readonly text: string;
  readonly segments: readonly Segment[];
  /** The index of the segment `**`; -1 without one. */
  readonly doubleStar: number;
  readonly variables: readonly Variable[];
  readonly verb: string | undefined;
}

/** A template that cannot be served. The message begins with the column, counted from 1. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";

  constructor(column: number, problem: string) {
    super(`column ${column}: ${problem}`);
  }
}

/** Parses a template. Errors: TemplateError. */
export function parseTemplate(text: string): Template {
  return new Parser(text).parse();
}

/**
 * A segment in the form in which literals are compared (RFC 3986, section 6.2.2): escapes of unreserved characters
 * decoded, others in upper case.
 */
export function normalizeSegment(raw: string): string {
  return raw.replace(/%[0-9a-fA-F]{2}/g, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : escaped.toUpperCase();
  });
}

const literalPattern = /(?:[A-Za-z0-9\-._~!$&'()+,;=@]|%[0-9a-fA-F]{2})+/y;
const fieldPathPattern = /[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*/y;

class Parser {
  readonly #text: string;
  #at = 0;
  readonly #segments: Segment[] = [];
  readonly #variables: Variable[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Template {
    this.#expect("/");
    this.#parseSegments(false);
    const verb = this.#skips(":") ? normalizeSegment(this.#match(literalPattern, "a verb")) : undefined;
    if (this.#at < this.#text.length) throw this.#error(`unexpected ${this.#found()}`);
    const segments = this.#segments;
    const doubleStar = segments.findIndex(({ kind }) => kind === "**");
    return { text: this.#text, segments, doubleStar, variables: this.#variables, verb };
  }

  #parseSegments(inVariable: boolean): void {
    do {
      this.#parseSegment(inVariable);
    } while (this.#skips("/"));
  }

  #parseSegment(inVariable: boolean): void {
    const column = this.#at + 1;
    if (this.#skips("**")) {
      if (this.#segments.some(({ kind }) => kind === "**"))
        throw new TemplateError(column, "** may stand only once in a template");
      this.#segments.push({ kind: "**" });
    } else if (this.#skips("*")) {
      this.#segments.push({ kind: "*" });
    } else if (this.#skips("{")) {
      if (inVariable) throw new TemplateError(column, "a variable must not contain a variable");
      this.#parseVariable();
    } else {
      this.#segments.push({ kind: "literal", text: normalizeSegment(this.#match(literalPattern, "a segment")) });
    }
  }

  #parseVariable(): void {
    const column = this.#at + 1;
    const fieldPath = this.#match(fieldPathPattern, "a field path");
    if (this.#variables.some((variable) => variable.fieldPath === fieldPath))
      throw new TemplateError(column, `${fieldPath} is bound twice`);
    const start = this.#segments.length;
    if (this.#skips("=")) this.#parseSegments(true);
    else this.#segments.push({ kind: "*" });
    this.#expect("}");
    this.#variables.push({ fieldPath, start, end: this.#segments.length, column });
  }

  #match(pattern: RegExp, what: string): string {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) throw this.#error(`expected ${what}, found ${this.#found()}`);
    this.#at = pattern.lastIndex;
    return match[0];
  }

  #skips(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #expect(token: string): void {
    if (!this.#skips(token)) throw this.#error(`expected "${token}", found ${this.#found()}`);
  }

  #found(): string {
    const character = this.#text.codePointAt(this.#at);
    return character === undefined ? "the end" : JSON.stringify(String.fromCodePoint(character));
  }

  #error(problem: string): TemplateError {
    return new TemplateError(this.#at + 1, problem);
  }
}
