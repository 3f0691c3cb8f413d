/** Documents about images and groups, uploaded by callers, and bills of materials returned to them. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { HttpBodySchema } from "../../../gen/google/api/httpbody_pb.ts";
import {
  DocumentsService,
  type UploadSbomRequest,
  UploadSbomRequestSchema,
  type UploadScanRequest,
  UploadScanRequestSchema,
  type UploadScanResponse,
  UploadScanResponseSchema,
  type UploadVexRequest,
  UploadVexRequestSchema,
} from "../../../gen/platform/findings/v1/sboms_pb.ts";
import { aborted } from "../../errors.ts";
import {
  databaseOf,
  environmentOf,
  findRow,
  holdResource,
  implement,
  type MountedService,
  messageOf,
  type Receiver,
  receivedOf,
  recordIn,
  removeResource,
  requireResource,
  toResponse,
  transactionOf,
} from "../../resource/index.ts";
import { groups } from "../iam/groups.ts";
import { leftOutOf } from "../registry/document-notes.ts";
import { type ImageSbom, saveImagePackages } from "../registry/image-packages.ts";
import { registryContents } from "../registry/registry-contents.ts";
import { repos } from "../registry/repos.ts";
import { documentOf, documentUid, sbomDocuments, unpackDocument } from "../registry/sbom-documents.ts";
import {
  findUploaded,
  packReport,
  type ReportUpload,
  type StoredReport,
  saveReport,
} from "../registry/vuln-reports.ts";
import { exportSbom } from "./export/export-sbom.ts";
import { type ReceivedDocument, Uploads } from "./uploads.ts";
import { removeVexParts, saveVex, vexDocuments, vexUid } from "./vex-documents.ts";

/** What was received, without what was made of it if it is stored already. */
interface Received<T> {
  readonly documentDigest: string;
  readonly made: T | undefined;
}

/** The document of a request that was received: its digest stands for its bytes. */
function received({ mediaType, documentDigest }: ReceivedDocument) {
  return create(HttpBodySchema, { contentType: mediaType, data: Buffer.from(documentDigest) });
}

/** A document that was stored when it came may be gone when its call is carried out. */
const gone = () => aborted("the document that was stored already has been removed meanwhile; upload it again");

