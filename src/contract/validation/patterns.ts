/**
 * Matches the patterns of the contract with the regular expressions of JavaScript, which take a fraction of the time of
 * RE2 in JavaScript. Patterns of tenants are not matched here.
 */

const expressions = new Map<string, RegExp>();

/** Whether a text is one line and matches a pattern. Every field with a pattern is a single line. */
export function matches(pattern: string, text: string): boolean {
  return isOneLine(text) && matchesAnyText(pattern, text);
}

/** Whether a text matches a pattern, whatever its lines. */
export function matchesAnyText(pattern: string, text: string): boolean {
  let expression = expressions.get(pattern);
  if (expression === undefined) {
    expression = expressionOf(pattern);
    expressions.set(pattern, expression);
  }
  return expression.test(text);
}

/** Control characters (the category Cc of Unicode) and separators of lines and paragraphs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters
const notOneLine = /[\0-\x1f\x7f-\x9f\u2028\u2029]/;

/** Whether a text is one line without control characters. `\S` alone matches most control characters. */
export function isOneLine(text: string): boolean {
  return !notOneLine.test(text);
}

/**
 * The regular expression of a pattern in RE2 syntax: categories of one letter get braces, and white space, which
 * patterns name only in sets, is ASCII.
 */
export function expressionOf(pattern: string): RegExp {
  const text = pattern
    .replace(/\\([pP])([A-Z])/g, "\\$1{$2}")
    .replaceAll("\\s", "\\t\\n\\f\\r ")
    .replaceAll("\\S", "\\0-\\x08\\v\\x0e-\\x1f!-\\u{10ffff}");
  return new RegExp(text, "u");
}
