/** Shared by all importers of feeds: their options, and the import from a location to a summary. */
import type { Command } from "commander";
import { CommandFailure, stopSignal } from "../../command/index.ts";
import {
  type FeedFile,
  type FeedOptions,
  FeedRefusal,
  type ImportItem,
  type ImportOptions,
  ImportReport,
  openFeed,
  parseRecords,
  runImport,
  summaryText,
  type Unread,
} from "../../feeds/index.ts";
import type { Database } from "../../store/index.ts";

/** The part that is specific to an importer. */
export interface FeedImport<T>
  extends Pick<ImportOptions<T>, "read" | "save" | "finish" | "prune" | "unmatched">,
    Pick<FeedOptions, "also" | "isOfMembers" | "maxFileBytes"> {
  /** Opens the location; {@link openFeed} by default. */
  readonly open?: (
    location: string,
    options: FeedOptions & { readonly signal: AbortSignal },
  ) => AsyncIterable<FeedFile>;
  /** Whether an empty result is valid because the location answered; false by default. */
  readonly isAnswered?: () => boolean;
  /** Called when something of the feed was read, to its end, whether or not anything was refused. */
  readonly onRead?: () => Promise<void>;
}

/** The options of all importers of feeds. */
export interface FeedFlags {
  readonly prune?: boolean;
  readonly strict?: boolean;
  readonly json?: boolean;
}

/** Adds the arguments and options of all importers of feeds. */
export function withFeed(command: Command): Command {
  return command
    .argument("<PATH|URL>", "a file, a directory, a .zip, a .tar.gz, a JSON Lines file, or an http(s) URL of one")
    .option("--prune", "remove what the feed no longer has, if all of it could be read and parsed")
    .option("--strict", "refuse files that are not records of the feed, instead of skipping them")
    .option("--json", "print the summary as one JSON object");
}

/**
 * Imports a feed and prints the summary. Errors: CommandFailure if anything was refused, nothing could be read, or the
 * import was stopped.
 */
export async function importFeed<T>(
  database: Database,
  location: string,
  { also, isOfMembers = false, maxFileBytes, open = openFeed, isAnswered, onRead, ...importer }: FeedImport<T>,
  { json = false, strict = false }: FeedFlags,
): Promise<void> {
  const report = new ImportReport(process.stderr);
  const { signal, release } = stopSignal();
  try {
    const limits = { ...(also && { also }), isOfMembers, ...(maxFileBytes !== undefined && { maxFileBytes }) };
    await runImport({
      files: open(location, { report, signal, ...limits }),
      ...importer,
      database,
      report,
      signal,
      isStrict: strict,
    });
    const { read, refused } = report.summary;
    if (!signal.aborted && read > refused) await onRead?.();
  } finally {
    release();
    report.end();
    const { summary } = report;
    process.stdout.write(`${json ? JSON.stringify(summary) : summaryText(summary)}\n`);
  }
  if (signal.aborted) throw new CommandFailure("stopped; run the command again to continue");
  const { refused, read } = report.summary;
  if (refused > 0) throw new CommandFailure(`${refused} refused`);
  if (read === 0 && isAnswered?.() !== true)
    throw new CommandFailure(`${location}: contains nothing that could be read`);
}

/** Reads items from files of JSON or YAML records. An invalid record does not affect the others of its file. */
export function recordReader<T>(
  read: (value: unknown, unread: Unread, name: string) => Iterable<Omit<ImportItem<T>, "name"> | FeedRefusal>,
): (file: FeedFile, unread: Unread) => Promise<(ImportItem<T> | FeedRefusal)[]> {
  return async (file, unread) => {
    const items: (ImportItem<T> | FeedRefusal)[] = [];
    for (const { name, value } of await parseRecords(file)) {
      try {
        for (const item of read(value, unread, name))
          items.push(item instanceof FeedRefusal ? item : { ...item, name });
      } catch (error) {
        if (!(error instanceof FeedRefusal)) throw error;
        items.push(error);
      }
    }
    return items;
  };
}
