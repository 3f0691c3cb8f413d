/**
 * A strict JSON parser (RFC 8259).
 *
 * JSON.parse keeps the last of two equal keys, rounds large integers and lets `__proto__` and lone surrogates through.
 * This parser keeps what a protobuf reader needs: numbers that a JavaScript number might not hold exactly stay text,
 * and objects are Maps. Its time is linear in its input, and the depth limit bounds its recursion.
 */

/** A number literal kept as it was written, because a JavaScript number might not hold it exactly. */
export class JsonNumber {
  /** The literal, valid by the grammar of RFC 8259. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The members of a JSON object, in the order they were written. */
export type JsonMembers = Map<string, JsonNode>;

/** A parsed JSON value. Plain numbers are integers of at most fifteen digits; all others are JsonNumbers. */
export type JsonNode = null | boolean | number | string | JsonNumber | JsonNode[] | JsonMembers;

/** The input is not JSON, or not JSON that is accepted here. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

const maxDepth = 100;
/** Several times what any request needs. Small values cost far more time and memory than their bytes. */
const maxValues = 50_000;
const exactDigits = 15;

/**
 * Parses one JSON text.
 * Errors: JsonSyntaxError for malformed UTF-8 or JSON, a byte order mark, anything after the value, duplicate keys,
 * NUL or lone surrogates in strings, nesting deeper than 100, and more than 50,000 values.
 */
export function parseJson(source: string | Uint8Array): JsonNode {
  return new Parser(typeof source === "string" ? source : decodeUtf8(source)).parse();
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new JsonSyntaxError("malformed UTF-8");
  }
}

const quotationMark = 0x22;
const backslash = 0x5c;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;

const escapes = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): JsonNode {
    if (!this.#text.isWellFormed()) throw new JsonSyntaxError("lone surrogate");
    this.#skipSpace();
    const value = this.#value();
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected();
    return value;
  }

  #value(): JsonNode {
    if (++this.#values > maxValues) throw new JsonSyntaxError(`more than ${maxValues} values`);
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object();
      case "[":
        return this.#array();
      case '"':
        return this.#string();
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  #object(): JsonMembers {
    this.#enter();
    const members: JsonMembers = new Map();
    if (this.#skips("}")) return this.#leave(members);
    do {
      this.#skipSpace();
      const start = this.#at;
      if (this.#text[start] !== '"') throw this.#unexpected();
      const key = this.#string();
      if (members.has(key)) throw new JsonSyntaxError(`duplicate key at position ${start}`);
      this.#expect(":");
      this.#skipSpace();
      members.set(key, this.#value());
    } while (this.#skips(","));
    this.#expect("}");
    return this.#leave(members);
  }

  #array(): JsonNode[] {
    this.#enter();
    const items: JsonNode[] = [];
    if (this.#skips("]")) return this.#leave(items);
    do {
      this.#skipSpace();
      items.push(this.#value());
    } while (this.#skips(","));
    this.#expect("]");
    return this.#leave(items);
  }

  #string(): string {
    const text = this.#text;
    let start = ++this.#at;
    let unescaped: string | undefined;
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code === quotationMark) {
        const rest = text.slice(start, this.#at++);
        return unescaped === undefined ? rest : this.#wellFormed(unescaped + rest);
      }
      if (code === backslash) {
        unescaped = (unescaped ?? "") + text.slice(start, this.#at) + this.#escape();
        start = this.#at;
      } else if (code >= 0x20) {
        this.#at++;
      } else {
        throw this.#unexpected();
      }
    }
  }

  #escape(): string {
    const letter = this.#text[++this.#at] ?? "";
    const simple = escapes.get(letter);
    if (simple !== undefined) {
      this.#at++;
      return simple;
    }
    const hex = this.#text.slice(this.#at + 1, this.#at + 5);
    if (letter !== "u" || !/^[0-9a-fA-F]{4}$/.test(hex)) throw this.#unexpected();
    if (hex === "0000") throw new JsonSyntaxError(`NUL character at position ${this.#at - 1}`);
    this.#at += 5;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }

  #wellFormed(value: string): string {
    if (!value.isWellFormed()) throw new JsonSyntaxError(`lone surrogate before position ${this.#at}`);
    return value;
  }

  #number(): number | JsonNumber {
    const start = this.#at;
    if (this.#code() === minus) this.#at++;
    if (this.#code() === zero) this.#at++;
    else this.#digits();
    let plain = this.#at - start <= exactDigits;
    if (this.#text[this.#at] === ".") {
      plain = false;
      this.#at++;
      this.#digits();
    }
    if (this.#text[this.#at] === "e" || this.#text[this.#at] === "E") {
      plain = false;
      this.#at++;
      if (this.#text[this.#at] === "+" || this.#text[this.#at] === "-") this.#at++;
      this.#digits();
    }
    const literal = this.#text.slice(start, this.#at);
    return plain ? Number(literal) : new JsonNumber(literal);
  }

  #digits(): void {
    const start = this.#at;
    while (this.#code() >= zero && this.#code() <= nine) this.#at++;
    if (this.#at === start) throw this.#unexpected();
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected();
    this.#at += word.length;
    return value;
  }

  /** Skips white space and the given character. Returns whether it was there. */
  #skips(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#skips(character)) throw this.#unexpected();
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#code();
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #enter(): void {
    if (++this.#depth > maxDepth) throw new JsonSyntaxError(`nesting deeper than ${maxDepth}`);
    this.#at++;
  }

  #leave<T>(value: T): T {
    this.#depth--;
    return value;
  }

  /** The character code at the current position; NaN at the end. */
  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }

  #unexpected(): JsonSyntaxError {
    const code = this.#text.codePointAt(this.#at);
    return new JsonSyntaxError(
      code === undefined
        ? "unexpected end"
        : `unexpected ${JSON.stringify(String.fromCodePoint(code))} at position ${this.#at}`,
    );
  }
}
