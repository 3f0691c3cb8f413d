/** YAML for a terminal or a log. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { printable, printableJson } from "../../log-text.ts";
import { randomHex } from "../../new-uid.ts";

/**
 * A value in YAML. Texts that a terminal or a CI system could act on are in double quotes, with escapes; a block of
 * lines would have them as they are.
 */
export async function yamlOf(value: JsonValue): Promise<string> {
  const { dump } = await import("js-yaml");
  const mark = `text-${randomHex(16)}-`;
  const texts: string[] = [];
  const marked = (text: string) => (isHarmless(text) ? text : `${mark}${texts.push(text) - 1}-`);
  const replaced = (item: JsonValue): JsonValue => {
    if (typeof item === "string") return marked(item);
    if (Array.isArray(item)) return item.map(replaced);
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(Object.entries(item as JsonObject).map(([key, inner]) => [marked(key), replaced(inner)]));
  };
  const text = dump(replaced(value), { lineWidth: 120 });
  return text.replace(new RegExp(`${mark}(\\d+)-`, "g"), (_, index: string) => printableJson(texts[Number(index)]));
}

/** Also if its lines are broken at blanks. */
function isHarmless(text: string): boolean {
  return text.split("\n").every((line) => printable(line) === line) && !/(?:^|\s)::.*::/s.test(text);
}
