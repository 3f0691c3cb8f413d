/** The JSON report of Grype. */
import { namedCvssVersion } from "../../../matching/index.ts";
import { type Fields, ignoredMembers } from "../../records/fields.ts";
import { type ReadNotes, readEach } from "../../records/read-each.ts";
import { digestsIn, limits, severityOf, type VulnFinding, type VulnScan } from "./scan.ts";

const fixStates: Readonly<Record<string, VulnFinding["fix"]["state"]>> = {
  fixed: "FIXED",
  "not-fixed": "NOT_FIXED",
  "wont-fix": "WONT_FIX",
};

/** Members that are ignored on purpose. */
const ignored = ignoredMembers({
  "": `
    alertsByPackage descriptor.configuration distro ignoredMatches matches[].matchDetails source.target.* source.type`,
  "descriptor.db": "checksum error from location path providers schemaVersion valid",
  "descriptor.db.status": "checksum error from location path providers schemaVersion valid",
  "matches[].artifact": "language metadata metadataType type upstreams",
  "matches[].artifact.locations[]": "accessPath annotations layerID",
  "matches[].relatedVulnerabilities[]": `
    advisories cvss cwes dataSource epss knownExploited namespace risk severity urls`,
  "matches[].vulnerability": `
    advisories cwes fix.available fix.suggestedVersion knownExploited[].cwes knownExploited[].notes`,
  "matches[].vulnerability.cvss[]": "metrics.exploitabilityScore metrics.impactScore type vendorMetadata",
});

/** Reads a report. Errors: FeedRefusal. */
export function readGrype(report: Fields, notes: ReadNotes): VulnScan {
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
  const findings = readEach(report.objects("matches", limits.findings, notes.refuse), notes, readMatch);
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
  const risk = vulnerability.optionalNumber("risk");
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
    severity: severityOf(vulnerability.optionalText("severity")),
    cvss: vulnerability.objects("cvss", 100).flatMap((rating) => {
      const score = rating.optionalObject("metrics")?.optionalNumber("baseScore");
      const vector = rating.optionalText("vector", limits.name) ?? "";
      const version = rating.optionalText("version") ?? "";
      const source = rating.optionalText("source") ?? "";
      return score === undefined
        ? []
        : [{ score: String(score), version: namedCvssVersion(vector) ?? version, vector, source }];
    }),
    epss: vulnerability.objects("epss", 100).map((rating) => ({
      cve: rating.optionalText("cve") ?? "",
      score: rating.optionalNumber("epss") ?? 0,
      percentile: rating.optionalNumber("percentile") ?? 0,
      date: rating.optionalText("date") ?? "",
    })),
    exploits: vulnerability.objects("knownExploited", 100).map(readExploit),
    ...(risk !== undefined && { risk }),
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

function readExploit(exploit: Fields): VulnFinding["exploits"][number] {
  return {
    cve: exploit.optionalText("cve") ?? "",
    vendor: exploit.optionalText("vendorProject", limits.name) ?? "",
    product: exploit.optionalText("product", limits.name) ?? "",
    dateAdded: exploit.optionalText("dateAdded") ?? "",
    dueDate: exploit.optionalText("dueDate") ?? "",
    requiredAction: exploit.optionalText("requiredAction", limits.text) ?? "",
    ransomwareUse: exploit.optionalText("knownRansomwareCampaignUse") ?? "",
    urls: exploit.texts("urls", limits.urls),
  };
}
