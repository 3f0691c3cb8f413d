/** Things that only feeds bring, written as importers write them. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { DocumentSchema, VulnerabilityMetadataSchema } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import {
  AdvisoryEventSchema,
  AdvisorySchema,
  ReviewState,
} from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { readOsv, readVulnReport } from "../../src/feeds/index.ts";
import type { VulnerabilityFacts } from "../../src/matching/index.ts";
import { defaultFeed } from "../../src/resource/index.ts";
import {
  type ArtifactToSave,
  FactWriter,
  type Image,
  type ImagePackage,
  packReport,
  saveAdvisories,
  saveArtifact,
  saveDocument,
  saveImage,
  saveImagePackages,
  saveReport,
  saveVulnerabilityMetadata,
} from "../../src/services/index.ts";
import { freshName } from "./fixtures.ts";
import type { Platform } from "./platform.ts";

/** An advisory of a package as a feed has it; what is not said is plausible. */
export function advisory(more: MessageInitShape<typeof AdvisorySchema> = {}) {
  const artifactName = more.artifactName ?? freshName("package");
  return create(AdvisorySchema, {
    advisoryId: freshName("ADV"),
    author: "feed",
    artifactName,
    artifactType: "apk",
    artifactArchitecture: "all",
    componentName: artifactName,
    componentLocation: "/",
    componentType: "apk",
    ...more,
  });
}

/** An approved event of an advisory. */
export function event(more: MessageInitShape<typeof AdvisoryEventSchema>) {
  return create(AdvisoryEventSchema, { author: "feed", reviewState: ReviewState.APPROVED, ...more });
}

/** Stores advisories in a group. */
export async function importAdvisories(
  platform: Platform,
  group: string,
  ...advisories: ReturnType<typeof advisory>[]
): Promise<void> {
  await platform.write((session) =>
    saveAdvisories(session, { feed: defaultFeed, group, advisories, nowMs: Date.now() }),
  );
}

/** Stores documents. */
export async function importDocuments(
  platform: Platform,
  ...documents: MessageInitShape<typeof DocumentSchema>[]
): Promise<void> {
  await platform.write(async (session) => {
    for (const document of documents) {
      const said = { feed: defaultFeed, document: create(DocumentSchema, document), nowMs: Date.now() };
      await saveDocument(session, said);
    }
  });
}

/** Stores vulnerability metadata. */
export async function importMetadata(
  platform: Platform,
  ...metadata: MessageInitShape<typeof VulnerabilityMetadataSchema>[]
): Promise<void> {
  await platform.write(async (session) => {
    for (const each of metadata)
      await saveVulnerabilityMetadata(session, create(VulnerabilityMetadataSchema, each), Date.now());
  });
}

/** Stores what an OSV record says of packages. Returns what was read of it. */
export async function importOsv(platform: Platform, record: unknown, feed = "osv"): Promise<VulnerabilityFacts> {
  const { facts } = readOsv(record, () => {});
  await platform.write(async (session) => {
    const writer = new FactWriter(session, Date.now());
    await writer.saveAlone(feed, facts);
    await writer.settle();
  });
  return facts;
}

/** Stores artifacts, all of whose versions are told unless said otherwise. */
export async function importArtifacts(
  platform: Platform,
  ...records: (Omit<ArtifactToSave, "isWhole"> & { isWhole?: boolean })[]
): Promise<void> {
  await platform.write(async (session) => {
    for (const record of records)
      await saveArtifact(session, { isWhole: true, ...record }, { nowMs: Date.now(), prune: true });
  });
}

type Platforms = readonly (Partial<Image["platforms"][number]> & { readonly architecture: string })[];

/** Stores what digests stand for in a repo. */
export async function importImages(
  platform: Platform,
  repoUid: string,
  ...images: { readonly digest: string; readonly platforms: Platforms }[]
): Promise<void> {
  const mediaType = "application/vnd.oci.image.index.v1+json";
  await platform.write(async (session) => {
    for (const { digest, platforms } of images) {
      const all = platforms.map((each) => ({ variant: "", os: "linux", digest, size: 1, ...each }));
      await saveImage(session, repoUid, { digest, mediaType, platforms: all }, Date.now());
    }
  });
}

/** Stores the packages of a digest; they are apks unless they say otherwise. */
export async function importPackages(
  platform: Platform,
  repoUid: string,
  digest: string,
  ...packages: (Partial<ImagePackage> & { readonly name: string; readonly version: string })[]
): Promise<void> {
  const all = packages.map((each) => ({ type: "apk", architecture: "", origin: "", originVersion: "", ...each }));
  await platform.write((session) => saveImagePackages(session, repoUid, digest, { packages: all }, Date.now()));
}

/** Stores a report of a vulnerability scanner about a digest. */
export async function importVulnReport(
  platform: Platform,
  repoUid: string,
  digest: string,
  report: object,
  tags: readonly string[] = [],
): Promise<void> {
  const file = Buffer.from(JSON.stringify(report));
  const scan = readVulnReport(file, { refuse: () => {}, unread: () => {} });
  const packed = await packReport({ ...scan, repoUid, digest, scanMs: scan.createMs!, tags, file });
  await platform.write((session) => saveReport(session, packed, Date.now()));
}
