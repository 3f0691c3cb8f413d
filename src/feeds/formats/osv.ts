/**
 * Reads OSV records (Open Source Vulnerability format 1.x, https://ossf.github.io/osv-schema/) as vulnerability
 * metadata. Affected packages are not read: advisories have them.
 *
 * A withdrawn record is kept without severities. Severities other than CVSS are ignored, because the API has no field
 * for them. Vectors are checked: the type of a severity is that of its vector, and one that is not a vector is left out
 * and reported as unread. The type of a reference is unspecified if the API does not know it.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  Reference_Type,
  Reference_TypeSchema,
  Severity_Type,
  type VulnerabilityMetadata,
  VulnerabilityMetadataSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type CvssVersion, cvssVersion } from "../../matching/index.ts";
import { Fields, hasMembers, ignoredMembers, type Unread } from "../records/fields.ts";
import { FeedRefusal, ForeignRecord } from "../source/refusal.ts";
import { isRecordId, readAliases, readId } from "./record-id.ts";

const maxSummaryLength = 4096;
const maxDetailsLength = 256 * 1024;
const maxUrlLength = 8192;
const maxScoreLength = 512;
const maxReferences = 2000;
const maxSeverities = 100;
const maxAffected = 10_000;

/** OSV and the API have the same names. */
const referenceTypes: ReadonlyMap<string, Reference_Type> = new Map(
  Reference_TypeSchema.values.map(({ localName, number }) => [localName, number as Reference_Type]),
);

/** Types of severities that are vectors of CVSS. */
const scales: ReadonlySet<string> = new Set(["CVSS_V2", "CVSS_V3", "CVSS_V4"]);

/** CVSS 3.0 and 3.1 have one type; their vectors name the version. */
const severityTypes: Readonly<Record<CvssVersion, Severity_Type>> = {
  "2.0": Severity_Type.CVSS_V2,
  "3.0": Severity_Type.CVSS_V3,
  "3.1": Severity_Type.CVSS_V3,
  "4.0": Severity_Type.CVSS_V4,
};

/** Members that the API has no field for. */
const ignored = ignoredMembers({
  "": "credits database_specific related upstream",
  "affected[]": "database_specific ecosystem_specific package ranges versions",
});

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
  const withdrawnMs = fields.optionalTimeMs("withdrawn");
  const severities = readSeverities(fields, unread);
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
    severities: withdrawnMs === undefined ? severities : [],
    ...(withdrawnMs !== undefined && { withdrawTime: timestampFromMs(withdrawnMs) }),
  });
  fields.reportUnread(ignored, unread);
  return metadata;
}

/** The severities of the vulnerability and of its affected packages, without duplicates. */
function readSeverities(fields: Fields, unread: Unread) {
  const rated = [
    { each: fields, member: "severity[].score" },
    ...fields.objects("affected", maxAffected).map((each) => ({ each, member: "affected[].severity[].score" })),
  ];
  const severities = rated.flatMap(({ each, member }) =>
    each.objects("severity", maxSeverities).flatMap((severity) => {
      const isVector = scales.has(severity.text("type"));
      const score = severity.text("score", maxScoreLength);
      const version = isVector ? cvssVersion(score) : undefined;
      if (isVector && version === undefined) unread(member);
      return version === undefined ? [] : [{ type: severityTypes[version], score }];
    }),
  );
  return [...new Map(severities.map((severity) => [`${severity.type} ${severity.score}`, severity])).values()];
}
