/** Logs in SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0), with what GitHub code scanning needs. */
import { createHash } from "node:crypto";
import { printableJson } from "../../log-text.ts";
import { version } from "../../version.ts";

/** How severe results of a rule are. */
export type SarifLevel = "error" | "warning" | "note";

/** A rule that was checked. */
export interface SarifRule {
  readonly id: string;
  readonly level: SarifLevel;
  readonly text: string;
  /** Where people read more. */
  readonly page?: string;
  readonly properties?: object;
}

/** What was found by a rule. */
export interface SarifResult {
  /** The id of the rule. */
  readonly rule: string;
  readonly level: SarifLevel;
  readonly text: string;
  /** The file that it is about, as a reference: code scanning takes no result without a file and a line. */
  readonly uri: string;
  readonly place: { readonly name: string; readonly fullyQualifiedName: string; readonly kind: string };
  /** The same for a result in two runs. */
  readonly identity: string;
  /** Why it is not to be shown; absent if it is. */
  readonly suppression?: string;
}

/** The log of one run of a tool, as text. */
export function sarifLog(tool: string, rules: readonly SarifRule[], results: readonly SarifResult[]): string {
  const indexes = new Map(rules.map(({ id }, i) => [id, i]));
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: tool, version: version(), rules: rules.map(ruleOf) } },
        results: results.map((result) => resultOf(result, indexes.get(result.rule)!)),
      },
    ],
  };
  return `${printableJson(log, 2)}\n`;
}

function ruleOf({ id, level, text, page, properties }: SarifRule): object {
  return {
    id,
    shortDescription: { text },
    fullDescription: { text },
    help: { text: page === undefined ? text : `${text}. See ${page}` },
    ...(page !== undefined && { helpUri: page }),
    defaultConfiguration: { level },
    ...(properties && { properties }),
  };
}

function resultOf({ rule, level, text, uri, place, identity, suppression }: SarifResult, ruleIndex: number): object {
  return {
    ruleId: rule,
    ruleIndex,
    level,
    message: { text },
    locations: [
      { physicalLocation: { artifactLocation: { uri }, region: { startLine: 1 } }, logicalLocations: [place] },
    ],
    ...(suppression !== undefined && { suppressions: [{ kind: "external", justification: suppression }] }),
    partialFingerprints: { primaryLocationLineHash: createHash("sha256").update(identity).digest("hex").slice(0, 16) },
  };
}
