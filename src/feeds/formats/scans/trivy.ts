/** The JSON report of Trivy, schema version 2. */
import { namedCvssVersion } from "../../../matching/index.ts";
import { type Fields, ignoredMembers } from "../../records/fields.ts";
import { type ReadNotes, readEach } from "../../records/read-each.ts";
import { digestsIn, limits, severityOf, type VulnFinding, type VulnScan } from "./scan.ts";

const fixStates: Readonly<Record<string, VulnFinding["fix"]["state"]>> = {
  fixed: "FIXED",
  affected: "NOT_FIXED",
  fix_deferred: "NOT_FIXED",
  will_not_fix: "WONT_FIX",
  end_of_life: "WONT_FIX",
};

/** The members of a rating with a score and a vector, and the version of CVSS where the vector names none. */
const ratingMembers = [
  ["V2Score", "V2Vector", "2.0"],
  ["V3Score", "V3Vector", "3.1"],
  ["V40Score", "V40Vector", "4.0"],
] as const;

/** Members that are ignored on purpose. */
const ignored = ignoredMembers({
  "": "ArtifactID ArtifactName ArtifactType ReportID SchemaVersion Trivy",
  Metadata: "DiffIDs ImageConfig ImageID Layers OS Reference RepoTags Size",
  "Results[]": `
    Class CustomResources ExperimentalModifiedFindings Licenses MisconfSummary Misconfigurations Packages Secrets Target
    Type`,
  "Results[].Vulnerabilities[]": `
    CweIDs Fingerprint LastModifiedDate Layer PkgIdentifier.BOMRef PkgIdentifier.UID PublishedDate SeveritySource
    VendorSeverity`,
  "Results[].Vulnerabilities[].DataSource": "BaseID Name URL",
});

/** Reads a report. Errors: FeedRefusal. */
export function readTrivy(report: Fields, notes: ReadNotes): VulnScan {
  const version = report.optionalCount("SchemaVersion");
  if (version !== 2) throw report.refusal("SchemaVersion", `is ${version}, not 2`);
  const metadata = report.optionalObject("Metadata");
  const scan: VulnScan = {
    scanner: { name: "TRIVY", version: report.optionalObject("Trivy")?.optionalText("Version") ?? "" },
    databaseMs: undefined,
    createMs: report.optionalTimeMs("CreatedAt"),
    digests: digestsIn(metadata?.texts("RepoDigests", limits.short) ?? []),
    findings: report
      .objects("Results", 10_000, notes.refuse)
      .flatMap((result) =>
        readEach(result.objects("Vulnerabilities", limits.findings, notes.refuse), notes, readVulnerability),
      ),
  };
  report.reportUnread(ignored, notes.unread);
  return scan;
}

function readVulnerability(found: Fields): VulnFinding {
  const fixed = found.optionalText("FixedVersion", limits.name) ?? "";
  const status = found.optionalText("Status") ?? "";
  const title = found.optionalText("Title", limits.text) ?? "";
  const url = found.optionalText("PrimaryURL", limits.name) ?? "";
  const path = found.optionalText("PkgPath", limits.name) ?? "";
  const ratings = found.optionalMap("CVSS");
  return {
    id: found.text("VulnerabilityID"),
    aliases: found.texts("VendorIDs", limits.short),
    source: found.optionalObject("DataSource")?.optionalText("ID") ?? "",
    description: found.optionalText("Description", limits.text) || title,
    severity: severityOf(found.optionalText("Severity")),
    cvss: (ratings?.names ?? []).flatMap((name) => {
      const rating = ratings!.object(name);
      return ratingMembers.flatMap(([scoreMember, vectorMember, version]) => {
        const score = rating.optionalNumber(scoreMember);
        const vector = rating.optionalText(vectorMember, limits.name) ?? "";
        if (score === undefined) return [];
        return [{ score: String(score), version: namedCvssVersion(vector) ?? version, vector, source: name }];
      });
    }),
    epss: [],
    exploits: [],
    urls: [...new Set([url, ...found.texts("References", limits.urls)])].filter(Boolean),
    fix: {
      versions: fixed === "" ? [] : fixed.split(", "),
      state: fixed === "" ? (fixStates[status] ?? "UNKNOWN") : "FIXED",
    },
    package: {
      id: found.optionalText("PkgID", limits.name) ?? "",
      name: found.text("PkgName", limits.name),
      version: found.optionalText("InstalledVersion", limits.name) ?? "",
      licenses: [],
      purl: found.optionalObject("PkgIdentifier")?.optionalText("PURL", limits.name) ?? "",
      cpes: [],
      locations: path === "" ? [] : [path],
    },
  };
}
