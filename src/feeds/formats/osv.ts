/**
 * Reads OSV records (Open Source Vulnerability format 1.x, https://ossf.github.io/osv-schema/) as vulnerability
 * metadata. Affected packages are not read: advisories have them.
 *
 * A withdrawn record is kept without severities. Severities other than CVSS are ignored, because the API has no field
 * for them. The type of a reference is unspecified if the API does not know it.
 */
import { create } from "@bufbuild/protobuf";
import {
  Reference_Type,
  Severity_Type,
  type VulnerabilityMetadata,
  VulnerabilityMetadataSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { Fields, hasMembers, type Unread } from "../records/fields.ts";
import { FeedRefusal, ForeignRecord } from "../source/refusal.ts";
import { isRecordId, readAliases, readId } from "./record-id.ts";

const maxSummaryLength = 4096;
const maxDetailsLength = 256 * 1024;
const maxUrlLength = 8192;
const maxScoreLength = 512;
const maxReferences = 2000;
const maxSeverities = 100;
const maxAffected = 10_000;

const referenceTypes: ReadonlyMap<string, Reference_Type> = new Map([
  ["ADVISORY", Reference_Type.ADVISORY],
  ["ARTICLE", Reference_Type.ARTICLE],
  ["DETECTION", Reference_Type.DETECTION],
  ["DISCUSSION", Reference_Type.DISCUSSION],
  ["REPORT", Reference_Type.REPORT],
  ["FIX", Reference_Type.FIX],
  ["INTRODUCED", Reference_Type.INTRODUCED],
  ["PACKAGE", Reference_Type.PACKAGE],
  ["EVIDENCE", Reference_Type.EVIDENCE],
  ["WEB", Reference_Type.WEB],
]);

/** CVSS 3.0 and 3.1 have one type; their vectors name the version. */
const scales: ReadonlyMap<string, Severity_Type> = new Map([
  ["CVSS_V2", Severity_Type.CVSS_V2],
  ["CVSS_V3", Severity_Type.CVSS_V3],
  ["CVSS_V4", Severity_Type.CVSS_V4],
]);

/** Members that the API has no field for. */
const ignored: ReadonlySet<string> = new Set([
  "affected[].database_specific",
  "affected[].ecosystem_specific",
  "affected[].package",
  "affected[].ranges",
  "affected[].versions",
  "credits",
  "database_specific",
  "related",
  "upstream",
]);

/** A URL with an authority. Excludes schemes that a browser would execute, as `javascript:`. */
const url = /^[a-z][a-z0-9+.-]*:\/\/\S+$/i;
/** A URL of https without its scheme, as publishers write for repositories: `github.com/owner/name`. */
const hostAndPath = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+\/\S*$/i;

/**
 * Reads the metadata of a record. Errors: ForeignRecord if it has no `id`, or neither of `modified` and
 * `schema_version`; FeedRefusal with its id.
 */
export function readOsv(record: unknown, unread: Unread): VulnerabilityMetadata {
  if (!hasMembers(record, "id", "modified") && !hasMembers(record, "id", "schema_version"))
    throw new ForeignRecord("is not an OSV record: it needs id and modified");
  try {
    return readRecord(new Fields(record), unread);
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    const { id } = record;
    throw error.of(typeof id === "string" && isRecordId(id) ? [id] : []);
  }
}

function readRecord(fields: Fields, unread: Unread): VulnerabilityMetadata {
  const version = fields.optionalText("schema_version") ?? "1.0.0";
  if (!version.startsWith("1.")) throw fields.refusal("schema_version", `${JSON.stringify(version)} is not 1.x`);
  const id = readId(fields, "id");
  fields.timeMs("modified");
  fields.optionalTimeMs("published");
  const isWithdrawn = fields.optionalTimeMs("withdrawn") !== undefined;
  const severities = readSeverities(fields);
  const metadata = create(VulnerabilityMetadataSchema, {
    id,
    summary: fields.optionalText("summary", maxSummaryLength) ?? "",
    details: fields.optionalText("details", maxDetailsLength) ?? "",
    aliases: readAliases(fields, "aliases"),
    references: fields.objects("references", maxReferences).map((reference) => {
      const text = reference.text("url", maxUrlLength);
      const address = hostAndPath.test(text) ? `https://${text}` : text;
      if (!url.test(address)) throw reference.refusal("url", "is not a URL");
      return {
        type: referenceTypes.get(reference.optionalText("type") ?? "") ?? Reference_Type.UNSPECIFIED,
        url: address,
      };
    }),
    severities: isWithdrawn ? [] : severities,
  });
  fields.reportUnread(ignored, unread);
  return metadata;
}

/** The severities of the vulnerability and of its affected packages, without duplicates. */
function readSeverities(fields: Fields) {
  const rated = [fields, ...fields.objects("affected", maxAffected)];
  const severities = rated.flatMap((each) =>
    each.objects("severity", maxSeverities).flatMap((severity) => {
      const type = scales.get(severity.text("type"));
      const score = severity.text("score", maxScoreLength);
      return type === undefined ? [] : [{ type, score }];
    }),
  );
  return [...new Map(severities.map((severity) => [`${severity.type} ${severity.score}`, severity])).values()];
}
