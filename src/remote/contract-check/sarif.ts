/** Results as SARIF. */
import { type SarifResult, type SarifRule, sarifLog } from "../print/sarif.ts";
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
  return sarifLog(
    "platform contract check",
    ids.map(ruleOf),
    differences.map((result): SarifResult => {
      const { rule, operation, outcome } = result;
      return {
        rule,
        level: "error",
        text: textOf(result),
        ...placeOf(operation),
        identity: keyOf(result),
        ...(outcome === "known" && { suppression: "in the baseline" }),
      };
    }),
  );
}

function ruleOf(id: RuleId): SarifRule {
  return { id, level: "error", text: rules[id] };
}

/** The operation, and the proto file that describes it. */
function placeOf(operation: string): Pick<SarifResult, "uri" | "place"> {
  const method = unaryMethods().find(({ name }) => name === operation);
  const file = method === undefined ? otherRequests : `${method.parent.file.name}.proto`;
  const name = method === undefined ? operation : `${method.parent.typeName}.${operation}`;
  return { uri: `proto/${file}`, place: { name: operation, fullyQualifiedName: name, kind: "function" } };
}
