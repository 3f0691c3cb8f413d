/**
 * Rows that follow from other rows, brought up to what this version of the program makes of them: the merges of feeds, when their order has changed or
 * they are merged in another way, and the places of versions, when they are compared in another way. What is so already is not written.
 */
import { type FeedResource, mergeAgain, readFeedOrder } from "../resource/index.ts";
import type { Database, ReadSession, WriteSession } from "../store/index.ts";

/** Looks at a portion of rows after `after`; where the next one begins, if there is one. */
export type RefreshPortion = (session: WriteSession, nowMs: number, after?: string) => Promise<string | undefined>;

/** What is derived, and how to derive it again. */
export interface Derived {
  // biome-ignore lint/suspicious/noExplicitAny: resources of any kind; what is merged is what was read
  readonly feeds: readonly FeedResource<any>[];
  readonly versions: RefreshPortion;
}

/** How rows are derived: a higher number where this program does it in another way. */
const ways = { feeds: 1, versions: 1 };
const settingName = "derived";

interface State {
  readonly feeds: number;
  readonly versions: number;
  readonly feedOrder: readonly string[];
}

/** Derives again what was derived in another way. It may be interrupted: the next call goes on. */
export async function refreshDerived(database: Database, { feeds, versions }: Derived, now: () => number) {
  const state = await readState(database.read);
  const feedOrder = await readFeedOrder(database.read);
  if (state.versions !== ways.versions) await all(database, versions, now);
  if (state.feeds !== ways.feeds || JSON.stringify(state.feedOrder) !== JSON.stringify(feedOrder))
    for (const feed of feeds)
      await all(database, (session, nowMs, after) => mergeAgain(feed, session, nowMs, after), now);
  const refreshed: State = { ...ways, feedOrder };
  if (JSON.stringify(state) !== JSON.stringify(refreshed))
    await database.transact((session) => session.putSetting(settingName, Buffer.from(JSON.stringify(refreshed))));
}

async function all(database: Database, portion: RefreshPortion, now: () => number): Promise<void> {
  let after: string | undefined;
  do after = await database.transact((session) => portion(session, now(), after));
  while (after !== undefined);
}

async function readState(session: ReadSession): Promise<State> {
  const bytes = await session.setting(settingName);
  const none: State = { feeds: 0, versions: 0, feedOrder: [] };
  return bytes === undefined ? none : (JSON.parse(Buffer.from(bytes).toString()) as State);
}
