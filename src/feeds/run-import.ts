/**
 * An import from end to end: files become items, items are written in batches, and when all of the feed was read, what it does not have is removed if
 * that is asked for.
 *
 * It needs no memory of earlier runs: what is stored already is found unchanged, so that a run that was killed is continued by running again. An item
 * is stored whole or not at all. Removing what is missing needs the whole feed: after a refusal or an interruption, and for a feed with nothing in it,
 * nothing is.
 */
import type { Database, WriteSession } from "../store/index.ts";
import { Batches } from "./batches.ts";
import type { FeedFile } from "./feed.ts";
import { FeedRefusal, type Unread } from "./fields.ts";
import type { ImportOutcome, ImportReport } from "./import-report.ts";
import { SeenIds } from "./seen-ids.ts";

/** One thing that is stored whole. */
export interface ImportItem<T> {
  /** What tells it from the others of its feed; a second one with the same id is refused. Without one it is told from none, and nothing is kept by it. */
  readonly id?: string;
  /** Where it is in the feed, for people; the file's name by default. */
  readonly name?: string;
  readonly value: T;
}

/** How many rows an item came to. */
export type SavedItem = Readonly<Partial<Record<ImportOutcome, number>>>;

/** What one transaction of removing came to: how many rows, and where the next one begins, if there is one. */
export interface PrunedPortion {
  readonly removed: number;
  readonly next: string | undefined;
}

/** Removes what is not to be kept of a portion of the rows, those after the uid `after`. */
export type Prune = (
  session: WriteSession,
  isKept: (id: string) => boolean,
  after: string | undefined,
) => Promise<PrunedPortion>;

/** What to import, and how. */
export interface ImportOptions<T> {
  readonly files: AsyncIterable<FeedFile>;
  /** The items of a file, with a refusal in place of one that is not taken. Errors: FeedRefusal, for the whole file. */
  read(
    file: FeedFile,
    unread: Unread,
  ): Promise<Iterable<ImportItem<T> | FeedRefusal>> | Iterable<ImportItem<T> | FeedRefusal>;
  /** Stores an item. Errors: INVALID_ARGUMENT and FeedRefusal refuse the item; any other ends the import. */
  save(session: WriteSession, item: T, nowMs: number): Promise<SavedItem>;
  /** One for each kind of row that the import owns, in the order in which they are removed. */
  readonly prune?: readonly Prune[];
  readonly database: Database;
  readonly report: ImportReport;
  /** Ends the import after the batch under way. */
  readonly signal?: AbortSignal;
  readonly batches?: Batches;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Ready<T> {
  readonly name: string;
  readonly value: T;
  /** Bytes of the file it begins; 0 for the items after the first. */
  readonly bytes: number;
}

/** Bytes of files whose items wait to be written. */
const maxReadyBytes = 1024 * 1024;

/** Runs an import; what came of it is in the report. Errors: what a save or the database throws. */
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
          report.refuse(item.name ?? file.name, `${JSON.stringify(item.id)} is there twice in the feed`);
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
  if (report.summary.refused > 0)
    return report.tell("what the feed does not have stays, because not all of it could be read");
  if (seen.size === 0) return report.refuse("the feed", "holds nothing: nothing is removed");
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
