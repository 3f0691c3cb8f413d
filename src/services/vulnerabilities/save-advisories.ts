/**
 * Storing the advisories of feeds about one artifact in a group. The uid of an advisory is derived from artifact and
 * advisory id, and from the product and the subcomponent if it names them, so that importing again finds the advisory
 * and writes only what differs. An advisory is the merge of what each feed has: the fields of the first feed, the
 * aliases of all. An event is identified by its type and time, or by its content when it has no time, and keeps its uid
 * when its text changes.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Advisory,
  type AdvisoryEvent,
  type AdvisorySchema,
  EventTypeFilter,
} from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { notFound } from "../../errors.ts";
import { fixedUid } from "../../new-uid.ts";
import {
  type FeedResource,
  type FeedWrite,
  feedRows,
  mergeEntries,
  type Pruned,
  prepareResource,
  pruneOfFeed,
  type RowChange,
  removeOfFeed,
  type Saved,
  type SavedChange,
  saveOfFeed,
} from "../../resource/index.ts";
import type { Row, WriteSession } from "../../store/index.ts";
import { groups } from "../iam/groups.ts";
import { advisories } from "./advisories.ts";
import { latestEventTerm } from "./advisory-terms.ts";

/** The maximum that the API allows in an advisory. */
const maxEvents = 1000;
const maxAliases = 100;

/** What distinguishes the advisories of a group. */
type Identity = Pick<Advisory, "artifactName" | "advisoryId" | "packageUrl" | "subcomponent">;

/** The number of advisories by result. */
type SavedAdvisories = Record<Saved, number>;

/** What a feed writes, and when. */
interface AdvisoryWrite extends Omit<FeedWrite, "onChange"> {
  /** Called for each advisory that is created, changed or deleted. */
  onChange?(change: RowChange): void;
}

/** Advisories of one group, from a feed. */
interface AdvisoriesToSave extends AdvisoryWrite {
  /** The uid of the group. */
  readonly group: string;
  /** Distinct. Their uids are set here. */
  readonly advisories: readonly Advisory[];
}

/** Which advisories of a group to check for removal. */
interface AdvisoriesToPrune extends AdvisoryWrite {
  readonly group: string;
  /** The row to continue after. */
  readonly after?: string | undefined;
}

/** The advisories of feeds. */
export const advisoriesOfFeeds: FeedResource<typeof AdvisorySchema> = {
  resource: advisories,
  rows: feedRows("feed_advisories"),
  merge: mergeAdvisories,
};

/** Does the part that needs no database, ahead of the transaction. Errors: INVALID_ARGUMENT. */
export function prepareAdvisories({ group, advisories: messages }: Pick<AdvisoriesToSave, "group" | "advisories">) {
  for (const message of messages) {
    identifyEvents(message, advisoryUid(group, message));
    prepareResource(advisories, message);
  }
}

/** Errors: NOT_FOUND for the group, INVALID_ARGUMENT; then the transaction must be rolled back. */
export async function saveAdvisories(
  session: WriteSession,
  { group, advisories: messages, ...request }: AdvisoriesToSave,
): Promise<SavedAdvisories> {
  if ((await session.get(groups.table, group)) === undefined)
    throw notFound({ type: groups.contract.type, uid: group });
  const entries = messages.map((message) => {
    const uid = advisoryUid(group, message);
    identifyEvents(message, uid);
    return { uid, parent: group, message };
  });
  const saved: SavedAdvisories = { added: 0, changed: 0, unchanged: 0 };
  for (const what of await saveOfFeed(advisoriesOfFeeds, session, writeOf(request), entries)) saved[what]++;
  return saved;
}

/** Removes what a feed has of an advisory. */
export async function removeAdvisory(session: WriteSession, uid: string, request: AdvisoryWrite): Promise<void> {
  await removeOfFeed(advisoriesOfFeeds, session, writeOf(request), [uid]);
}

/** Checks the next advisories of a feed in a group, and removes those that are not to be kept. */
export function pruneAdvisories(
  session: WriteSession,
  { group, after, ...request }: AdvisoriesToPrune,
  isKept: (artifactName: string, rowUid: string) => boolean,
): Promise<Pruned> {
  const selection = { ...writeOf(request), parent: group, after };
  return pruneOfFeed(advisoriesOfFeeds, session, selection, ({ artifactName }, rowUid) => isKept(artifactName, rowUid));
}

/** Reports to the caller of a change whether it is a fix. */
function writeOf({ onChange, ...write }: AdvisoryWrite): FeedWrite {
  const tell = ({ before, ...change }: SavedChange) => {
    const isFix = before !== undefined && isFixed(change.row) && !isFixed(before);
    onChange?.(isFix ? { ...change, kind: "fixed" } : change);
  };
  return { ...write, ...(onChange && { onChange: tell }) };
}

/** Whether the newest approved event of an advisory is a fix. */
function isFixed({ columns }: Row): boolean {
  return (columns.terms as readonly string[]).includes(latestEventTerm(EventTypeFilter.FIXED));
}

function mergeAdvisories(ofFeeds: readonly Advisory[], uid: string): Advisory {
  const [first] = ofFeeds;
  if (ofFeeds.length === 1 && first!.events.every((event, i, all) => i === 0 || timeOf(all[i - 1]!) >= timeOf(event)))
    return first!;
  const events = mergeEntries(
    ofFeeds.map((advisory) => advisory.events),
    keyOf,
    timeOf,
  );
  const merged: Advisory = {
    ...first!,
    aliases: [...new Set(ofFeeds.flatMap(({ aliases }) => aliases))].slice(0, maxAliases),
    events: events.slice(0, maxEvents),
  };
  identifyEvents(merged, uid);
  return merged;
}

function keyOf({ createTime, type }: AdvisoryEvent): string {
  return JSON.stringify([
    type.case,
    createTime === undefined ? type.value : `${createTime.seconds}.${createTime.nanos}`,
  ]);
}

/** Events without a time sort last. */
function timeOf({ createTime }: AdvisoryEvent): number {
  return createTime === undefined ? Number.MIN_SAFE_INTEGER : timestampMs(createTime);
}

function identifyEvents({ events }: Advisory, advisoryUid: string): void {
  const seen = new Map<string, number>();
  for (const event of events) {
    const key = `${event.createTime === undefined ? "" : timestampMs(event.createTime)} ${event.type.case}`;
    const count = seen.get(key) ?? 0;
    seen.set(key, count + 1);
    event.uid = childUid(advisoryUid, key, String(count));
  }
}

/** The uid of an advisory in a group. */
export function advisoryUid(
  group: string,
  { artifactName, advisoryId, packageUrl, subcomponent = "" }: Identity,
): string {
  const product = packageUrl === undefined ? [] : [packageUrl, subcomponent];
  return childUid(group, "advisory", artifactName, advisoryId, ...product);
}

/** A uid below `parent`, derived from the parts. */
function childUid(parent: string, ...parts: readonly string[]): string {
  return `${parent}/${fixedUid(...parts).slice(0, 16)}`;
}
