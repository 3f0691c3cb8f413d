/**
 * Packuments: the metadata of an npm package with all its versions (github.com/npm/registry,
 * `docs/responses/package-metadata.md`). Reads `name`, `description`, `versions`, `time`, and of a version
 * `description`, `deprecated` and `dist.unpackedSize`. Abbreviated packuments have no descriptions and times.
 */
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { type Fields, ignoredMembers } from "../records/fields.ts";
import {
  type ArtifactRecord,
  checkName,
  checkVersion,
  cutDescription,
  maxVersions,
  type VersionRecord,
} from "./artifact-record.ts";

/** All other members. Any member of a version is known: it is a `package.json`, which may contain anything. */
export const packumentIgnored = ignoredMembers({
  "": `
    _attachments _cached _contentLength _etag _id _lastModified _rev author bugs contributors dist-tags homepage
    keywords license licenses maintainers modified readme readmeFilename repository time.* users versions.*.*`,
  "versions.*.dist": "attestations fileCount integrity npm-signature shasum signatures size tarball",
});

const maxTextLength = 1024 * 1024;

/** Whether a record seems to be a packument. */
export function isPackument(record: Fields): boolean {
  return record.has("name") && record.has("versions") && !record.has("info");
}

/** Reads the artifact of a packument. Errors: FeedRefusal. */
export function readPackument(record: Fields): ArtifactRecord {
  const versions = record.map("versions");
  if (versions.names.length > maxVersions) throw record.refusal("versions", `has more than ${maxVersions} versions`);
  const description = record.optionalText("description", maxTextLength);
  const times = record.optionalMap("time");
  return {
    ecosystem: Ecosystem.JAVASCRIPT,
    name: checkName(record.text("name", maxTextLength)),
    ...(description !== undefined && { description: cutDescription(description) }),
    isWhole: true,
    versions: versions.names.map((version) => readVersion(version, versions.object(version), times)),
  };
}

function readVersion(version: string, fields: Fields, times: Fields | undefined): VersionRecord {
  const description = deprecationOf(fields) ?? fields.optionalText("description", maxTextLength);
  const createTimeMs = times?.optionalTimeMs(version);
  const sizeBytes = fields.optionalObject("dist")?.optionalCount("unpackedSize");
  return {
    version: checkVersion(version),
    ...(description !== undefined && { description: cutDescription(description) }),
    ...(createTimeMs !== undefined && { createTimeMs }),
    ...(sizeBytes !== undefined && { sizeBytes }),
  };
}

/** The deprecation notice of a version; undefined if `deprecated` is absent, `false` or "". */
function deprecationOf(version: Fields): string | undefined {
  if (version.isFlag("deprecated")) return version.optionalFlag("deprecated") ? "Deprecated" : undefined;
  const reason = version.optionalText("deprecated", maxTextLength);
  return reason ? `Deprecated: ${reason}` : undefined;
}
