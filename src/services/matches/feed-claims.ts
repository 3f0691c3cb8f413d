/**
 * What is known of the feeds themselves: when each was imported last, and which packages it says that it lists
 * completely. It is one setting for all feeds, which are few.
 */
import { type FeedScope, FeedScopes } from "../../matching/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { changeRevision } from "./revision.ts";

/** Packages that a feed is complete for. */
export type FeedClaim = Omit<FeedScope, "feed">;

/** A feed that was imported to its end. */
export interface ImportedFeed {
  /** Its name. Feeds of different commands may have the same. */
  readonly feed: string;
  /** The command that imports it: `osv`. */
  readonly command: string;
  /** When, in milliseconds since 1970. */
  readonly importMs: number;
  readonly claims: readonly FeedClaim[];
}

const setting = "imported_feeds";

/** All feeds, by command and name. */
export async function readFeeds(session: ReadSession): Promise<readonly ImportedFeed[]> {
  const bytes = await session.setting(setting);
  return bytes === undefined ? [] : (JSON.parse(Buffer.from(bytes).toString()) as ImportedFeed[]);
}

/**
 * Stores that a feed was imported. The transaction must be serializable.
 * @param claims undefined: those that are stored, or else `defaults`.
 */
export async function saveFeed(
  session: WriteSession,
  {
    claims,
    defaults = [],
    ...imported
  }: Omit<ImportedFeed, "claims"> & {
    readonly claims: readonly FeedClaim[] | undefined;
    readonly defaults?: readonly FeedClaim[];
  },
): Promise<void> {
  await session.lockSetting(setting);
  const feeds = await readFeeds(session);
  const isSame = ({ feed, command }: ImportedFeed) => feed === imported.feed && command === imported.command;
  const before = feeds.find(isSame);
  const stored = before === undefined || before.claims.length === 0 ? defaults : before.claims;
  const all = [...feeds.filter((each) => !isSame(each)), { ...imported, claims: claims ?? stored }];
  all.sort((a, b) => (`${a.command}\0${a.feed}` < `${b.command}\0${b.feed}` ? -1 : 1));
  if (JSON.stringify(before?.claims ?? []) !== JSON.stringify(claims ?? stored))
    await changeRevision(session, "everything");
  await session.putSetting(setting, Buffer.from(JSON.stringify(all)));
}

/** Which packages each feed is complete for. */
export async function feedClaims(session: ReadSession): Promise<FeedScopes> {
  const feeds = await readFeeds(session);
  return new FeedScopes(feeds.flatMap(({ feed, claims }) => claims.map((claim) => ({ feed, ...claim }))));
}
