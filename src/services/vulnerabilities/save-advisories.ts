/**
 * Storing what a feed says of the vulnerabilities of one artifact in a group. An advisory is known by artifact and advisory id: its uid is made
 * from them, so that importing again finds what is there, changes what differs and writes nothing else. An event is known by its time and
 * type, and keeps its uid while its text changes.
 */

import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Advisory, AdvisorySchema } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { notFound } from "../../errors.ts";
import {
  messageOf,
  type Pruned,
  prepareResource,
  pruneResource,
  type Resource,
  type Saved,
  saveResource,
} from "../../resource/index.ts";
import type { Row, WriteSession } from "../../store/index.ts";
import { fixedUid } from "../../uid.ts";
import { term } from "./advisory-terms.ts";

/** How many advisories came to what. */
export type SavedAdvisories = Record<Saved | "removed", number>;

/** The advisories of one artifact in one group, as a feed has them. */
export interface AdvisoriesToSave {
  /** The uid of the group. */
  readonly group: string;
  readonly artifactName: string;
  /** All about this artifact, each advisory id once; uids are set here. */
  readonly advisories: readonly Advisory[];
  readonly nowMs: number;
  /** Whether the artifact's other advisories in the group are removed. */
  readonly prune: boolean;
}

/** Stores and removes advisories. */
export interface AdvisoryWriter {
  /** Does ahead of the transaction what can be done without the database. Errors: INVALID_ARGUMENT. */
  prepareAdvisories(request: Pick<AdvisoriesToSave, "group" | "artifactName" | "advisories">): void;
  /** Errors: NOT_FOUND for the group, INVALID_ARGUMENT; then the transaction must be given up. */
  saveAdvisories(session: WriteSession, request: AdvisoriesToSave): Promise<SavedAdvisories>;
  /** Removes, of the next advisories of a group after the uid `after`, those whose artifact is not to be kept. */
  pruneAdvisories(
    session: WriteSession,
    group: string,
    isKept: (artifactName: string) => boolean,
    after?: string,
  ): Promise<Pruned>;
}

/** Creates the writer of a resource of advisories. */
export function advisoryWriter(advisories: Resource<typeof AdvisorySchema>): AdvisoryWriter {
  const { table, declaration } = advisories;
  return {
    prepareAdvisories({ group, artifactName, advisories: messages }) {
      for (const message of messages) {
        identifyEvents(message, childUid(group, "advisory", artifactName, message.advisoryId));
        prepareResource(advisories, message);
      }
    },

    async saveAdvisories(session, { group, artifactName, advisories: messages, nowMs, prune }) {
      const groups = declaration.parent!;
      if ((await session.get(groups.table, group)) === undefined)
        throw notFound({ type: groups.contract.type, uid: group });
      const saved: SavedAdvisories = { added: 0, changed: 0, unchanged: 0, removed: 0 };
      const uids = messages.map(({ advisoryId }) => childUid(group, "advisory", artifactName, advisoryId));
      const existing = await session.getMany(table, uids);
      for (const [i, message] of messages.entries()) {
        const uid = uids[i]!;
        identifyEvents(message, uid);
        saved[
          await saveResource(advisories, session, { uid, parent: group, message, nowMs, existing: existing.get(uid) })
        ]++;
      }
      if (prune) saved.removed = await removeOthers(session, group, artifactName, new Set(uids));
      return saved;
    },

    pruneAdvisories(session, group, isKept, after) {
      const isWanted = (row: Row) => isKept(messageOf(advisories, row).artifactName);
      return pruneResource(advisories, session, { parent: group }, isWanted, after);
    },
  };

  async function removeOthers(session: WriteSession, parent: string, artifactName: string, kept: ReadonlySet<string>) {
    const where = [{ column: "terms", hasAny: [term("artifact_name", artifactName)] }];
    let removed = 0;
    for (let after: string | undefined; ; ) {
      const portion = await pruneResource(advisories, session, { parent, where }, ({ uid }) => kept.has(uid), after);
      removed += portion.removed;
      after = portion.next;
      if (after === undefined) return removed;
    }
  }
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

/** A uid below `parent` that always comes out the same for the same parts. */
function childUid(parent: string, ...parts: readonly string[]): string {
  return `${parent}/${fixedUid(...parts).slice(0, 16)}`;
}
