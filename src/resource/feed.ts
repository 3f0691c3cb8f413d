/**
 * A resource that several feeds tell of: each feed has rows of its own, and the resource's row is the merge of what they say, made again in the
 * transaction that changes any of them. So an import sees and changes only what its own feed said, and feeds that differ do not overwrite one another.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Condition, ReadSession, Row, TableSpec, WriteSession } from "../store/index.ts";
import { fixedUid } from "../uid.ts";
import type { Resource } from "./declaration.ts";
import type { Pruned } from "./prune.ts";
import { messageOf } from "./record.ts";
import { preparedContent, type Saved, saveResource } from "./save.ts";

/** How a resource is merged. */
export interface FeedResource<R extends DescMessage> {
  readonly resource: Resource<R>;
  /** The rows of the feeds, made by {@link feedRows}. */
  readonly rows: TableSpec;
  /** One message of what feeds say of one thing, the feed that comes first before the others. */
  merge(said: readonly MessageShape<R>[], uid: string): MessageShape<R>;
}

/** One thing as a feed says it. */
export interface SaidByFeed<M> {
  /** The uid of the resource, which follows from what the thing is and not from the feed. */
  readonly uid: string;
  readonly parent: string;
  readonly message: M;
}

/** The feed of what was imported before feeds had names; it comes last. */
export const defaultFeed = "default";

const orderSetting = "feed_order";
/** Rows read or written at once. */
const portion = 200;

/** The table of what feeds say: `merged` is the uid of the resource. */
export function feedRows(name: string): TableSpec {
  return { name, facets: { feed: "text", merged: "text" } };
}

/** Stores what a feed says, each thing once. Errors: INVALID_ARGUMENT for a value rule; then the transaction must be given up. */
export async function saveOfFeed<R extends DescMessage>(
  of: FeedResource<R>,
  session: WriteSession,
  feed: string,
  things: readonly SaidByFeed<MessageShape<R>>[],
  nowMs: number,
): Promise<Saved[]> {
  const stored = await session.getMany(
    of.rows,
    things.map(({ uid }) => rowUid(feed, uid)),
  );
  const changed = new Map<string, MessageShape<R>>();
  const saved: Saved[] = [];
  for (const { uid, parent, message } of things) {
    const { body } = preparedContent(of.resource, message);
    const row = stored.get(rowUid(feed, uid));
    const isSame = row !== undefined && Buffer.compare(row.body, body) === 0;
    saved.push(row === undefined ? "added" : isSame ? "unchanged" : "changed");
    if (isSame) continue;
    changed.set(uid, message);
    const updateTimeUs = nowMs * 1000;
    if (row !== undefined) await session.update(of.rows, { ...row, body, updateTimeUs });
    else {
      const spine = { uid: rowUid(feed, uid), parent, createTimeUs: updateTimeUs, updateTimeUs };
      await session.insert(of.rows, { ...spine, body, facets: { feed, merged: uid } });
    }
  }
  await mergeRows(of, session, [...changed.keys()], nowMs, changed);
  return saved;
}

/** Removes what a feed says of some things; how many of them it spoke of. */
export async function removeOfFeed(
  of: FeedResource<DescMessage>,
  session: WriteSession,
  feed: string,
  uids: readonly string[],
  nowMs: number,
): Promise<number> {
  const gone: string[] = [];
  for (const uid of uids) if ((await session.remove(of.rows, rowUid(feed, uid))) !== undefined) gone.push(uid);
  await mergeRows(of, session, gone, nowMs);
  return gone.length;
}

/** Looks at the next things that a feed says something of, below `parent`, after the row `after`, and removes what it says of those not to be kept. */
export async function pruneOfFeed<R extends DescMessage>(
  of: FeedResource<R>,
  session: WriteSession,
  { feed, parent, nowMs, after }: { feed: string; parent: string; nowMs: number; after: string | undefined },
  isKept: (message: MessageShape<R>) => boolean,
): Promise<Pruned> {
  const { rows, next } = await nextRows(of.rows, session, [{ column: "feed", equals: feed }], { parent, after });
  const gone = rows.filter((row) => !isKept(messageOf(of.resource, row)));
  for (const { uid } of gone) await session.remove(of.rows, uid);
  await mergeRows(of, session, gone.map(mergedOf), nowMs);
  return { removed: gone.length, next };
}

