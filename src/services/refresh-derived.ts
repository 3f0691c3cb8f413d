/**
 * Brings rows that are derived from other rows up to date: the merges of feeds, when the order of the feeds or the way
 * of merging has changed, the order of versions, when the way of comparing them has changed, and the components of
 * images. Rows that are up to date are not written.
 */
import { type FeedResource, mergeAgain, readFeedOrder } from "../resource/index.ts";
import type { Database, ReadSession, WriteSession } from "../store/index.ts";

/** Refreshes a portion of rows after `after`. Returns where the next one begins. */
type RefreshPortion = (session: WriteSession, nowMs: number, after?: string) => Promise<string | undefined>;

/** The derived rows, and how to derive them again. */
interface Derived {
  // biome-ignore lint/suspicious/noExplicitAny: resources of any kind
  readonly feeds: readonly FeedResource<any>[];
  readonly versions: RefreshPortion;
  readonly images: RefreshPortion;
}

/** The version of each derivation: a higher number when this program derives in a new way. */
const ways = { feeds: 1, versions: 1, images: 3 };
const settingName = "derived";

interface State {
  readonly feeds: number;
  readonly versions: number;
  /** Absent if an earlier release has written it, which had no components of images. */
  readonly images?: number;
  readonly feedOrder: readonly string[];
}

/** Derives rows again when they were derived in another way. After an interruption the next call continues. */
export async function refreshDerived(database: Database, { feeds, versions, images }: Derived, now: () => number) {
  const state = await readState(database.read);
  const feedOrder = await readFeedOrder(database.read);
  if (state.versions !== ways.versions) await all(database, versions, now);
  if (state.images !== ways.images) await all(database, images, now);
  if (state.feeds !== ways.feeds || JSON.stringify(state.feedOrder) !== JSON.stringify(feedOrder))
    for (const feed of feeds)
      await all(database, (session, nowMs, after) => mergeAgain(feed, session, nowMs, after), now);
  const refreshed: State = { ...ways, feedOrder };
  if (JSON.stringify(state) !== JSON.stringify(refreshed))
    await database.transact((session) => session.putSetting(settingName, Buffer.from(JSON.stringify(refreshed))));
}

/**
 * What {@link refreshDerived} will change that consumers see, in a database with tables, of this schema or an older
 * one.
 */
export async function derivedChanges(session: ReadSession): Promise<readonly string[]> {
  const { feeds } = await readState(session);
  if (feeds === ways.feeds) return [];
  return ["merges what feeds have imported again: documents and advisories that change get a new etag and update time"];
}

async function all(database: Database, portion: RefreshPortion, now: () => number): Promise<void> {
  let after: string | undefined;
  do after = await database.transact((session) => portion(session, now(), after), { isSerializable: true });
  while (after !== undefined);
}

async function readState(session: ReadSession): Promise<State> {
  const bytes = await session.setting(settingName);
  const none: State = { feeds: 0, versions: 0, feedOrder: [] };
  return bytes === undefined ? none : (JSON.parse(Buffer.from(bytes).toString()) as State);
}
