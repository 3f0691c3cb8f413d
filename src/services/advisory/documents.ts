/**
 * Documents: the vulnerabilities of one package. A package has one document, found by the name of the package: the
 * merge of what each feed has, and each part of a feed. Advisories are equal by their id, package and subcomponent.
 * Events are equal by their type and time, or by their content when they have no time.
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
import { fixedUid } from "../../new-uid.ts";
import {
  defineResource,
  equalTo,
  type FeedResource,
  type FeedWrite,
  feedRows,
  mergeEntries,
  type Pruned,
  pruneOfFeed,
  type Saved,
  saveOfFeed,
} from "../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { FactWriter, type RecordToSave } from "../matches/fact-writer.ts";
import { recordsOfDocument } from "./document-facts.ts";

export const documents = defineResource({
  schema: DocumentSchema,
  list: ListDocumentsRequestSchema,
  columns: {
    id: { text: (document) => document.id },
    identifiers: { texts: ({ advisories }) => [...new Set(advisories.flatMap(({ id, aliases }) => [id, ...aliases]))] },
  },
  filters: { id: equalTo("id"), cves: (ids) => [{ column: "identifiers", hasAny: ids }] },
  sortNames: { id: "id" },
  defaultOrder: [{ column: "id", descending: false }],
});

/** For each of `given` the uid of the document with this uid or id; what is given where there is none. */
export async function documentsNamed(session: ReadSession, given: readonly string[]): Promise<readonly string[]> {
  const rows = await session.getMany(documents.table, [...given, ...given.map(uidOf)]);
  return given.map((name) => (rows.has(uidOf(name)) && !rows.has(name) ? uidOf(name) : name));
}

/** The documents of feeds. */
export const documentsOfFeeds: FeedResource<typeof DocumentSchema> = {
  resource: documents,
  rows: feedRows("feed_documents"),
  merge: mergeDocuments,
};

/** A document of a feed. */
interface DocumentToSave extends Omit<FeedWrite, "onChange"> {
  readonly document: Document;
  /** What it says about packages; by default what its advisories say, as those of a distribution. */
  readonly records?: readonly RecordToSave[];
  /** Stores that. Absent: it is stored and settled at once. */
  readonly facts?: FactWriter;
}

/**
 * Stores a document of a feed, and what it says about packages, replacing its former document of the package, or that
 * of the same part. Errors: INVALID_ARGUMENT, before anything is written.
 */
export async function saveDocument(session: WriteSession, request: DocumentToSave): Promise<Saved> {
  const { document, records = recordsOfDocument(document, false), facts, ...write } = request;
  const entries = [{ uid: uidOf(document.id), parent: "", message: document }];
  let source = "";
  const onRow = (uid: string) => {
    source = uid;
    write.onRow?.(uid);
  };
  const [saved] = await saveOfFeed(documentsOfFeeds, session, { ...write, onRow }, entries);
  const writer = facts ?? new FactWriter(session, write.nowMs);
  const said = await writer.save(write.feed, source, records);
  if (facts === undefined) await writer.settle();
  return saved === "unchanged" && said !== "unchanged" ? "changed" : saved!;
}

/**
 * Checks the next documents of a feed after the row `after`, and removes those that are not to be kept, with what they
 * say about packages.
 */
export async function pruneDocuments(
  session: WriteSession,
  { feed, nowMs, after }: { readonly feed: string; readonly nowMs: number; readonly after?: string | undefined },
  isKept: (id: string, rowUid: string) => boolean,
): Promise<Pruned> {
  const gone: string[] = [];
  const selection = { feed, parent: "", nowMs, after };
  const pruned = await pruneOfFeed(documentsOfFeeds, session, selection, ({ id }, rowUid) => {
    const keeps = isKept(id, rowUid);
    if (!keeps) gone.push(rowUid);
    return keeps;
  });
  const writer = new FactWriter(session, nowMs);
  for (const source of gone) await writer.remove(source);
  await writer.settle();
  return pruned;
}

function mergeDocuments(ofFeeds: readonly Document[]): Document {
  const [first] = ofFeeds;
  if (ofFeeds.length === 1 && first!.advisories.every(isNewestFirst)) return first!;
  const advisories = new Map<string, DocumentAdvisory[]>();
  for (const advisory of ofFeeds.flatMap((document) => document.advisories)) {
    const key = JSON.stringify([advisory.id, advisory.packageUrl, advisory.subcomponent]);
    const others = advisories.get(key);
    if (others === undefined) advisories.set(key, [advisory]);
    else others.push(advisory);
  }
  return create(DocumentSchema, { id: first!.id, advisories: [...advisories.values()].map(mergeAdvisories) });
}

function mergeAdvisories(ofFeeds: readonly DocumentAdvisory[]): DocumentAdvisory {
  return {
    ...ofFeeds[0]!,
    aliases: [...new Set(ofFeeds.flatMap(({ aliases }) => aliases))],
    packageNamespace: ofFeeds.find(({ packageNamespace }) => packageNamespace !== "")?.packageNamespace ?? "",
    events: mergeEntries(
      ofFeeds.map(({ events }) => events),
      keyOf,
      timeOf,
    ),
  };
}

function keyOf({ timestamp, data }: DocumentEvent): string {
  return JSON.stringify([data.case, timestamp === undefined ? data.value : `${timestamp.seconds}.${timestamp.nanos}`]);
}

/** Milliseconds since 1970. Events without a time sort last. */
export function timeOf({ timestamp }: DocumentEvent): number {
  return timestamp === undefined ? Number.MIN_SAFE_INTEGER : timestampMs(timestamp);
}

function isNewestFirst({ events }: DocumentAdvisory): boolean {
  return events.every((event, i) => i === 0 || timeOf(events[i - 1]!) >= timeOf(event));
}

function uidOf(id: string): string {
  return fixedUid("document", id);
}
