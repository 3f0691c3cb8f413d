/** Files of a feed, and options of reading one. */

/** The format of a file. `other` is used only for names selected by {@link FeedOptions.also}. */
export type FileFormat = "json" | "yaml" | "xml" | "other";

/** A file of a feed, or one line of a JSON Lines file. */
export interface FeedFile {
  /** Location in the feed, for messages: `vulns/a.yaml`, `all.jsonl:12`. */
  readonly name: string;
  readonly format: FileFormat;
  readonly bytes: Uint8Array;
}

/** Receives results and progress while a feed is read. */
export interface FeedReport {
  /** A file or record is refused for this reason. Reading continues if possible. */
  refuse(name: string, reason: string): void;
  /** A file is skipped because it is of no known format. */
  skip(name: string): void;
  /** Fraction of the feed that was read, from 0 to 1. Not called if the size is unknown. */
  advance(fraction: number): void;
}

/** Options of reading a feed. */
export interface FeedOptions {
  readonly report: FeedReport;
  /** Selects files by path, in addition to .json, .jsonl, .ndjson, .yaml, .yml and .xml. */
  readonly also?: (name: string) => boolean;
  /** Whether a JSON file is an object of very many members, each of which is read as a file of its own. */
  readonly isOfMembers?: boolean;
  /** Limit for a file, for such a member, or for a line of a JSON Lines file; 16 MiB by default. */
  readonly maxFileBytes?: number;
  /** Aborts a download. */
  readonly signal?: AbortSignal;
}

/** The feed, or the rest of it, cannot be read. */
export class FeedBroken extends Error {
  override readonly name = "FeedBroken";
}

/** The format of a file by its name; undefined if unknown. `lines` has one JSON record in each line. */
export function formatOf(name: string): FileFormat | "lines" | undefined {
  return formats.get(/\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? "");
}

const formats: ReadonlyMap<string, FileFormat | "lines"> = new Map([
  ["json", "json"],
  ["jsonl", "lines"],
  ["ndjson", "lines"],
  ["yaml", "yaml"],
  ["yml", "yaml"],
  ["xml", "xml"],
]);
