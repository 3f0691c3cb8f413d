/**
 * Runs an import: reads files into items, writes the items in batches, and optionally removes what the feed does not
 * have.
 *
 * Nothing is remembered between runs. Stored items are found unchanged, so an interrupted import continues when it is
 * run again. An item is stored completely or not at all. Nothing is removed unless all of the feed was read: not after
 * a refusal or an interruption, and not for an empty feed.
 */
import type { Database, WriteSession } from "../../store/index.ts";
import type { Unread } from "../records/fields.ts";
import type { FeedFile } from "../source/feed.ts";
import { FeedRefusal } from "../source/refusal.ts";
import { SeenIds } from "../source/seen-ids.ts";
import { Batches } from "./batches.ts";
import type { ImportOutcome, ImportReport } from "./report.ts";

/** An item of an import. */
export interface ImportItem<T> {
  /**
   * Unique in the feed: a second item with the same id is refused. An item without id is not protected from removal.
   */
  readonly id?: string;
  /** Location in the feed, for messages; the name of the file by default. */
  readonly name?: string;
  readonly value: T;
}

/** Counts of rows of a saved item. */
type SavedItem = Readonly<Partial<Record<ImportOutcome, number>>>;

/** The result of one transaction that removes rows. */
export interface PrunedPortion {
  readonly removed: number;
  /** `after` of the next transaction; undefined if this was the last. */
  readonly next: string | undefined;
}

/** Removes, from a portion of the rows after the uid `after`, those that are not kept. */
export type Prune = (
  session: WriteSession,
  isKept: (id: string) => boolean,
  after: string | undefined,
) => Promise<PrunedPortion>;

/** Options of {@link runImport}. */
export interface ImportOptions<T> {
  readonly files: AsyncIterable<FeedFile>;
  /** The items of a file, with refusals in place of invalid ones. Errors: FeedRefusal for the whole file. */
  read(
    file: FeedFile,
    unread: Unread,
  ): Promise<Iterable<ImportItem<T> | FeedRefusal>> | Iterable<ImportItem<T> | FeedRefusal>;
  /** Saves an item. INVALID_ARGUMENT and FeedRefusal refuse the item; any other error ends the import. */
  save(session: WriteSession, item: T, nowMs: number): Promise<SavedItem>;
  /** Removals to run in this order, one for each type of row. */
  readonly prune?: readonly Prune[];
  readonly database: Database;
  readonly report: ImportReport;
  /** Ends the import after the current batch. */
  readonly signal?: AbortSignal;
  readonly batches?: Batches;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Ready<T> {
  readonly name: string;
  readonly value: T;
  /** Size of the file for its first item; 0 for the others. */
  readonly bytes: number;
}

/** Limit of the sizes of files whose items wait to be written. */
const maxReadyBytes = 1024 * 1024;

/** Runs an import. Its results are in the report. Errors: those of `save` and of the database. */
export async function runImport<T>(options: ImportOptions<T>): Promise<void> {
  const { database, report, signal, save, now = Date.now } = options;
  const batches = options.batches ?? new Batches({ database });
  const seen = new SeenIds();
  const ready: Ready<T>[] = [];
  let readyBytes = 0;

  async function writeBatch(): Promise<void> {
    const nowMs = now();
    const results = await batches.write(ready, (session, { value }) => save(session, value, nowMs));
    for (const [i, { name, bytes }] of ready.splice(0, results.length).entries()) {
      readyBytes -= bytes;
      const result = results[i]!;
      if (result instanceof FeedRefusal) report.refuse(name, result.message);
      else for (const [what, times] of Object.entries(result)) report.count(what as ImportOutcome, times);
    }
  }

  for await (const item of itemsOf(options, seen)) {
    ready.push(item);
    readyBytes += item.bytes;
    if (readyBytes >= maxReadyBytes || batches.isDue(ready.length)) await writeBatch();
    if (signal?.aborted) return;
  }
  while (ready.length > 0 && !signal?.aborted) await writeBatch();
  if (options.prune !== undefined && !signal?.aborted) await pruneAll(options.prune, batches, seen, options);
}

async function* itemsOf<T>({ files, read, report }: ImportOptions<T>, seen: SeenIds): AsyncGenerator<Ready<T>> {
  for await (const file of files) {
    let { length: bytes } = file.bytes;
    try {
      for (const item of await read(file, (member) => report.unread(member, file.name))) {
        if (item instanceof FeedRefusal) report.refuse(file.name, item.message);
        else if (item.id !== undefined && !seen.add(item.id))
          report.refuse(item.name ?? file.name, `${JSON.stringify(item.id)} occurs twice in the feed`);
        else {
          yield { name: item.name ?? file.name, value: item.value, bytes };
          bytes = 0;
        }
      }
    } catch (error) {
      if (!(error instanceof FeedRefusal)) throw error;
      report.refuse(file.name, error.message);
    }
  }
}

async function pruneAll(
  prunes: readonly Prune[],
  batches: Batches,
  seen: SeenIds,
  { report, signal }: Pick<ImportOptions<unknown>, "report" | "signal">,
): Promise<void> {
  if (report.summary.refused > 0) return report.print("nothing was removed, because not all of the feed could be read");
  if (seen.size === 0) return report.refuse("the feed", "is empty: nothing was removed");
  for (const prune of prunes) {
    let after: string | undefined;
    do {
      if (signal?.aborted) return;
      const portion = await batches.transact((session) => prune(session, (id) => seen.has(id), after));
      report.count("removed", portion.removed);
      after = portion.next;
    } while (after !== undefined);
  }
}
