/** Documents in JSON, a part on each line, and ids that are made of their content. */
import { createHash } from "node:crypto";

/** A member of a document: a value, or a list whose items are encoded already. */
type Member =
  | readonly [name: string, value: unknown]
  | readonly [name: string, value: unknown, items: readonly string[]];

/** The text of a document. A list is written with one item on each line. */
export function documentText(members: readonly Member[]): string {
  const lines = members.map(([name, value, items]) => {
    if (items === undefined) return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    return `${JSON.stringify(name)}:[${items.length === 0 ? "" : `\n${items.join(",\n")}\n`}]`;
  });
  return `{${lines.join(",\n")}}\n`;
}

/** A UUID that is always the same for the same content (RFC 9562, version 8). */
export function contentUuid(parts: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\n");
  const bytes = hash.digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
