/** The patterns of the contract, which are its own and few: JavaScript's engine matches them in a fraction of the time of RE2 in JavaScript. */

const expressions = new Map<string, RegExp>();

/** Whether a text matches a pattern. Every text that has a pattern is one line: nothing that {@link isOneLine} refuses matches any. */
export function matches(pattern: string, text: string): boolean {
  return isOneLine(text) && matchesAlone(pattern, text);
}

/** Whether a text matches a pattern by its letter. */
export function matchesAlone(pattern: string, text: string): boolean {
  let expression = expressions.get(pattern);
  if (expression === undefined) {
    expression = expressionOf(pattern);
    expressions.set(pattern, expression);
  }
  return expression.test(text);
}

/** Control characters (the category Cc of Unicode) and separators of lines and paragraphs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const notOneLine = /[\0-\x1f\x7f-\x9f\u2028\u2029]/;

/** Whether a text is one line of text. `\S` alone takes most control characters. */
export function isOneLine(text: string): boolean {
  return !notOneLine.test(text);
}

/** A pattern of the contract, which is RE2's, for JavaScript: a category of one letter needs braces, and white space, named in sets only, is ASCII. */
export function expressionOf(pattern: string): RegExp {
  const text = pattern
    .replace(/\\([pP])([A-Z])/g, "\\$1{$2}")
    .replaceAll("\\s", "\\t\\n\\f\\r ")
    .replaceAll("\\S", "\\0-\\x08\\v\\x0e-\\x1f!-\\u{10ffff}");
  return new RegExp(text, "u");
}
