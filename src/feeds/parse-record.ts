/**
 * From the bytes of a file to the records in it. Bytes are UTF-8, with or without a mark at the beginning; nesting, lists and aliases have limits, so
 * that what is parsed is never much more than what was read.
 *
 * In YAML every scalar is the text that stands there, or null: a version `1.10` is not a number here, a date not a time, `no` not false. Tags that
 * would make something else of them are refused.
 */
import type { LoadOptions } from "js-yaml";
import type { FeedFile } from "./feed.ts";
import { FeedRefusal } from "./fields.ts";

/** One record of a feed. */
export interface FeedRecord {
  /** Where it is in the feed, for people. */
  readonly name: string;
  readonly value: unknown;
}

const maxDepth = 100;
/** Objects and lists in one JSON record. */
const maxContainers = 1_000_000;
/** Its parser needs some thirty times as much. */
const maxYamlBytes = 4 * 1024 * 1024;
/** A handful is what people write. */
const maxAliases = 16;

/** The records of a JSON or YAML file: one, or each document of a YAML stream. Errors: FeedRefusal. */
export async function parseRecords({ name, format, bytes }: FeedFile): Promise<FeedRecord[]> {
  if (format === "json") return [{ name, value: parseJson(bytes) }];
  if (format !== "yaml") throw new FeedRefusal("is neither JSON nor YAML");
  const documents = (await parseYaml(bytes)).filter((value) => value !== null);
  if (documents.length === 0) throw new FeedRefusal("is empty");
  return documents.map((value, i) => ({ name: documents.length === 1 ? name : `${name}#${i + 1}`, value }));
}

/** The value of a JSON text. Errors: FeedRefusal. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  checkNesting(bytes);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FeedRefusal(`is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** Text in UTF-8, without its byte order mark. Errors: FeedRefusal. */
export function decodeUtf8(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xfe && second === 0xff) || (first === 0xff && second === 0xfe) || second === 0)
    throw new FeedRefusal("is UTF-16 or UTF-32, not UTF-8");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new FeedRefusal("is not UTF-8", { cause: error });
  }
}

const quote = 0x22;
const backslash = 0x5c;

/** Looks at brackets alone, before anything is made of them. What is no JSON passes. */
function checkNesting(bytes: Uint8Array): void {
  let depth = 0;
  let containers = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte === quote) {
      for (i++; i < bytes.length && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++;
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth) throw new FeedRefusal(`nests deeper than ${maxDepth}`);
      if (++containers > maxContainers) throw new FeedRefusal(`holds more than ${maxContainers} objects and lists`);
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
}

let yaml: { load: typeof import("js-yaml").loadAll; options: LoadOptions } | undefined;

async function parseYaml(bytes: Uint8Array): Promise<unknown[]> {
  if (bytes.length > maxYamlBytes) throw new FeedRefusal(`is YAML of more than ${maxYamlBytes} bytes`);
  const text = decodeUtf8(bytes);
  if (yaml === undefined) {
    const { FAILSAFE_SCHEMA, loadAll, nullCoreTag } = await import("js-yaml"); // only when first needed: the server never does
    yaml = { load: loadAll, options: { schema: FAILSAFE_SCHEMA.withTags(nullCoreTag), maxDepth, maxAliases } };
  }
  try {
    return yaml.load(text, yaml.options);
  } catch (error) {
    throw new FeedRefusal(`is not YAML: ${(error as Error).message.split("\n", 1)[0]}`, { cause: error });
  }
}
