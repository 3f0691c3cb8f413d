/**
 * Runs an import: reads files into items, writes the items in batches, and optionally removes what the feed does not
 * have.
 *
 * Nothing is remembered between runs. Stored items are found unchanged, so an interrupted import continues when it is
 * run again. An item is stored completely or not at all.
 *
 * Equal items of one id count once. Of several that differ, the first of each part is stored, the others are refused.
 *
 * Nothing is removed unless it is known that the feed does not have it: not after an interruption, not if a part of the
 * feed could not be read or parsed, not what was refused, and nothing at all for a feed without items.
 */
import { createHash } from "node:crypto";
import type { Database, WriteSession } from "../../store/index.ts";
import type { Unread } from "../records/fields.ts";
import type { FeedFile } from "../source/feed.ts";
import { FeedRefusal, ForeignRecord } from "../source/refusal.ts";
import { SeenIds } from "../source/seen-ids.ts";
import { Batches } from "./batches.ts";
import type { ImportOutcome, ImportReport } from "./report.ts";

/** An item of an import. */
export interface ImportItem<T> {
  /** What is stored under it is not removed. */
  readonly id: string;
  /** The part of what is stored under the id that this item replaces; "" for all of it. */
  readonly part?: string;
  /** All of the item, to tell equal items of one id from others; absent if the reader has merged them. */
  readonly content?: Uint8Array;
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

/** The ids of the items of a feed. */
export interface FeedIds {
  /** Whether the feed has an item of this id, refused or not. */
  has(id: string): boolean;
  /** Whether the feed has an item of this id that was refused. */
  isRefused(id: string): boolean;
}

/** Removes, from a portion of the rows after the uid `after`, those that the feed does not have. */
export type Prune = (session: WriteSession, ids: FeedIds, after: string | undefined) => Promise<PrunedPortion>;

/** Options of {@link runImport}. */
export interface ImportOptions<T> {
  readonly files: AsyncIterable<FeedFile>;
  /** The items of a file, with refusals in place of invalid ones. Errors: FeedRefusal for the whole file. */
  read(
    file: FeedFile,
    unread: Unread,
  ): Promise<Iterable<ImportItem<T> | FeedRefusal>> | Iterable<ImportItem<T> | FeedRefusal>;
  /** Why nothing can be matched with parts of an item, in words for people, once for each part. */
  unmatched?(item: T): readonly string[];
  /** Saves an item. INVALID_ARGUMENT and FeedRefusal refuse the item; any other error ends the import. */
  save(session: WriteSession, item: T, nowMs: number): Promise<SavedItem>;
  /** Writes what follows from the items that a transaction has saved, before it ends. */
  finish?(session: WriteSession): Promise<void>;
  /** Removals to run in this order, one for each type of row. */
  readonly prune?: readonly Prune[];
  /** Refuses foreign records, which are skipped otherwise. */
  readonly isStrict?: boolean;
  readonly database: Database;
  readonly report: ImportReport;
  /** Ends the import after the current batch. */
  readonly signal?: AbortSignal;
  readonly batches?: Batches;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Ready<T> {
  readonly id: string;
  readonly name: string;
  readonly value: T;
  /** Size of the file for its first item; 0 for the others. */
  readonly bytes: number;
}

/** What is known of the items that were read. */
class ReadItems implements FeedIds {
  readonly #ids = new SeenIds();
  readonly #refused = new SeenIds();
  readonly #parts = new SeenIds();
  readonly #contents = new SeenIds();
  /** Whether the ids of all items are known. */
  isComplete = true;

  get isEmpty(): boolean {
    return this.#ids.size === 0;
  }

