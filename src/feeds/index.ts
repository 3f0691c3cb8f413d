/**
 * The feeds room reads what others publish, nobody of whom is trusted: files, archives and addresses full of records, registries of images and of
 * packages. It makes messages and plain records of them, and runs imports.
 *
 * A feed comes in three steps, each a stream: `open-feed.ts` turns a place into files, `parse-record.ts` a file into records, a format in `formats/`
 * a record into what is stored. `run-import.ts` joins them with somebody's `save`, in batches that others hardly notice.
 *
 * Promises: memory is flat whatever the size of a feed. Everything has a limit: bytes of a record and of the whole, how far it unpacks, entries, nesting,
 * aliases, time without an answer. What is wrong is refused with its place and its reason, and what follows it is read. A member that a reader does
 * not know is reported; those that it leaves out on purpose are listed beside it. Nothing is written by a name that came from outside. An item is stored whole or not at all, and a second run of the same feed changes nothing.
 *
 * It refuses to know services, callers or SQL: what it stores goes through functions that it is given. An address that the operator names may be
 * anywhere; one that an answer names must be the same host or a public one.
 *
 * Heavy readers (YAML, zip, tar, XML, HTTP) are loaded when they are first needed.
 *
 * Follows: RFC 8259, YAML 1.2, JSON lines, RFC 1952, POSIX pax, PKWARE APPNOTE; OSV, OpenVEX, SPDX, CycloneDX, OCI distribution.
 */
export { isArtifactDocument, maxDocumentBytes, readArtifactDocument } from "./artifact-document.ts";
export type { ArtifactRecord, VersionRecord } from "./artifact-record.ts";
export { Batches } from "./batches.ts";
export type { FeedFile, FeedOptions, FeedReport } from "./feed.ts";
export { FeedRefusal, Fields, type ListLimits, type Unread } from "./fields.ts";
export { type Distribution, type PackageAdvisories, parseDistribution, readAdvisories } from "./formats/advisories.ts";
export { readOsv } from "./formats/osv.ts";
export type { ListedPackage } from "./formats/packages.ts";
export { readSbom } from "./formats/sbom.ts";
export { type ImportOutcome, ImportReport, type ImportSummary, summaryText } from "./import-report.ts";
export { openFeed } from "./open-feed.ts";
export { openPackages, type PackagesOptions } from "./package-registry.ts";
export { decodeUtf8, type FeedRecord, parseJson, parseRecords } from "./parse-record.ts";
export {
  type Credentials,
  isDigest,
  isManifestType,
  isRepositoryName,
  isTagName,
  openRegistry,
  type Registry,
  RegistryFailure,
  type RegistryImage,
  type RegistryOptions,
  RegistryRefusal,
} from "./registry/index.ts";
export {
  type ImportItem,
  type ImportOptions,
  type Prune,
  type PrunedPortion,
  runImport,
  type SavedItem,
} from "./run-import.ts";
export { SeenIds } from "./seen-ids.ts";
