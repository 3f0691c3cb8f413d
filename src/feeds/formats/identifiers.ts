/** Ids of vulnerabilities, advisories and packages: what can be typed, sent in a URL and compared byte by byte. */
import type { Fields } from "../fields.ts";

/** No white space, nothing invisible. */
const shape = /^[^\s\p{C}]+$/u;
const maxLength = 255;
/** As many as the API lets an advisory have. */
const maxAliases = 100;

/** Whether `text` can be an id. */
export function isIdentifier(text: string): boolean {
  return text.length <= maxLength && shape.test(text);
}

/** An id that must be there. Errors: FeedRefusal. */
export function readIdentifier(fields: Fields, name: string): string {
  const id = fields.text(name, maxLength);
  if (!isIdentifier(id)) throw fields.refusal(name, `${JSON.stringify(id)} is not an id`);
  return id;
}

/** Other ids of the same thing, each once. Errors: FeedRefusal. */
export function readAliases(fields: Fields, name: string): string[] {
  const ids = fields.texts(name, { maxItems: maxAliases, maxLength });
  const wrong = ids.findIndex((id) => !isIdentifier(id));
  if (wrong >= 0) throw fields.refusal(`${name}[${wrong}]`, `${JSON.stringify(ids[wrong])} is not an id`);
  return [...new Set(ids)];
}