/** Merges again what is said in the next rows after `after`; where the next portion begins. */
export async function mergeAgain(
  of: FeedResource<DescMessage>,
  session: WriteSession,
  nowMs: number,
  after?: string,
): Promise<string | undefined> {
  const { rows, next } = await nextRows(of.rows, session, [], { after });
  await mergeRows(of, session, [...new Set(rows.map(mergedOf))], nowMs);
  return next;
}

/** The feeds that come before the others, the first first. */
export async function readFeedOrder(session: ReadSession): Promise<readonly string[]> {
  const bytes = await session.setting(orderSetting);
  return bytes === undefined ? [] : (JSON.parse(Buffer.from(bytes).toString()) as string[]);
}

/** Stores the order of the feeds; what they say must be merged again. */
export function writeFeedOrder(session: WriteSession, names: readonly string[]): Promise<void> {
  return session.putSetting(orderSetting, Buffer.from(JSON.stringify(names)));
}

/**
 * The entries of several lists together, newest first: of those with one key the entries of the first list that has any, so that an entry is whole as
 * one feed has it. Entries of the same time keep their order.
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

/** Writes the merge of what is said of each of these, and removes those that nobody speaks of any more. */
async function mergeRows<R extends DescMessage>(
  of: FeedResource<R>,
  session: WriteSession,
  uids: readonly string[],
  nowMs: number,
  known: ReadonlyMap<string, MessageShape<R>> = new Map(),
): Promise<void> {
  const { table } = of.resource;
  const compare = uids.length === 0 ? undefined : inOrder(await readFeedOrder(session));
  for (let start = 0; start < uids.length; start += portion) {
    const some = uids.slice(start, start + portion);
    const existing = await session.getMany(table, some);
    const said = await rowsByMerged(of.rows, session, some);
    for (const uid of some) {
      const rows = said.get(uid);
      if (rows === undefined) await session.remove(table, uid);
      else {
        const only = rows.length === 1 ? known.get(uid) : undefined;
        const messages = only === undefined ? rows.sort(compare).map((row) => messageOf(of.resource, row)) : [only];
        const message = of.merge(messages, uid);
        const { parent } = rows[0]!;
        await saveResource(of.resource, session, { uid, parent, message, nowMs, existing: existing.get(uid) });
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
  for (let after: readonly string[] | undefined; ; ) {
    const rows = await session.list(table, { where, orderBy, ...(after && { after }), skip: 0, limit: portion });
    for (const row of rows) {
      const others = found.get(mergedOf(row));
      if (others === undefined) found.set(mergedOf(row), [row]);
      else others.push(row);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < portion) return found;
    after = [mergedOf(last), last.uid];
  }
}

async function nextRows(
  table: TableSpec,
  session: ReadSession,
  where: readonly Condition[],
  { parent, after }: { readonly parent?: string; readonly after: string | undefined },
): Promise<{ readonly rows: readonly Row[]; readonly next: string | undefined }> {
  const rows = await session.list(table, {
    where,
    ...(parent !== undefined && { parent }),
    orderBy: [{ column: "uid", descending: false }],
    ...(after !== undefined && { after: [after] }),
    skip: 0,
    limit: portion,
  });
  return { rows, next: rows.length < portion ? undefined : rows.at(-1)!.uid };
}

/** Compares rows by their feeds: those named in the order first, then the others by name, then what has no name of its own. */
function inOrder(names: readonly string[]): (a: Row, b: Row) => number {
  const rankOf = ({ facets }: Row): number => {
    const place = names.indexOf(facets.feed as string);
    return place >= 0 ? place : names.length + (facets.feed === defaultFeed ? 1 : 0);
  };
  return (a, b) => rankOf(a) - rankOf(b) || ((a.facets.feed as string) < (b.facets.feed as string) ? -1 : 1);
}

function mergedOf({ facets }: Row): string {
  return facets.merged as string;
}

/** The rows of the default feed were the resource's own. */
function rowUid(feed: string, uid: string): string {
  if (feed === defaultFeed) return uid;
  const slash = uid.lastIndexOf("/");
  const own = fixedUid("feed", feed, uid);
  return slash < 0 ? own : `${uid.slice(0, slash)}/${own.slice(0, 16)}`;
}
