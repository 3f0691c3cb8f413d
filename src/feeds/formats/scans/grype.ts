/** The JSON report of Grype. */
import type { Fields } from "../../records/fields.ts";
import { digestsIn, limits, readEach, type VulnFinding, type VulnReportNotes, type VulnScan } from "./scan.ts";

const severities: Readonly<Record<string, VulnFinding["severity"]>> = {
  negligible: "NEGLIGIBLE",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  critical: "CRITICAL",
};

const fixStates: Readonly<Record<string, VulnFinding["fix"]["state"]>> = {
  fixed: "FIXED",
  "not-fixed": "NOT_FIXED",
  "wont-fix": "WONT_FIX",
};

const ofVulnerability = ["advisories", "cwes", "epss", "knownExploited", "risk"] as const;
const ofRating = ["source", "type", "vector", "vendorMetadata"] as const;

/** Members that are ignored on purpose. */
const ignored: ReadonlySet<string> = new Set([
  "alertsByPackage",
  "distro",
  "ignoredMatches",
  "source.type",
  "source.target.*",
  "descriptor.configuration",
  ...["checksum", "error", "from", "location", "path", "providers", "schemaVersion", "valid"].flatMap((name) => [
    `descriptor.db.${name}`,
    `descriptor.db.status.${name}`,
  ]),
  "matches[].matchDetails",
  ...["language", "upstreams", "metadataType", "metadata", "type"].map((name) => `matches[].artifact.${name}`),
  "matches[].artifact.locations[].accessPath",
  "matches[].artifact.locations[].annotations",
  "matches[].artifact.locations[].layerID",
  "matches[].vulnerability.fix.available",
  "matches[].vulnerability.fix.suggestedVersion",
  ...["matches[].vulnerability", "matches[].relatedVulnerabilities[]"].flatMap((kind) => [
    ...ofVulnerability.map((name) => `${kind}.${name}`),
    ...ofRating.map((name) => `${kind}.cvss[].${name}`),
    `${kind}.cvss[].metrics.exploitabilityScore`,
    `${kind}.cvss[].metrics.impactScore`,
  ]),
  ...["dataSource", "namespace", "severity", "urls", "cvss"].map(
    (name) => `matches[].relatedVulnerabilities[].${name}`,
  ),
]);

/** Reads a report. Errors: FeedRefusal. */
export function readGrype(report: Fields, notes: VulnReportNotes): VulnScan {
  const descriptor = report.object("descriptor");
  const db = descriptor.optionalObject("db");
  const status = db?.optionalObject("status");
  const source = report.optionalObject("source");
  // The target is an object for an image, and text for a directory or a file.
  const target = source?.isText("target") === true ? undefined : source?.optionalMap("target");
  const references = [
    ...(target?.texts("repoDigests", limits.short) ?? []),
    target?.optionalText("manifestDigest", limits.name) ?? "",
  ];
  const findings = readEach(report.objects("matches", limits.findings), notes, readMatch);
  const scan: VulnScan = {
    scanner: { name: "GRYPE", version: descriptor.optionalText("version") ?? "" },
    databaseMs: status?.optionalTimeMs("built") ?? db?.optionalTimeMs("built"),
    createMs: descriptor.optionalText("timestamp") === "" ? undefined : descriptor.optionalTimeMs("timestamp"),
    digests: digestsIn(references),
    findings,
  };
  descriptor.optionalText("name");
  report.reportUnread(ignored, notes.unread);
  return scan;
}

function readMatch(match: Fields): VulnFinding {
  const vulnerability = match.object("vulnerability");
  const related = match.objects("relatedVulnerabilities", 100);
  const artifact = match.object("artifact");
  const fix = vulnerability.optionalObject("fix");
  const id = vulnerability.text("id");
  const others = related.map((each) => ({
    id: each.text("id"),
    description: each.optionalText("description", limits.text) ?? "",
  }));
  const dataSource = vulnerability.optionalText("dataSource", limits.name) ?? "";
  const urls = [dataSource, ...vulnerability.texts("urls", limits.urls)].filter(Boolean);
  return {
    id,
    aliases: [...new Set(others.map((each) => each.id))].filter((alias) => alias !== id),
    source: vulnerability.optionalText("namespace") ?? "",
    description:
      vulnerability.optionalText("description", limits.text) ??
      others.find(({ description }) => description !== "")?.description ??
      "",
    severity: severities[(vulnerability.optionalText("severity") ?? "").toLowerCase()] ?? "UNKNOWN",
    cvss: vulnerability.objects("cvss", 100).flatMap((rating) => {
      const score = rating.optionalObject("metrics")?.optionalNumber("baseScore");
      const version = rating.optionalText("version") ?? "";
      return score === undefined ? [] : [{ score: String(score), version }];
    }),
    urls: [...new Set(urls)],
    fix: {
      versions: fix?.texts("versions", limits.short) ?? [],
      state: fixStates[fix?.optionalText("state") ?? ""] ?? "UNKNOWN",
    },
    package: {
      id: artifact.optionalText("id", limits.name) ?? "",
      name: artifact.text("name", limits.name),
      version: artifact.optionalText("version", limits.name) ?? "",
      licenses: artifact.texts("licenses", limits.short),
      purl: artifact.optionalText("purl", limits.name) ?? "",
      cpes: artifact.texts("cpes", limits.short),
      locations: artifact.objects("locations", 10_000).map((location) => location.text("path", limits.name)),
    },
  };
}
