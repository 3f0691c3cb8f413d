/**
 * Bills of materials as they came, below their repo. A document belongs to one digest and comes from one source: from a
 * file, or from an artifact of the registry, by its digest. What is told about it and its bytes are two rows with one
 * uid, so that lists do not read the bytes. The bytes are compressed.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import {
  ListSbomDocumentsRequestSchema,
  type SbomDocument,
  SbomDocumentSchema,
} from "../../../gen/platform/findings/v1/sboms_pb.ts";
import { fixedUid } from "../../new-uid.ts";
import {
  defineResource,
  equalTo,
  messageOf,
  type RowChange,
  type Saved,
  saveContent,
  saveResource,
} from "../../resource/index.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";
import { type DocumentNotes, leftOutOf } from "./document-notes.ts";
import { repos } from "./repos.ts";

/** A document to store. */
export interface SbomDocumentToSave {
  /** Without a uid, the digest of the image, and times. */
  readonly document: SbomDocument;
  /** Its bytes, compressed. */
  readonly file: Uint8Array;
}

/** A stored document. */
export interface StoredSbomDocument {
  readonly row: Row;
  readonly document: SbomDocument;
}

/** Where documents belong. `source`: the digest of an artifact of the registry; "" for a file. */
interface DocumentPlace {
  readonly repoUid: string;
  readonly digest: string;
  readonly source: string;
}

/** What was read of a document. */
interface ReadDocument {
  readonly format: string;
  readonly packages: readonly unknown[];
  readonly unmatched: readonly { readonly name: string; readonly version: string; readonly reason: string }[];
}

/** The most bytes of a document that is kept, unpacked: one can be returned in one message. */
export const maxKeptBytes = 64 * 1024 * 1024;

/** Documents of one digest: those of all artifacts, and one from a file. */
const maxDocuments = 10_000;

export const sbomDocuments = defineResource({
  schema: SbomDocumentSchema,
  list: ListSbomDocumentsRequestSchema,
  parent: repos,
  onParentDelete: "cascade",
  columns: { digest: { text: (document) => document.digest } },
  filters: { digest: equalTo("digest") },
  unindexed: { digest: "it is used together with a repo, and an index has both" },
});
/** The bytes of documents, with the same uids. */
export const sbomFiles: TableSpec = { name: "sbom_files", columns: {}, byteQuota: "sbomBytes" };

const compress = promisify<Uint8Array, Buffer>(zstdCompress);
const decompress = promisify<Uint8Array, Buffer>(zstdDecompress);

/** Does the part of storing a document that needs no database. undefined for one that is too large to be kept. */
export async function packDocument(
  bytes: Uint8Array,
  read: ReadDocument,
  notes: Pick<DocumentNotes, "left">,
  { mediaType = "", source = "" }: Partial<Pick<SbomDocument, "mediaType" | "source">> = {},
): Promise<SbomDocumentToSave | undefined> {
  if (bytes.length > maxKeptBytes) return undefined;
  const documentDigest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const size = BigInt(bytes.length);
  return {
    document: documentOf({ documentDigest, size, mediaType, source }, read, notes),
    file: await compress(bytes),
  };
}

/** What is told about a document, of what was read of it. */
export function documentOf(
  came: Pick<SbomDocument, "documentDigest" | "size" | "mediaType" | "source">,
  { format, packages, unmatched }: ReadDocument,
  notes: Pick<DocumentNotes, "left">,
): SbomDocument {
  const leftOut = leftOutOf(notes.left, unmatched);
  return create(SbomDocumentSchema, { ...came, format, componentCount: packages.length, leftOut });
}

/** The bytes of a document that were compressed. */
export function unpackDocument(file: Uint8Array): Promise<Uint8Array> {
  return decompress(file);
}

/** The uid of a document. */
export function documentUid({ repoUid, digest, source }: DocumentPlace, documentDigest: string): string {
  return `${repoUid}/${fixedUid("sbom-document", digest, source, documentDigest).slice(0, 16)}`;
}

/** The documents of a digest, by their uids. */
export async function readDocuments(
  session: ReadSession,
  repoUid: string,
  digest: string,
): Promise<readonly StoredSbomDocument[]> {
  const where = [{ column: "digest", equals: digest }];
  const rows = await session.list(sbomDocuments.table, { parent: repoUid, where, limit: maxDocuments });
  return rows.map((row) => ({ row, document: messageOf(sbomDocuments, row) }));
}

/** The bytes of a document; undefined if there is none with this uid. */
export async function readDocumentFile(session: ReadSession, uid: string): Promise<Uint8Array | undefined> {
  const row = await session.get(sbomFiles, uid);
  return row && unpackDocument(row.body);
}

/** Stores the documents that a source has of a digest, instead of those that it had. */
export async function replaceDocuments(
  session: WriteSession,
  place: DocumentPlace,
  documents: readonly SbomDocumentToSave[],
  nowMs: number,
  onChange?: (change: RowChange) => void,
): Promise<Saved> {
  const { repoUid, digest, source } = place;
  const kept = new Set<string>();
  const results = new Set<Saved>();
  for (const { document, file } of documents) {
    const uid = documentUid(place, document.documentDigest);
    kept.add(uid);
    const message = create(SbomDocumentSchema, { ...document, digest });
    const saved = await saveResource(sbomDocuments, session, {
      uid,
      parent: repoUid,
      message,
      nowMs,
      ...(onChange && { onChange }),
    });
    results.add(saved);
    // The bytes of a digest are the same, however they are compressed.
    if (!(await session.has(sbomFiles, uid)))
      await saveContent(session, sbomFiles, { uid, parent: repoUid, body: file, columns: {} }, nowMs, undefined);
  }
  const isGone = await removeDocuments(session, repoUid, digest, (uid, of) => of === source && !kept.has(uid));
  if (isGone || results.has("changed")) return "changed";
  return results.has("added") ? "added" : "unchanged";
}

/** Removes documents of a digest. Returns whether there were any. */
export async function removeDocuments(
  session: WriteSession,
  repoUid: string,
  digest: string,
  isGone: (uid: string, source: string) => boolean = () => true,
): Promise<boolean> {
  const stored = await readDocuments(session, repoUid, digest);
  const gone = stored.filter(({ row, document }) => isGone(row.uid, document.source));
  for (const { row } of gone) {
    await session.remove(sbomDocuments.table, row.uid);
    await session.remove(sbomFiles, row.uid);
  }
  return gone.length > 0;
}
