/** Findings as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0), with what GitHub code scanning needs. */
import { createHash } from "node:crypto";
import { isAbsolute, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { Finding, Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { printableJson } from "../../log-text.ts";
import { version } from "../../version.ts";
import { levelWord } from "../print/levels.ts";
import { packageText } from "../print/views.ts";

/** By the number of the level. */
const sarifLevels: Readonly<Record<Finding_Level, string>> = {
  0: "note",
  1: "note",
  2: "note",
  3: "warning",
  4: "error",
  5: "error",
};

/** What code scanning derives its own level from, where no score is known, by the number of the level. */
const scores: Readonly<Record<Finding_Level, string | undefined>> = {
  0: undefined,
  1: "0.0",
  2: "2.0",
  3: "5.5",
  4: "8.0",
  5: "9.5",
};

/**
 * The log of one run: a rule for each vulnerability, a result for each finding.
 * @param file that has the packages; undefined where they are none of a file.
 */
export function sarif(findings: readonly Finding[], file: string | undefined): string {
  const byId = new Map(findings.toReversed().map((finding) => [finding.vulnerabilityId, finding]));
  const ids = [...byId.keys()].sort();
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "platform check", version: version(), rules: ids.map((id) => ruleOf(byId.get(id)!)) } },
        results: findings.map((finding) => resultOf(finding, ids.indexOf(finding.vulnerabilityId), file)),
      },
    ],
  };
  return `${printableJson(log, 2)}\n`;
}

function ruleOf({ vulnerabilityId: id, aliases, level, score }: Finding): object {
  const also = aliases.length === 0 ? "" : ` (${aliases.join(", ")})`;
  const text = `${id}${also}, level ${levelWord(level)}`;
  const severity = score?.toFixed(1) ?? scores[level];
  return {
    id,
    shortDescription: { text },
    fullDescription: { text },
    help: { text: `${text}. See ${pageOf(id)}` },
    helpUri: pageOf(id),
    defaultConfiguration: { level: sarifLevels[level] },
    properties: {
      tags: ["security", "vulnerability"],
      ...(severity !== undefined && { "security-severity": severity }),
    },
  };
}

/** Where people read about a vulnerability. */
function pageOf(id: string): string {
  const name = encodeURIComponent(id);
  if (/^CVE-/i.test(id)) return `https://www.cve.org/CVERecord?id=${name}`;
  return /^GHSA-/i.test(id) ? `https://github.com/advisories/${name}` : `https://osv.dev/vulnerability/${name}`;
}

/** Code scanning takes no result without a file and a line. */
function resultOf(finding: Finding, ruleIndex: number, file: string | undefined): object {
  const { vulnerabilityId, component, level, fixedVersion } = finding;
  const purl = component?.purl ?? "";
  const name = packageText(component, { isBrief: true });
  const fix = fixedVersion === "" ? "" : `; fixed in ${fixedVersion}`;
  return {
    ruleId: vulnerabilityId,
    ruleIndex,
    level: sarifLevels[level],
    message: { text: `${name}: ${vulnerabilityId} (${levelWord(level)})${fix}` },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: uriOf(file ?? name) }, region: { startLine: 1 } },
        logicalLocations: [{ name, fullyQualifiedName: purl, kind: "package" }],
      },
    ],
    partialFingerprints: { primaryLocationLineHash: fingerprint(`${vulnerabilityId} ${purl}`) },
  };
}

/** A path as a reference, relative to the root of the repository where it is relative. */
function uriOf(file: string): string {
  return isAbsolute(file) ? pathToFileURL(file).href : file.split(sep).map(encodeURIComponent).join("/");
}

/** The same for a finding in two runs. */
function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