/** The service. What it receives is held by it, once for a server. */
export function documentsService(): MountedService {
  const uploads = new Uploads();

  const receiveSbom: Receiver = async (first, pieces, context) => {
    const { repo, digest } = first as UploadSbomRequest;
    await requireResource(repos, repo, context);
    return uploads.receive(first, pieces, async (document) => {
      const { documentDigest, size, mediaType, file } = document;
      const uid = documentUid({ repoUid: repo, digest, source: "" }, documentDigest);
      const message = create(UploadSbomRequestSchema, { repo, digest, document: received(document) });
      if (await databaseOf(context).has(sbomDocuments.table, uid))
        return { message, value: { documentDigest, made: undefined } satisfies Received<ImageSbom> };
      const { read, notes } = await uploads.read("sbom", document, context.signal);
      const { packages, unmatched, dependencies } = read;
      const stored = documentOf({ documentDigest, size, mediaType, source: "" }, read, notes);
      const made: ImageSbom = { packages, unmatched, dependencies, documents: [{ document: stored, file }] };
      return { message, value: { documentDigest, made } satisfies Received<ImageSbom> };
    });
  };

  const receiveScan: Receiver = async (first, pieces, context) => {
    const { repo, digest } = first as UploadScanRequest;
    await requireResource(repos, repo, context);
    return uploads.receive(first, pieces, async (document) => {
      const { documentDigest } = document;
      const message = create(UploadScanRequestSchema, { repo, digest, document: received(document) });
      const found = await findUploaded(databaseOf(context), repo, digest, documentDigest);
      if (found !== undefined) return { message, value: { documentDigest, made: undefined } };
      const { read, notes } = await uploads.read("scan", document, context.signal);
      const upload: ReportUpload = { documentDigest, findingCount: read.findings.length, left: notes.left };
      const { nowMs } = environmentOf(context);
      const file = await unpackDocument(document.file);
      const scanMs = read.createMs ?? nowMs;
      const made = await packReport({ ...read, repoUid: repo, digest, scanMs, tags: [], upload, file });
      return { message, value: { documentDigest, made } };
    });
  };

  const receiveVex: Receiver = async (first, pieces, context) => {
    const { group } = first as UploadVexRequest;
    await requireResource(groups, group, context);
    return uploads.receive(first, pieces, async (document) => {
      const message = create(UploadVexRequestSchema, { group, document: received(document) });
      const { read, notes } = await uploads.read("vex", document, context.signal);
      return { message, value: { document, read, notes } satisfies ReceivedVex };
    });
  };

  const receivers = { uploadSbom: receiveSbom, uploadScan: receiveScan, uploadVex: receiveVex };
  return implement(
    DocumentsService,
    [sbomDocuments, vexDocuments],
    {
      async uploadSbom({ repo, digest }, context) {
        const session = transactionOf(context);
        const { documentDigest, made } = receivedOf<Received<ImageSbom>>(context);
        await session.lock(repos.table, repo);
        await holdResource(repos, repo, context);
        const uid = documentUid({ repoUid: repo, digest, source: "" }, documentDigest);
        if (!(await session.has(sbomDocuments.table, uid))) {
          if (made === undefined) throw gone();
          await saveImagePackages(session, repo, digest, made, environmentOf(context).nowMs, recordIn(context));
        }
        return toResponse(sbomDocuments, await findRow(sbomDocuments, uid, context), context);
      },

      async uploadScan({ repo, digest }, context) {
        const session = transactionOf(context);
        const { documentDigest, made } = receivedOf<Received<Awaited<ReturnType<typeof packReport>>>>(context);
        await session.lock(repos.table, repo);
        await holdResource(repos, repo, context);
        const stored = await findUploaded(session, repo, digest, documentDigest);
        if (stored !== undefined) return scanResponse(stored);
        if (made === undefined) throw gone();
        const tags: string[] = [];
        for await (const page of registryContents.tags(session, repo, digest))
          tags.push(...page.map((tag) => tag.name));
        const report = { ...made, scan: { ...made.scan, tags: tags.sort() } };
        await saveReport(session, report, environmentOf(context).nowMs);
        return scanResponse(report.scan);
      },

      async uploadVex({ group }, context) {
        const session = transactionOf(context);
        const { document, read, notes } = receivedOf<ReceivedVex>(context);
        await session.lock(groups.table, group);
        await holdResource(groups, group, context);
        const uid = vexUid(group, read.id, document.documentDigest);
        const before = await session.get(vexDocuments.table, uid);
        const { nowMs } = environmentOf(context);
        if (before === undefined || messageOf(vexDocuments, before).documentDigest !== document.documentDigest)
          await saveVex(session, group, document, read, notes, nowMs, recordIn(context));
        return toResponse(vexDocuments, await findRow(vexDocuments, uid, context), context);
      },

      async deleteVexDocument(request, context) {
        await removeResource(vexDocuments, request, context);
        await removeVexParts(transactionOf(context), request.uid);
        return {};
      },

      exportSbom,
    },
    receivers,
  );
}

/** What was received of a VEX document. */
interface ReceivedVex {
  readonly document: ReceivedDocument;
  readonly read: Parameters<typeof saveVex>[3];
  readonly notes: Parameters<typeof saveVex>[4];
}

function scanResponse({
  digest,
  scanner,
  scanMs,
  upload,
}: Pick<StoredReport, "digest" | "scanner" | "scanMs" | "upload">): UploadScanResponse {
  return create(UploadScanResponseSchema, {
    digest,
    documentDigest: upload?.documentDigest ?? "",
    scanner: scanner.name,
    scanTime: timestampFromMs(scanMs),
    findingCount: upload?.findingCount ?? 0,
    ...(upload && { leftOut: leftOutOf(upload.left) }),
  });
}
