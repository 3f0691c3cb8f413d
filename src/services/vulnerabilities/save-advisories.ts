/**
 * Storing what feeds say of the vulnerabilities of one artifact in a group. An advisory is known by artifact and advisory id: its uid is made
 * from them, so that importing again finds what is there, changes what differs and writes nothing else. It is the merge of what each feed says: its
 * fields are those of the feed that comes first, its aliases those of all. An event is known by its type and time, or by what it says where
 * it has no time, and keeps its uid while its text changes.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type {
  Advisory,
  AdvisoryEvent,
  AdvisorySchema,
} from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { notFound } from "../../errors.ts";
import {
  type FeedResource,
  feedRows,
  mergeEntries,
  type Pruned,
  prepareResource,
  pruneOfFeed,
  type Resource,
  removeOfFeed,
  type Saved,
  saveOfFeed,
} from "../../resource/index.ts";
import type { WriteSession } from "../../store/index.ts";
import { fixedUid } from "../../uid.ts";
import { term } from "./advisory-terms.ts";

/** As many as the API lets an advisory have. */
const maxEvents = 1000;
const maxAliases = 100;
/** Advisories looked at in one query. */
const portion = 200;

/** How many advisories came to what. */
export type SavedAdvisories = Record<Saved | "removed", number>;

/** The advisories of one artifact in one group, as a feed has them. */
export interface AdvisoriesToSave {
  readonly feed: string;
  /** The uid of the group. */
  readonly group: string;
  readonly artifactName: string;
  /** All about this artifact, each advisory id once; uids are set here. */
  readonly advisories: readonly Advisory[];
  readonly nowMs: number;
  /** Whether the feed's other advisories of the artifact in the group are removed. */
  readonly prune: boolean;
}

/** Which of a group's advisories to look at for removing. */
export interface AdvisoriesToPrune {
  readonly feed: string;
  readonly group: string;
  readonly nowMs: number;
  /** The row after which to go on. */
  readonly after?: string | undefined;
}

/** Stores and removes advisories. */
export interface AdvisoryWriter {
  readonly advisoriesOfFeeds: FeedResource<typeof AdvisorySchema>;
  /** Does ahead of the transaction what can be done without the database. Errors: INVALID_ARGUMENT. */
  prepareAdvisories(request: Pick<AdvisoriesToSave, "group" | "artifactName" | "advisories">): void;
  /** Errors: NOT_FOUND for the group, INVALID_ARGUMENT; then the transaction must be given up. */
  saveAdvisories(session: WriteSession, request: AdvisoriesToSave): Promise<SavedAdvisories>;
  /** Removes, of a feed's next advisories in a group, those whose artifact is not to be kept. */
  pruneAdvisories(
    session: WriteSession,
    request: AdvisoriesToPrune,
    isKept: (artifactName: string) => boolean,
  ): Promise<Pruned>;
}

/** Creates the writer of a resource of advisories. */
export function advisoryWriter(advisories: Resource<typeof AdvisorySchema>): AdvisoryWriter {
  const { table, declaration } = advisories;
  const ofFeeds = { resource: advisories, rows: feedRows("feed_advisories"), merge: mergeAdvisories };
  return {
    advisoriesOfFeeds: ofFeeds,

    prepareAdvisories({ group, artifactName, advisories: messages }) {
      for (const message of messages) {
        identifyEvents(message, uidOf(group, artifactName, message));
        prepareResource(advisories, message);
      }
    },

    async saveAdvisories(session, { feed, group, artifactName, advisories: messages, nowMs, prune }) {
      const groups = declaration.parent!;
      if ((await session.get(groups.table, group)) === undefined)
        throw notFound({ type: groups.contract.type, uid: group });
      const things = messages.map((message) => {
        const uid = uidOf(group, artifactName, message);
        identifyEvents(message, uid);
        return { uid, parent: group, message };
      });
      const saved: SavedAdvisories = { added: 0, changed: 0, unchanged: 0, removed: 0 };
      for (const what of await saveOfFeed(ofFeeds, session, feed, things, nowMs)) saved[what]++;
      const kept = new Set(things.map(({ uid }) => uid));
      if (prune) saved.removed = await removeOthers(session, { feed, group, artifactName, nowMs }, kept);
      return saved;
    },

    pruneAdvisories(session, { feed, group, nowMs, after }, isKept) {
      const request = { feed, parent: group, nowMs, after };
      return pruneOfFeed(ofFeeds, session, request, ({ artifactName }) => isKept(artifactName));
    },
  };

  async function removeOthers(
    session: WriteSession,
    { feed, group, artifactName, nowMs }: Pick<AdvisoriesToSave, "feed" | "group" | "artifactName" | "nowMs">,
    kept: ReadonlySet<string>,
  ): Promise<number> {
    const where = [{ column: "terms", hasAny: [term("artifact_name", artifactName)] }];
    const orderBy = [{ column: "uid", descending: false }];
    const query = { parent: group, where, orderBy, skip: 0, limit: portion, facets: [] };
    let removed = 0;
    for (let after: string | undefined; ; ) {
      const rows = await session.list(table, { ...query, ...(after !== undefined && { after: [after] }) });
      const others = rows.map(({ uid }) => uid).filter((uid) => !kept.has(uid));
      removed += await removeOfFeed(ofFeeds, session, feed, others, nowMs);
      if (rows.length < portion) return removed;
      after = rows.at(-1)!.uid;
    }
  }
}

function mergeAdvisories(said: readonly Advisory[], uid: string): Advisory {
  const [first] = said;
  if (said.length === 1 && first!.events.every((event, i, all) => i === 0 || timeOf(all[i - 1]!) >= timeOf(event)))
    return first!;
  const events = mergeEntries(
    said.map((advisory) => advisory.events),
    keyOf,
    timeOf,
  );
  const merged: Advisory = {
    ...first!,
    aliases: [...new Set(said.flatMap(({ aliases }) => aliases))].slice(0, maxAliases),
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

/** An event without a time is older than all. */
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

function uidOf(group: string, artifactName: string, { advisoryId }: Advisory): string {
  return childUid(group, "advisory", artifactName, advisoryId);
}

/** A uid below `parent` that always comes out the same for the same parts. */
function childUid(parent: string, ...parts: readonly string[]): string {
  return `${parent}/${fixedUid(...parts).slice(0, 16)}`;
}
