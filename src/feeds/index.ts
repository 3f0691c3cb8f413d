/**
 * feeds: reads data that others publish, none of which is trusted: files, archives and URLs of records, container
 * registries, and package registries. It returns messages and plain records, and runs imports.
 *
 * A feed is read in three steps, each a stream. `source/` turns a location into files, `records/` a file into records,
 * and a format in `formats/` a record into values to store. `import/` passes them to a `save` function, in short
 * transactions.
 *
 * - Memory use does not depend on the size of a feed.
 * - Everything has a limit: bytes of a record and of the whole, compression ratio, entries, nesting, aliases, time
 *   without a response.
 * - An invalid record is refused with its location and the reason, and the import continues after it.
 * - Members that a reader does not know are reported. Those that it ignores on purpose are listed beside it.
 * - No file is written under a name that came from outside.
 * - An item is stored completely or not at all. A second import of the same feed changes nothing.
 *
 * This module does not know services, callers or SQL; it stores through functions passed to it. A URL given by the
 * operator may be any address. A URL found in a response must be of the same host or public.
 *
 * Parsers and clients (YAML, zip, tar, XML, HTTP) are loaded on first use.
 *
 * Follows: RFC 8259, YAML 1.2, JSON Lines, RFC 1952, POSIX pax, PKWARE APPNOTE, OSV, OpenVEX, SPDX, CycloneDX, OCI
 * distribution.
 */

export { type Distribution, type PackageAdvisories, parseDistribution, readAdvisories } from "./formats/advisories.ts";
export { isArtifactDocument, maxDocumentBytes, readArtifactDocument } from "./formats/artifact-document.ts";
export type { ArtifactRecord } from "./formats/artifact-record.ts";
export { type DebianRecord, readDebianTracker } from "./formats/debian-tracker.ts";
export { readProduct } from "./formats/end-of-life.ts";
export { type EpssScore, type EpssScores, readEpss } from "./formats/exploits/epss.ts";
export { type KevEntry, readKev } from "./formats/exploits/kev.ts";
export { type OsvRecord, readOsv } from "./formats/osv/osv.ts";
export type { ListedPackage } from "./formats/sbom/packages.ts";
export { readSbom } from "./formats/sbom/sbom.ts";
export { readVulnReport } from "./formats/scans/vuln-report.ts";
export { readOnThread, readSbomOnThread } from "./formats/threads/read-on-thread.ts";
export type { VexStatements } from "./formats/threads/readers.ts";
export { ImportReport, type ImportSummary, summaryText } from "./import/report.ts";
export {
  type FeedIds,
  type ImportItem,
  type ImportOptions,
  type Prune,
  type PrunedPortion,
  runImport,
} from "./import/run.ts";
export type { Unread } from "./records/fields.ts";
export { parseRecords } from "./records/parse.ts";
export type { ReadNotes } from "./records/read-each.ts";
export { RegistryFailure, RegistryRefusal } from "./registries/oci/errors.ts";
export { isDigest, isManifestType } from "./registries/oci/manifest.ts";
export {
  ContainerRegistry,
  isRepositoryName,
  isTagName,
  type RegistryImage,
  type RegistryOptions,
} from "./registries/oci/registry.ts";
export type { SbomDocument } from "./registries/oci/sboms.ts";
export { openPackages } from "./registries/packages.ts";
export type { FeedFile, FeedOptions } from "./source/feed.ts";
export { openFeed } from "./source/open.ts";
export { FeedRefusal, ForeignRecord } from "./source/refusal.ts";
export { SeenIds } from "./source/seen-ids.ts";
