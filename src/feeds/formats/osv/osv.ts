/**
 * Reads OSV records (Open Source Vulnerability format 1.x, https://ossf.github.io/osv-schema/): vulnerability metadata,
 * and what the record says about packages.
 *
 * The metadata of a withdrawn record have no severities, and its facts no packages. Severities in words are facts only,
 * because metadata have no field for them. Vectors are checked: the type of a severity is that of its vector, and one
 * that is not a vector is left out and reported as unread. The type of a reference is unspecified if the API does not
 * know it.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  Reference_Type,
  Reference_TypeSchema,
  Severity_Type,
  type VulnerabilityMetadata,
  VulnerabilityMetadataSchema,
} from "../../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type CvssVersion, cvssVersion, type RatingFact, type VulnerabilityFacts } from "../../../matching/index.ts";
import { Fields, hasMembers, ignoredMembers, type Unread } from "../../records/fields.ts";
import { FeedRefusal, ForeignRecord } from "../../source/refusal.ts";
import { isRecordId, readAliases, readId } from "../record-id.ts";
import { readAffected } from "./affected.ts";
import { ratingSource, readRatings, readWord } from "./ratings.ts";

/** What a record says. */
export interface OsvRecord {
  readonly metadata: VulnerabilityMetadata;
  readonly facts: VulnerabilityFacts;
}

const maxSummaryLength = 4096;
const maxDetailsLength = 256 * 1024;
const maxUrlLength = 8192;
const maxReferences = 2000;
const maxRelated = 10_000;
const maxWeaknesses = 100;

/** OSV and the API have the same names. */
const referenceTypes: ReadonlyMap<string, Reference_Type> = new Map(
  Reference_TypeSchema.values.map(({ localName, number }) => [localName, number as Reference_Type]),
);

/** CVSS 3.0 and 3.1 have one type; their vectors name the version. */
const severityTypes: Readonly<Record<CvssVersion, Severity_Type>> = {
  "2.0": Severity_Type.CVSS_V2,
  "3.0": Severity_Type.CVSS_V3,
  "3.1": Severity_Type.CVSS_V3,
  "4.0": Severity_Type.CVSS_V4,
};

/** Members that nothing is made of. Of `database_specific` only GitHub's `cwe_ids` and `severity` are known. */
const ignored = ignoredMembers({
  "": "credits database_specific",
  "affected[]": "database_specific ecosystem_specific",
  "affected[].ranges[]": "database_specific repo",
});

/** A URL with an authority. Excludes schemes that a browser would execute, as `javascript:`. */
const url = /^[a-z][a-z0-9+.-]*:\/\/\S+$/i;
/** A URL of https without its scheme, as publishers write for repositories: `github.com/owner/name`. */
const hostAndPath = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+\/\S*$/i;
const weakness = /^CWE-\d{1,6}$/;

/**
 * Reads a record. Errors: ForeignRecord if it has no `id`, or neither of `modified` and
 * `schema_version`; FeedRefusal with its id.
 */
export function readOsv(record: unknown, unread: Unread): OsvRecord {
  if (!hasMembers(record, "id", "modified") && !hasMembers(record, "id", "schema_version"))
    throw new ForeignRecord("is not an OSV record: it needs id and modified");
  try {
    return readRecord(new Fields(record), record.database_specific, unread);
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    const { id } = record;
    throw error.of(typeof id === "string" && isRecordId(id) ? [id] : []);
  }
}

function readRecord(fields: Fields, specific: unknown, unread: Unread): OsvRecord {
  const version = fields.optionalText("schema_version") ?? "1.0.0";
  if (!version.startsWith("1.")) throw fields.refusal("schema_version", `${JSON.stringify(version)} is not 1.x`);
  const id = readId(fields, "id");
  const modifyMs = fields.timeMs("modified");
  const publishMs = fields.optionalTimeMs("published");
  const withdrawMs = fields.optionalTimeMs("withdrawn");
  const source = ratingSource(id);
  const rated = readRatings(fields, source, "severity[].score", unread);
  const ratings = rated.length > 0 ? rated : readWord(specific, source);
  const packages = readAffected(fields, source, unread);
  const summary = fields.optionalText("summary", maxSummaryLength) ?? "";
  const aliases = readAliases(fields, "aliases");
  const metadata = create(VulnerabilityMetadataSchema, {
    id,
    summary,
    details: fields.optionalText("details", maxDetailsLength) ?? "",
    aliases,
    references: fields.objects("references", maxReferences).map((reference) => {
      const text = reference.text("url", maxUrlLength);
      const address = hostAndPath.test(text) ? `https://${text}` : text;
      if (!url.test(address)) throw reference.refusal("url", "is not a URL");
      return {
        type: referenceTypes.get(reference.optionalText("type") ?? "") ?? Reference_Type.UNSPECIFIED,
        url: address,
      };
    }),
    severities:
      withdrawMs === undefined ? severitiesOf([ratings, ...packages.map((each) => each.ratings ?? [])].flat()) : [],
    ...(withdrawMs !== undefined && { withdrawTime: timestampFromMs(withdrawMs) }),
  });
  const facts: VulnerabilityFacts = {
    id,
    aliases: aliases.filter((alias) => alias !== id),
    upstream: readAliases(fields, "upstream", maxRelated),
    related: readAliases(fields, "related", maxRelated),
    summary: summary.replace(/\s+/g, " ").trim(),
    ...(publishMs !== undefined && { publishMs }),
    modifyMs,
    ...(withdrawMs !== undefined && { withdrawMs }),
    weaknesses: readWeaknesses(specific),
    ratings: withdrawMs === undefined ? ratings : [],
    packages: withdrawMs === undefined ? packages : [],
  };
  fields.reportUnread(ignored, unread);
  return { metadata, facts };
}

/** The vectors of ratings, without duplicates. */
function severitiesOf(ratings: readonly RatingFact[]) {
  const severities = ratings.flatMap(({ vector }) => {
    const version = vector === "" ? undefined : cvssVersion(vector);
    return version === undefined ? [] : [{ type: severityTypes[version], score: vector }];
  });
  return [...new Map(severities.map((severity) => [`${severity.type} ${severity.score}`, severity])).values()];
}

/** GitHub's weaknesses of a record: `database_specific.cwe_ids`, which the schema of OSV leaves to publishers. */
function readWeaknesses(specific: unknown): string[] {
  if (!hasMembers(specific, "cwe_ids") || !Array.isArray(specific.cwe_ids)) return [];
  const ids = specific.cwe_ids.filter((id): id is string => typeof id === "string" && weakness.test(id));
  return [...new Set(ids)].slice(0, maxWeaknesses);
}
