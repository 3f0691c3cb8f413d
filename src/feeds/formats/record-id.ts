/** Ids of vulnerabilities, advisories and packages. */
import type { Fields } from "../records/fields.ts";

/** No white space or invisible characters. */
const shape = /^[^\s\p{C}]+$/u;
const maxLength = 255;
/** The limit of the API. */
const maxAliases = 100;

/** Whether `text` is a valid id. */
export function isRecordId(text: string): boolean {
  return text.length <= maxLength && shape.test(text);
}

/** Reads a required id. Errors: FeedRefusal. */
export function readId(fields: Fields, name: string): string {
  const id = fields.text(name, maxLength);
  if (!isRecordId(id)) throw fields.refusal(name, `${JSON.stringify(id)} is not an id`);
  return id;
}

/** Reads other ids, by default as many as the API takes aliases, without duplicates. Errors: FeedRefusal. */
export function readAliases(fields: Fields, name: string, maxItems = maxAliases): string[] {
  const ids = fields.texts(name, { maxItems, maxLength });
  const wrong = ids.findIndex((id) => !isRecordId(id));
  if (wrong >= 0) throw fields.refusal(`${name}[${wrong}]`, `${JSON.stringify(ids[wrong])} is not an id`);
  return [...new Set(ids)];
}
