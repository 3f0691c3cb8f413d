/** ExportSbom: the bill of materials of an image, as it came or made of what is known. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { type HttpBody, HttpBodySchema } from "../../../../gen/google/api/httpbody_pb.ts";
import type { ExportSbomRequest } from "../../../../gen/platform/findings/v1/sboms_pb.ts";
import { failedPrecondition, notFound } from "../../../errors.ts";
import { databaseOf, findRow, messageOf } from "../../../resource/index.ts";
import { repos } from "../../registry/repos.ts";
import { readDocumentFile, readDocuments, type StoredSbomDocument } from "../../registry/sbom-documents.ts";
import { toCycloneDx } from "./cyclonedx.ts";
import { type ImageFacts, readFacts } from "./image-facts.ts";
import { toSpdx } from "./spdx.ts";

/** The media types of documents that are made, by the names of their formats. */
const made = {
  "cyclonedx-1.6": { type: "application/vnd.cyclonedx+json; version=1.6", write: toCycloneDx },
  "spdx-2.3": { type: "application/spdx+json", write: toSpdx },
} as const;

/** The media types of documents that came without one, by the beginning of the names of their formats. */
const types = { CycloneDX: "application/vnd.cyclonedx+json", SPDX: "application/spdx+json" } as const;

export async function exportSbom(request: ExportSbomRequest, context: HandlerContext): Promise<HttpBody> {
  const { repo, digest, format } = request;
  const session = databaseOf(context);
  const { name } = messageOf(repos, await findRow(repos, repo, context));
  const facts = await readFacts(session, { uid: repo, name }, digest);
  if (facts === undefined) {
    const text = `Image ${JSON.stringify(digest)} is not known in this repo`;
    throw notFound({ type: "registry.platform.internal/Image", uid: digest }, text);
  }
  if (facts.parts.length === 0) throw missing(digest, "the image has no bill of materials");
  if (format !== "cyclonedx-1.6" && format !== "spdx-2.3") return original(facts, request, context);
  const { type, write } = made[format];
  return create(HttpBodySchema, {
    contentType: type,
    data: Buffer.from(await write(facts, () => session.pause())),
  });
}

/** The document as it came. */
async function original(
  { parts }: ImageFacts,
  { repo, digest, documentDigest }: ExportSbomRequest,
  context: HandlerContext,
): Promise<HttpBody> {
  const session = databaseOf(context);
  const own = await readDocuments(session, repo, digest);
  const candidates = [...own];
  for (const part of documentDigest === "" ? [] : parts)
    if (part.digest !== digest) candidates.push(...(await readDocuments(session, repo, part.digest)));
  const named = candidates.filter(
    ({ document }) => documentDigest === "" || document.documentDigest === documentDigest,
  );
  const chosen = named.sort(byPrecedence)[0];
  const file = chosen && (await readDocumentFile(session, chosen.row.uid));
  if (chosen === undefined || file === undefined) {
    const others = parts.filter((part) => part.platform !== "").map((part) => `${part.platform} ${part.digest}`);
    const hint = others.length > 0 ? `; its platforms have: ${others.join(", ")}` : "";
    throw missing(digest, `the image has no document as it came${hint}`);
  }
  const { mediaType, format } = chosen.document;
  const type = mediaType || types[format.startsWith("SPDX") ? "SPDX" : "CycloneDX"];
  return create(HttpBodySchema, { contentType: type, data: file });
}

/** An upload is before those of the registry, and of these the latest is first. */
function byPrecedence(a: StoredSbomDocument, b: StoredSbomDocument): number {
  const isFromRegistry = ({ document }: StoredSbomDocument) => Number(document.source !== "");
  return (
    isFromRegistry(a) - isFromRegistry(b) || b.row.createTimeUs - a.row.createTimeUs || (a.row.uid < b.row.uid ? -1 : 1)
  );
}

function missing(subject: string, description: string) {
  return failedPrecondition({ type: "SBOM_MISSING", subject, description });
}
