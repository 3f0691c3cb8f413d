/**
 * Parses the records of a file. Files are UTF-8, with or without a byte order mark. Nesting, containers and aliases
 * have limits, so that a parsed record needs a bounded multiple of the memory of its file.
 *
 * In YAML, every scalar is a text or null: the version `1.10` is not a number, a date is not a time, `no` is not false.
 * Tags for other types are refused.
 */
import type { LoadOptions } from "js-yaml";
import { memberCount, repeatedMember } from "../../codec/index.ts";
import type { FeedFile } from "../source/feed.ts";
import { FeedRefusal, ForeignRecord } from "../source/refusal.ts";

/** One record of a feed. */
interface FeedRecord {
  /** Location in the feed, for messages. */
  readonly name: string;
  readonly value: unknown;
}

const maxDepth = 100;
/** Objects and lists in one JSON record. */
const maxContainers = 1_000_000;
/** The parser needs about thirty times as much memory. */
const maxYamlBytes = 4 * 1024 * 1024;
const maxAliases = 16;

/**
 * The records of a file: one for JSON, one for each document of YAML. Errors: FeedRefusal; ForeignRecord if the file
 * is of another format, or empty YAML.
 */
export async function parseRecords({ name, format, bytes }: FeedFile): Promise<FeedRecord[]> {
  if (format !== "json" && format !== "yaml") throw new ForeignRecord("is neither JSON nor YAML");
  if (format === "json") return [{ name, value: parseJson(bytes) }];
  const documents = (await parseYaml(bytes)).filter((value) => value !== null);
  if (documents.length === 0) throw new ForeignRecord("is empty");
  return documents.map((value, i) => ({ name: documents.length === 1 ? name : `${name}#${i + 1}`, value }));
}

/** Parses JSON in which no object has two members of one name. Errors: FeedRefusal. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  const written = checkNesting(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new FeedRefusal(`is not JSON: ${(error as Error).message}`, { cause: error });
  }
  // Searched only if one is missing: the search takes longer than the parser.
  if (memberCount(value) !== written) throw new FeedRefusal(`${repeatedMember(text)}: occurs twice in its object`);
  return value;
}

/** Decodes UTF-8 and removes the byte order mark. Errors: FeedRefusal. */
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

/** Checks the limits by brackets, before parsing. Does not check the syntax. Returns the number of members. */
function checkNesting(bytes: Uint8Array): number {
  let members = 0;
  let depth = 0;
  let containers = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte === quote) {
      for (i++; i < bytes.length && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++;
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth) throw new FeedRefusal(`nests deeper than ${maxDepth}`);
      if (++containers > maxContainers) throw new FeedRefusal(`contains more than ${maxContainers} objects and lists`);
    } else if (byte === 0x5d || byte === 0x7d) depth--;
    else if (byte === 0x3a) members++;
  }
  return members;
}

let yaml: { load: typeof import("js-yaml").loadAll; options: LoadOptions } | undefined;

async function parseYaml(bytes: Uint8Array): Promise<unknown[]> {
  if (bytes.length > maxYamlBytes) throw new FeedRefusal(`is YAML of more than ${maxYamlBytes} bytes`);
  const text = decodeUtf8(bytes);
  if (yaml === undefined) {
    // On first use: the server never needs it.
    const { FAILSAFE_SCHEMA, loadAll, nullCoreTag } = await import("js-yaml");
    yaml = { load: loadAll, options: { schema: FAILSAFE_SCHEMA.withTags(nullCoreTag), maxDepth, maxAliases } };
  }
  try {
    return yaml.load(text, yaml.options);
  } catch (error) {
    throw new FeedRefusal(`is not YAML: ${(error as Error).message.split("\n", 1)[0]}`, { cause: error });
  }
}
