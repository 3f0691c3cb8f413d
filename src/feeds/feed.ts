/** What a feed is made of, and what whoever reads one has a say in. */

/** How the bytes of a file are to be read; `other` only where {@link FeedOptions.also} asks for the name. */
export type FileFormat = "json" | "yaml" | "xml" | "other";

/** A file of a feed, or one line of a file of lines. */
export interface FeedFile {
  /** Where it is in the feed, for people: `vulns/a.yaml`, `all.jsonl:12`. */
  readonly name: string;
  readonly format: FileFormat;
  readonly bytes: Uint8Array;
}

/** Told what becomes of a feed's files while it is read. */
export interface FeedReport {
  /** Not taken, and why. The feed goes on where it can. */
  refuse(name: string, reason: string): void;
  /** Nothing that is read here. */
  passOver(name: string): void;
  /** How much of the feed is behind us, from 0 to 1. Not told where the size is not known. */
  advance(fraction: number): void;
}

/** How to read a feed. */
export interface FeedOptions {
  readonly report: FeedReport;
  /** Files beside .json, .jsonl, .ndjson, .yaml, .yml and .xml that are wanted, by their path. */
  readonly also?: (name: string) => boolean;
  /** Bytes in one file, or one line of a file of lines; 16 MiB by default. */
  readonly maxFileBytes?: number;
  /** Ends a download. */
  readonly signal?: AbortSignal;
}

/** The feed cannot be read, or not any further. */
export class FeedBroken extends Error {
  override readonly name = "FeedBroken";
}

/** How a file of this name is read: `lines` is one JSON record in each line; undefined for names that say nothing. */
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