  /** Adds an item. Returns a refusal if one of the same id and part, but with another content, was added before. */
  add({ id, part = "", content }: ImportItem<unknown>): "first" | "equal" | FeedRefusal {
    this.#ids.add(id);
    if (content === undefined) return "first";
    const digest = createHash("sha256").update(content).digest("base64");
    if (!this.#contents.add(JSON.stringify([id, digest]))) return "equal";
    if (this.#parts.add(JSON.stringify([id, part]))) return "first";
    return new FeedRefusal(`${JSON.stringify(id)} occurs twice in the feed`, { ids: [id] });
  }

  refuse({ ids }: FeedRefusal): void {
    if (ids === undefined) this.isComplete = false;
    for (const id of ids ?? []) this.#refused.add(id);
  }

  has(id: string): boolean {
    return this.#ids.has(id) || this.isRefused(id);
  }

  isRefused(id: string): boolean {
    return this.#refused.has(id);
  }
}

/** Limit of the sizes of files whose items wait to be written. */
const maxReadyBytes = 1024 * 1024;
const lfsPointer = "version https://git-lfs.github.com/spec/";

/** Runs an import. Its results are in the report. Errors: those of `save` and of the database. */
export async function runImport<T>(options: ImportOptions<T>): Promise<void> {
  const { database, report, signal, save, now = Date.now } = options;
  const batches = options.batches ?? new Batches({ database });
  const items = new ReadItems();
  const ready: Ready<T>[] = [];
  let readyBytes = 0;

  async function writeBatch(): Promise<void> {
    const nowMs = now();
    const finish = (session: WriteSession) => options.finish?.(session) ?? Promise.resolve();
    const results = await batches.write(ready, (session, { value }) => save(session, value, nowMs), finish);
    for (const [i, { id, name, bytes }] of ready.splice(0, results.length).entries()) {
      readyBytes -= bytes;
      const result = results[i]!;
      if (result instanceof FeedRefusal) {
        items.refuse(result.of([id]));
        report.refuseRecord(name, result.message);
      } else for (const [what, times] of Object.entries(result)) report.count(what as ImportOutcome, times);
    }
  }

  for await (const item of itemsOf(options, items)) {
    ready.push(item);
    readyBytes += item.bytes;
    if (readyBytes >= maxReadyBytes || batches.isDue(ready.length)) await writeBatch();
    if (signal?.aborted) return;
  }
  while (ready.length > 0 && !signal?.aborted) await writeBatch();
  if (options.prune !== undefined && !signal?.aborted) await pruneAll(options.prune, batches, items, options);
}

async function* itemsOf<T>(options: ImportOptions<T>, items: ReadItems): AsyncGenerator<Ready<T>> {
  const { files, read, report, isStrict = false } = options;

  function refuse(name: string, refusal: FeedRefusal): void {
    if (refusal instanceof ForeignRecord && (refusal.isIndex || !isStrict)) report.skip(name);
    else {
      items.refuse(refusal);
      report.refuseRecord(name, refusal.message);
    }
  }

  for await (const file of files) {
    let { length: bytes } = file.bytes;
    try {
      if (isLfsPointer(file)) throw new ForeignRecord("is a pointer of Git LFS, without the file itself");
      for (const item of await read(file, (member) => report.unread(member, file.name))) {
        if (item instanceof FeedRefusal) {
          refuse(file.name, item);
          continue;
        }
        const { id, name = file.name, value } = item;
        const added = items.add(item);
        if (added instanceof FeedRefusal) refuse(name, added);
        else if (added === "first") {
          for (const reason of options.unmatched?.(value) ?? []) report.unmatched(reason, name);
          yield { id, name, value, bytes };
          bytes = 0;
        }
      }
    } catch (error) {
      if (!(error instanceof FeedRefusal)) throw error;
      refuse(file.name, error);
    }
  }
}

/** Whether a file of a git checkout is only a pointer (git-lfs, `docs/spec.md`). */
function isLfsPointer({ bytes }: FeedFile): boolean {
  return Buffer.from(bytes.subarray(0, lfsPointer.length)).toString("latin1") === lfsPointer;
}

async function pruneAll(
  prunes: readonly Prune[],
  batches: Batches,
  items: ReadItems,
  { report, signal }: Pick<ImportOptions<unknown>, "report" | "signal">,
): Promise<void> {
  const isUnread = !items.isComplete || !report.isComplete || (items.isEmpty && report.summary.refused > 0);
  if (isUnread) return report.print("nothing was removed, because not all of the feed could be read");
  if (items.isEmpty) return report.refuse("the feed", "is empty: nothing was removed");
  for (const prune of prunes) {
    let after: string | undefined;
    do {
      if (signal?.aborted) return;
      const portion = await batches.transact((session) => prune(session, items, after));
      report.count("removed", portion.removed);
      after = portion.next;
    } while (after !== undefined);
  }
}
