/**
 * Documents: what is known of the vulnerabilities of one package. A package has one document, found by the package's name: the merge of what each
 * feed says of it. Advisories are the same by their id and the package that they are about; events by advisory, type and time, or by what they say where they have no time.
 */
import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Document,
  type DocumentAdvisory,
  type DocumentEvent,
  DocumentSchema,
  ListDocumentsRequestSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import {
  defineResource,
  equalTo,
  type FeedResource,
  feedRows,
  mergeEntries,
  type Pruned,
  pruneOfFeed,
  type Saved,
  saveOfFeed,
} from "../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { fixedUid } from "../../uid.ts";

export const documents = defineResource({
  schema: DocumentSchema,
  list: ListDocumentsRequestSchema,
  facets: {
    id: { text: (document) => document.id },
    identifiers: { texts: ({ advisories }) => [...new Set(advisories.flatMap(({ id, aliases }) => [id, ...aliases]))] },
  },
  filters: { id: equalTo("id"), cves: (ids) => [{ column: "identifiers", hasAny: ids }] },
  sortNames: { id: "id" },
  defaultOrder: [{ column: "id", descending: false }],
});

/** The uid of the document that `given` names by its uid or its id; undefined when there is none. */
export async function documentNamed(session: ReadSession, given: string): Promise<string | undefined> {
  const candidates = [given, uidOf(given)];
  const rows = await session.getMany(documents.table, candidates);
  return candidates.find((uid) => rows.has(uid));
}

/** Documents as feeds say them. */
export const documentsOfFeeds: FeedResource<typeof DocumentSchema> = {
  resource: documents,
  rows: feedRows("feed_documents"),
  merge: mergeDocuments,
};

/** A document as a feed has it. */
export interface DocumentToSave {
  readonly feed: string;
  readonly document: Document;
  readonly nowMs: number;
}

/** Stores a document in place of the one that the feed had of its package. Errors: INVALID_ARGUMENT, before anything is written. */
export async function saveDocument(session: WriteSession, { feed, document, nowMs }: DocumentToSave): Promise<Saved> {
  const things = [{ uid: uidOf(document.id), parent: "", message: document }];
  const [saved] = await saveOfFeed(documentsOfFeeds, session, feed, things, nowMs);
  return saved!;
}

/** Removes, of the next documents of a feed after the row `after`, those whose id is not to be kept. */
export function pruneDocuments(
  session: WriteSession,
  { feed, nowMs, after }: { readonly feed: string; readonly nowMs: number; readonly after?: string | undefined },
  isKept: (id: string) => boolean,
): Promise<Pruned> {
  return pruneOfFeed(documentsOfFeeds, session, { feed, parent: "", nowMs, after }, ({ id }) => isKept(id));
}

function mergeDocuments(said: readonly Document[]): Document {
  const [first] = said;
  if (said.length === 1 && first!.advisories.every(isNewestFirst)) return first!;
  const advisories = new Map<string, DocumentAdvisory[]>();
  for (const advisory of said.flatMap((document) => document.advisories)) {
    const key = JSON.stringify([advisory.id, advisory.packageUrl]);
    const others = advisories.get(key);
    if (others === undefined) advisories.set(key, [advisory]);
    else others.push(advisory);
  }
  return create(DocumentSchema, { id: first!.id, advisories: [...advisories.values()].map(mergeAdvisories) });
}

function mergeAdvisories(said: readonly DocumentAdvisory[]): DocumentAdvisory {
  return {
    ...said[0]!,
    aliases: [...new Set(said.flatMap(({ aliases }) => aliases))],
    packageNamespace: said.find(({ packageNamespace }) => packageNamespace !== "")?.packageNamespace ?? "",
    events: mergeEntries(
      said.map(({ events }) => events),
      keyOf,
      timeOf,
    ),
  };
}

function keyOf({ timestamp, data }: DocumentEvent): string {
  return JSON.stringify([data.case, timestamp === undefined ? data.value : `${timestamp.seconds}.${timestamp.nanos}`]);
}

/** An event without a time is older than all. */
function timeOf({ timestamp }: DocumentEvent): number {
  return timestamp === undefined ? Number.MIN_SAFE_INTEGER : timestampMs(timestamp);
}

function isNewestFirst({ events }: DocumentAdvisory): boolean {
  return events.every((event, i) => i === 0 || timeOf(events[i - 1]!) >= timeOf(event));
}

function uidOf(id: string): string {
  return fixedUid("document", id);
}
