/**
 * VEX documents of groups. What is told about a document, what it states, and its bytes are three rows with one uid. A
 * later version of a document, which has the same id, replaces the one before.
 */
import { create, fromBinary } from "@bufbuild/protobuf";
import { type Document, DocumentSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { ListVexDocumentsRequestSchema, VexDocumentSchema } from "../../../gen/platform/findings/v1/sboms_pb.ts";
import type { VexStatements } from "../../feeds/index.ts";
import { fixedUid } from "../../new-uid.ts";
import { defineResource, messageOf, type RowChange, saveContent, saveResource } from "../../resource/index.ts";
import type { ReadSession, TableSpec, WriteSession } from "../../store/index.ts";
import { changeDecisions } from "../decisions/revision.ts";
import { groups } from "../iam/groups.ts";
import { type DocumentNotes, leftOutOf } from "../registry/document-notes.ts";
import type { ReceivedDocument } from "./uploads.ts";

export const vexDocuments = defineResource({
  schema: VexDocumentSchema,
  list: ListVexDocumentsRequestSchema,
  parent: groups,
  onParentDelete: "cascade",
  columns: {},
  filters: {},
});
/** What documents state: the lengths and bytes of `platform.advisory.v2.Document`s, one after the other. */
export const vexStatements: TableSpec = { name: "vex_statements", columns: {}, byteQuota: "vexStatementBytes" };
/** The bytes of documents, compressed. */
export const vexFiles: TableSpec = { name: "vex_files", columns: {}, byteQuota: "vexBytes" };

/** What a VEX document of a group states. */
export interface GroupVex {
  /** The uid of the group. */
  readonly group: string;
  /** The uid of the document. */
  readonly uid: string;
  readonly documentDigest: string;
  readonly author: string;
  /** When the document was stored, and when it was replaced last, in milliseconds since 1970. */
  readonly createMs: number;
  readonly updateMs: number;
  /** One for each package. Each advisory names its package, version and subcomponent by `package_url`. */
  readonly documents: readonly Document[];
}

const pageSize = 50;

/** The uid of a document of a group. @param id by which its publisher names all its versions; "" if none. */
export function vexUid(group: string, id: string, documentDigest: string): string {
  const key = id === "" ? ["digest", documentDigest] : ["id", id];
  return `${group}/${fixedUid("vex-document", ...key).slice(0, 16)}`;
}

/** Stores a document. */
export async function saveVex(
  session: WriteSession,
  group: string,
  { file, ...came }: ReceivedDocument,
  { id, format, author, documents }: VexStatements,
  notes: Pick<DocumentNotes, "left">,
  nowMs: number,
  onChange: (change: RowChange) => void,
): Promise<string> {
  const uid = vexUid(group, id, came.documentDigest);
  const leftOut = leftOutOf(notes.left);
  const message = create(VexDocumentSchema, { ...came, format, author, packageCount: documents.length, leftOut });
  await saveResource(vexDocuments, session, { uid, parent: group, message, nowMs, onChange });
  const parts = [
    { table: vexStatements, body: packStatements(documents) },
    { table: vexFiles, body: file },
  ];
  for (const { table, body } of parts) {
    const row = { uid, parent: group, body, columns: {} };
    await saveContent(session, table, row, nowMs, await session.get(table, uid));
  }
  await changeDecisions(session, group);
  return uid;
}

/** Removes what belongs to a document that was removed. */
export async function removeVexParts(session: WriteSession, uid: string): Promise<void> {
  for (const table of [vexStatements, vexFiles]) await session.remove(table, uid);
  await changeDecisions(session, uid);
}

/** What the documents of a group and of all groups below it state, in portions. */
export async function* vexBelow(session: ReadSession, group: string): AsyncGenerator<GroupVex[]> {
  const within = [{ root: group, self: true }];
  for await (const rows of session.pages(vexDocuments.table, { within, limit: pageSize })) {
    const stated = await session.getMany(
      vexStatements,
      rows.map(({ uid }) => uid),
    );
    yield rows.map((row): GroupVex => {
      const { documentDigest, author } = messageOf(vexDocuments, row);
      const statements = stated.get(row.uid);
      return {
        group: row.parent,
        uid: row.uid,
        documentDigest,
        author,
        createMs: row.createTimeUs / 1000,
        updateMs: row.updateTimeUs / 1000,
        documents: statements === undefined ? [] : unpackStatements(statements.body),
      };
    });
  }
}

/** Whether a group of these organisations has uploaded a document; "" stands for all of them. */
export async function hasVex(session: ReadSession, organisations: readonly string[]): Promise<boolean> {
  const within = organisations.map((root) => ({ root, self: true }));
  return session.exists(vexDocuments.table, organisations.includes("") ? {} : { within });
}

function packStatements(documents: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    documents.flatMap((document) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(document.length);
      return [length, document];
    }),
  );
}

function unpackStatements(bytes: Uint8Array): Document[] {
  const buffer = Buffer.from(bytes);
  const documents: Document[] = [];
  for (let at = 0; at < buffer.length; ) {
    const length = buffer.readUInt32BE(at);
    documents.push(fromBinary(DocumentSchema, buffer.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return documents;
}
