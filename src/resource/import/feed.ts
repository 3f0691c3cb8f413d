/**
 * A resource that several feeds describe. Each feed has rows of its own, several for a resource that it describes in
 * parts. The row of the resource is the merge of these, computed again in the transaction that changes any of them. So
 * an import reads and changes only the rows of its own feed, and feeds do not overwrite one another.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { fixedUid } from "../../new-uid.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";
import type { Resource } from "../declaration.ts";
import { messageOf, newRow } from "../row-mapping.ts";
import { nextRows } from "./next-rows.ts";
import type { Pruned } from "./prune.ts";
import { preparedContent, type Saved, type SavedChange, saveResource } from "./save.ts";

/** How a resource is merged. */
export interface FeedResource<R extends DescMessage> {
  readonly resource: Resource<R>;
  /** The rows of the feeds, made by {@link feedRows}. */
  readonly rows: TableSpec;
  /** Merges the messages of the feeds about one resource, given in the order of the feeds. */
  merge(messages: readonly MessageShape<R>[], uid: string): MessageShape<R>;
}

/** A resource as one feed describes it. */
export interface FeedEntry<M> {
  /** The uid of the resource, derived from its identity and not from the feed. */
  readonly uid: string;
  readonly parent: string;
  readonly message: M;
}

/** What a feed writes, and when. */
export interface FeedWrite {
  readonly feed: string;
  /** The part of the feed that describes the resources; "" for a feed without parts. */
  readonly part?: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Called with the uid of each row of the feed that is stored, whether it has changed or not. */
  readonly onRow?: ((uid: string) => void) | undefined;
  /** Called for each resource that is another one after the merge. */
  readonly onChange?: ((change: SavedChange) => void) | undefined;
}

/** The feed of rows that were imported before feeds had names. It comes last. */
export const defaultFeed = "default";

/** The feed of what is written through the API. */
export const apiFeed = "api";

/** The setting with the order of the feeds. */
export const feedOrderSetting = "feed_order";
/** The rows that are read or written at once. */
const portion = 200;

/** A table of the rows of feeds. `merged` is the uid of the resource. */
export function feedRows(name: string): TableSpec {
  return { name, columns: { feed: "text", merged: "text" } };
}

/**
 * Stores the resources of a feed, each at most once. Errors: INVALID_ARGUMENT for a value rule; then the transaction
 * must be rolled back.
 */
export async function saveOfFeed<R extends DescMessage>(
  of: FeedResource<R>,
  session: WriteSession,
  write: FeedWrite,
  entries: readonly FeedEntry<MessageShape<R>>[],
): Promise<Saved[]> {
  const { feed, nowMs, onRow } = write;
  const stored = await session.getMany(
    of.rows,
    entries.map(({ uid }) => rowUid(write, uid)),
  );
  const changed = new Map<string, MessageShape<R>>();
  const saved: Saved[] = [];
  for (const { uid, parent, message } of entries) {
    const { body } = preparedContent(of.resource, message);
    const ofFeed = rowUid(write, uid);
    onRow?.(ofFeed);
    const row = stored.get(ofFeed);
    const isSame = row !== undefined && Buffer.compare(row.body, body) === 0;
    saved.push(row === undefined ? "added" : isSame ? "unchanged" : "changed");
    if (isSame) continue;
    changed.set(uid, message);
    if (row !== undefined) await session.update(of.rows, { ...row, body, updateTimeUs: nowMs * 1000 });
    else {
      const content = { body, columns: { feed, merged: uid } };
      await session.insert(of.rows, newRow(ofFeed, parent, nowMs, content));
    }
  }
  await mergeRows(of, session, [...changed.keys()], write, changed);
  return saved;
}

/** A resource as one feed describes it; undefined when it does not. */
export async function readOfFeed<R extends DescMessage>(
  of: FeedResource<R>,
  session: ReadSession,
  feed: string,
  uid: string,
): Promise<MessageShape<R> | undefined> {
  const row = await session.get(of.rows, rowUid({ feed }, uid));
  return row && messageOf(of.resource, row);
}

/** Removes the rows of a feed about these resources and returns how many there were. */
export async function removeOfFeed(
  of: FeedResource<DescMessage>,
  session: WriteSession,
  write: FeedWrite,
  uids: readonly string[],
): Promise<number> {
  const gone: string[] = [];
  for (const uid of uids) if ((await session.remove(of.rows, rowUid(write, uid))) !== undefined) gone.push(uid);
  await mergeRows(of, session, gone, write);
  return gone.length;
}

/** Checks the next rows of a feed below `parent`, after the row `after`, and removes those that are not to be kept. */
export async function pruneOfFeed<R extends DescMessage>(
  of: FeedResource<R>,
  session: WriteSession,
  { parent, after, ...write }: FeedWrite & { readonly parent: string; readonly after: string | undefined },
  isKept: (message: MessageShape<R>, rowUid: string) => boolean,
): Promise<Pruned> {
  const where = [{ column: "feed", equals: write.feed }];
  const { rows, next } = await nextRows(session, of.rows, { where, parent, limit: portion }, after);
  const gone = rows.filter((row) => !isKept(messageOf(of.resource, row), row.uid));
  for (const { uid } of gone) await session.remove(of.rows, uid);
  await mergeRows(of, session, [...new Set(gone.map(mergedOf))], write);
  return { removed: gone.length, next };
}

