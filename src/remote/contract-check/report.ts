/** Results in the formats that people and CI systems read. */
import { printable, printableJson } from "../../log-text.ts";
import type { Result } from "./results.ts";
import { rules } from "./rules.ts";
import { sarif } from "./sarif.ts";

/** The formats, by their names. Each returns whole lines. */
export const formats = {
  text,
  json,
  junit,
  sarif: (results: readonly Result[]) => sarif(results, (result) => detailsOf(result).join("\n")),
  tap,
} as const;

/** `412 checks, 1 difference, 2 skipped`. */
export function summary(results: readonly Result[]): string {
  const count = (outcome: Result["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  const differences = count("differs");
  return `${results.length} checks, ${differences} ${differences === 1 ? "difference" : "differences"}, ${count("skipped")} skipped`;
}

function text(results: readonly Result[]): string {
  const found = results.filter(({ outcome }) => outcome === "differs");
  const blocks = found.map(
    (result) =>
      `${result.rule}  ${result.operation}\n${detailsOf(result)
        .map((line) => `  ${line}\n`)
        .join("")}\n`,
  );
  return `${blocks.join("")}${summary(results)}\n`;
}

function json(results: readonly Result[]): string {
  return `${printableJson(
    results.map((result) => ({ ...result, text: rules[result.rule] })),
    2,
  )}\n`;
}

function junit(results: readonly Result[]): string {
  const cases = results.map((result) => {
    const { rule, operation, outcome, reason = "" } = result;
    const content = {
      passed: "",
      skipped: `<skipped message="${xml(reason)}"/>`,
      differs: `<failure message="${xml(rules[rule])}">${xml(detailsOf(result).join("\n"))}</failure>`,
    };
    return `  <testcase classname="${xml(rule)}" name="${xml(operation)}">${content[outcome]}</testcase>\n`;
  });
  const count = (outcome: Result["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  const counts = `tests="${results.length}" failures="${count("differs")}" skipped="${count("skipped")}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="contract" ${counts}>\n${cases.join("")}</testsuite>\n`;
}

function tap(results: readonly Result[]): string {
  const lines = results.map((result, i) => {
    const { rule, operation, outcome, reason } = result;
    const line = `${outcome === "differs" ? "not ok" : "ok"} ${i + 1} - ${rule} ${operation}`;
    if (outcome === "skipped") return `${line} # SKIP ${printable(reason ?? "")}\n`;
    if (outcome === "passed") return `${line}\n`;
    return `${line}\n${detailsOf(result)
      .map((detail) => `# ${detail}\n`)
      .join("")}`;
  });
  return `TAP version 14\n1..${results.length}\n${lines.join("")}`;
}

/** The rule, what was expected, and what came. */
function detailsOf({ rule, expected, actual }: Result): string[] {
  const shown = (value: unknown) => (value === undefined ? "nothing" : printableJson(value));
  return [`rule:     ${rules[rule]}`, `expected: ${shown(expected)}`, `got:      ${shown(actual)}`];
}

function xml(value: string): string {
  const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const lines = value.split("\n").map(printable); // XML 1.0 has no form for most control characters
  return lines.join("\n").replace(/[&<>"]/g, (character) => entities[character]!);
}
