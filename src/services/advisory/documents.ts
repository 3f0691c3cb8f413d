/**
 * Documents: what is known of the vulnerabilities of one package, as its publisher's feed says it. A package has one document, found by the
 * package's name; the feed that was imported last says all of it.
 */
import {
  type Document,
  DocumentSchema,
  ListDocumentsRequestSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { defineResource, equalTo, type Pruned, pruneResource, type Saved, saveResource } from "../../resource/index.ts";
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

/** Stores a document in place of the one that its package had. Errors: INVALID_ARGUMENT, before anything is written. */
export function saveDocument(session: WriteSession, document: Document, nowMs: number): Promise<Saved> {
  return saveResource(documents, session, { uid: uidOf(document.id), parent: "", message: document, nowMs });
}

/** Removes, of the next documents after the uid `after`, those whose id is not to be kept. */
export function pruneDocuments(
  session: WriteSession,
  isKept: (id: string) => boolean,
  after?: string,
): Promise<Pruned> {
  return pruneResource(documents, session, {}, (row) => isKept(row.facets.id as string), after);
}

function uidOf(id: string): string {
  return fixedUid("document", id);
}
