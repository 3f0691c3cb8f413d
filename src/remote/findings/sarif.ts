/** Findings as SARIF. */
import { isAbsolute, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { Finding, Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { levelWord } from "../print/levels.ts";
import { type SarifLevel, type SarifResult, type SarifRule, sarifLog } from "../print/sarif.ts";
import { packageText } from "../print/views.ts";

/** By the number of the level. */
const sarifLevels: Readonly<Record<Finding_Level, SarifLevel>> = {
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
  const rules = [...byId.keys()].sort().map((id) => ruleOf(byId.get(id)!));
  return sarifLog(
    "platform check",
    rules,
    findings.map((finding) => resultOf(finding, file)),
  );
}

function ruleOf({ vulnerabilityId: id, aliases, level, score }: Finding): SarifRule {
  const also = aliases.length === 0 ? "" : ` (${aliases.join(", ")})`;
  const severity = score?.toFixed(1) ?? scores[level];
  return {
    id,
    level: sarifLevel(level),
    text: `${id}${also}, level ${levelWord(level)}`,
    page: pageOf(id),
    properties: {
      tags: ["security", "vulnerability"],
      ...(severity !== undefined && { "security-severity": severity }),
    },
  };
}

/** For levels that are not known here, that which SARIF takes for none. */
function sarifLevel(level: Finding_Level): SarifLevel {
  return sarifLevels[level] ?? "warning";
}

/** Where people read about a vulnerability. */
function pageOf(id: string): string {
  const name = encodeURIComponent(id);
  if (/^CVE-/i.test(id)) return `https://www.cve.org/CVERecord?id=${name}`;
  return /^GHSA-/i.test(id) ? `https://github.com/advisories/${name}` : `https://osv.dev/vulnerability/${name}`;
}

function resultOf(finding: Finding, file: string | undefined): SarifResult {
  const { vulnerabilityId, component, level, fixedVersion } = finding;
  const purl = component?.purl ?? "";
  const name = packageText(component, { isBrief: true });
  const fix = fixedVersion === "" ? "" : `; fixed in ${fixedVersion}`;
  return {
    rule: vulnerabilityId,
    level: sarifLevel(level),
    text: `${name}: ${vulnerabilityId} (${levelWord(level)})${fix}`,
    uri: uriOf(file ?? name),
    place: { name, fullyQualifiedName: purl, kind: "package" },
    identity: `${vulnerabilityId} ${purl}`,
  };
}

/** A path as a reference, relative to the root of the repository where it is relative. */
function uriOf(file: string): string {
  return isAbsolute(file) ? pathToFileURL(file).href : file.split(sep).map(encodeURIComponent).join("/");
}