/** Merges the resources of the next rows after `after` again. Returns where the next portion begins. */
export async function mergeAgain(
  of: FeedResource<DescMessage>,
  session: WriteSession,
  nowMs: number,
  after?: string,
): Promise<string | undefined> {
  const { rows, next } = await nextRows(session, of.rows, { limit: portion }, after);
  await mergeRows(of, session, [...new Set(rows.map(mergedOf))], { nowMs });
  return next;
}

/** The order of the feeds, the most significant first; feeds that are not in it follow. */
export async function readFeedOrder(session: ReadSession): Promise<readonly string[]> {
  const bytes = await session.setting(feedOrderSetting);
  return bytes === undefined ? [] : (JSON.parse(Buffer.from(bytes).toString()) as string[]);
}

/** Stores the order of the feeds. The caller must merge all resources again. */
export function writeFeedOrder(session: WriteSession, names: readonly string[]): Promise<void> {
  return session.putSetting(feedOrderSetting, Buffer.from(JSON.stringify(names)));
}

/**
 * Merges lists, newest entry first. Of the entries with one key, those of the first list that has any are kept, so that
 * an entry is as one feed has it. Entries with the same time keep their order.
 */
export function mergeEntries<E>(
  lists: readonly (readonly E[])[],
  keyOf: (entry: E) => string,
  timeOf: (entry: E) => number,
): E[] {
  const owners = new Map<string, number>();
  const merged = lists.flatMap((list, i) =>
    list.filter((entry) => {
      const key = keyOf(entry);
      const owner = owners.get(key) ?? i;
      owners.set(key, owner);
      return owner === i;
    }),
  );
  return merged.sort((a, b) => timeOf(b) - timeOf(a));
}

/** Writes the merge of each of these resources, and removes those that no feed has any more. */
async function mergeRows<R extends DescMessage>(
  of: FeedResource<R>,
  session: WriteSession,
  uids: readonly string[],
  { nowMs, onChange }: Omit<FeedWrite, "feed">,
  known: ReadonlyMap<string, MessageShape<R>> = new Map(),
): Promise<void> {
  const { resource } = of;
  const { table } = resource;
  const compare = uids.length === 0 ? undefined : inOrder(await readFeedOrder(session));
  for (let start = 0; start < uids.length; start += portion) {
    const some = uids.slice(start, start + portion);
    const existing = await session.getMany(table, some);
    const ofFeeds = await rowsByMerged(of.rows, session, some);
    for (const uid of some) {
      const rows = ofFeeds.get(uid);
      if (rows === undefined) {
        const row = await session.remove(table, uid);
        if (row !== undefined) onChange?.({ kind: "deleted", resource, row });
      } else {
        const only = rows.length === 1 ? known.get(uid) : undefined;
        const messages = only === undefined ? rows.sort(compare).map((row) => messageOf(resource, row)) : [only];
        const message = of.merge(messages, uid);
        const { parent } = rows[0]!;
        const request = { uid, parent, message, nowMs, existing: existing.get(uid) };
        await saveResource(resource, session, { ...request, ...(onChange && { onChange }) });
      }
    }
  }
}

async function rowsByMerged(
  table: TableSpec,
  session: ReadSession,
  uids: readonly string[],
): Promise<ReadonlyMap<string, Row[]>> {
  const found = new Map<string, Row[]>();
  const where = [{ column: "merged", in: uids }];
  const orderBy = [{ column: "merged", descending: false }]; // of the index that finds them
  for await (const rows of session.pages(table, { where, orderBy, limit: portion })) {
    for (const row of rows) {
      const others = found.get(mergedOf(row));
      if (others === undefined) found.set(mergedOf(row), [row]);
      else others.push(row);
    }
  }
  return found;
}

/**
 * Compares rows by their feeds: those in the order first, then the others by name, then the default feed. The parts of
 * a feed have a fixed order.
 */
function inOrder(names: readonly string[]): (a: Row, b: Row) => number {
  const rankOf = ({ columns }: Row): number => {
    const place = names.indexOf(columns.feed as string);
    return place >= 0 ? place : names.length + (columns.feed === defaultFeed ? 1 : 0);
  };
  const keyOf = ({ columns, uid }: Row) => `${columns.feed}\0${uid}`;
  return (a, b) => rankOf(a) - rankOf(b) || (keyOf(a) < keyOf(b) ? -1 : 1);
}

function mergedOf({ columns }: Row): string {
  return columns.merged as string;
}

/** The rows of the default feed have the uids of the resources, unless it has parts. */
function rowUid({ feed, part = "" }: Pick<FeedWrite, "feed" | "part">, uid: string): string {
  if (feed === defaultFeed && part === "") return uid;
  const slash = uid.lastIndexOf("/");
  const own = fixedUid("feed", feed, uid, ...(part === "" ? [] : [part]));
  return slash < 0 ? own : `${uid.slice(0, slash)}/${own.slice(0, 16)}`;
}
