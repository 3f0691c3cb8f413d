/** Results as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0), with what GitHub code scanning needs. */
import { createHash } from "node:crypto";
import { printableJson } from "../../log-text.ts";
import { version } from "../../version.ts";
import { unaryMethods } from "./calls.ts";
import { keyOf, type Result } from "./results.ts";
import { type RuleId, rules } from "./rules.ts";

/** Where the requests go that are none of a method. */
const otherRequests = "platform/registry/v2/repos.proto";

/**
 * The log of one run: all rules that were checked, and a result for each difference. Code scanning would show other
 * results as alerts, too. `textOf`: what a difference says.
 */
export function sarif(results: readonly Result[], textOf: (result: Result) => string): string {
  const ids = [...new Set(results.filter(({ outcome }) => outcome !== "noted").map(({ rule }) => rule))];
  const differences = results.filter(({ outcome }) => outcome === "differs" || outcome === "known");
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "platform contract check", version: version(), rules: ids.map(ruleOf) } },
        results: differences.map((result) => ({
          ruleId: result.rule,
          ruleIndex: ids.indexOf(result.rule),
          level: "error",
          message: { text: textOf(result) },
          locations: [locationOf(result.operation)],
          ...(result.outcome === "known" && { suppressions: [{ kind: "external", justification: "in the baseline" }] }),
          partialFingerprints: { primaryLocationLineHash: fingerprint(result) },
        })),
      },
    ],
  };
  return `${printableJson(log, 2)}\n`;
}

function ruleOf(id: RuleId): object {
  return {
    id,
    shortDescription: { text: rules[id] },
    fullDescription: { text: rules[id] },
    help: { text: rules[id] },
    defaultConfiguration: { level: "error" },
  };
}

/** The operation, and the proto file that describes it: code scanning takes no result without a file and a line. */
function locationOf(operation: string): object {
  const method = unaryMethods().find(({ name }) => name === operation);
  const file = method === undefined ? otherRequests : `${method.parent.file.name}.proto`;
  const name = method === undefined ? operation : `${method.parent.typeName}.${operation}`;
  return {
    physicalLocation: { artifactLocation: { uri: `proto/${file}` }, region: { startLine: 1 } },
    logicalLocations: [{ name: operation, fullyQualifiedName: name, kind: "function" }],
  };
}

/** The same for a difference in two runs. */
function fingerprint(result: Result): string {
  return createHash("sha256").update(keyOf(result)).digest("hex").slice(0, 16);
}
