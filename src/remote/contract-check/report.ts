/** Results in the formats that people and CI systems read. */
import { printable, printableJson } from "../../log-text.ts";
import type { InventoryNote } from "./inventory.ts";
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

/** `412 checks, 1 difference, 2 skipped`; known differences are not differences. */
export function summary(results: readonly Result[]): string {
  const count = countsOf(results);
  const differences = `${count.differs} ${count.differs === 1 ? "difference" : "differences"}`;
  const known = count.known === 0 ? "" : `, ${count.known} known`;
  return `${checked(results).length} checks, ${differences}${known}, ${count.skipped} skipped`;
}

function text(results: readonly Result[]): string {
  const hasInventory = results.some(({ rule }) => rule === "inventory/served");
  const found = results.filter(
    ({ rule, outcome }) => outcome === "differs" && !(hasInventory && rule === "methods/served"), // which it tells
  );
  const blocks = found.map(
    (result) =>
      `${result.rule}  ${result.operation}\n${detailsOf(result)
        .map((line) => `  ${line}\n`)
        .join("")}\n`,
  );
  const notes = notesOf(results).map((line) => `${line}\n`);
  return `${notes.join("")}${blocks.join("")}${summary(results)}\n`;
}

function json(results: readonly Result[]): string {
  return `${printableJson(
    results.map((result) => ({ ...result, text: rules[result.rule] })),
    2,
  )}\n`;
}

function junit(results: readonly Result[]): string {
  const cases = checked(results).map((result) => {
    const { rule, operation, outcome, reason = "" } = result;
    const content = {
      passed: "",
      noted: "",
      skipped: `<skipped message="${xml(reason)}"/>`,
      known: `<skipped message="${xml("a known difference")}"/>`,
      differs: `<failure message="${xml(rules[rule])}">${xml(detailsOf(result).join("\n"))}</failure>`,
    };
    return `  <testcase classname="${xml(rule)}" name="${xml(operation)}">${content[outcome]}</testcase>\n`;
  });
  const count = countsOf(results);
  const counts = `tests="${cases.length}" failures="${count.differs}" skipped="${count.skipped + count.known}"`;
  const notes = notesOf(results);
  const output = notes.length === 0 ? "" : `  <system-out>${xml(notes.join("\n"))}</system-out>\n`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="contract" ${counts}>\n${cases.join("")}${output}</testsuite>\n`;
}

function tap(results: readonly Result[]): string {
  const lines = checked(results).map((result, i) => {
    const { rule, operation, outcome, reason } = result;
    const isOk = outcome === "passed" || outcome === "skipped";
    const line = `${isOk ? "ok" : "not ok"} ${i + 1} - ${rule} ${operation}`;
    if (outcome === "skipped") return `${line} # SKIP ${printable(reason ?? "")}\n`;
    if (outcome === "passed") return `${line}\n`;
    return `${line}${outcome === "known" ? " # TODO known" : ""}\n${detailsOf(result)
      .map((detail) => `# ${detail}\n`)
      .join("")}`;
  });
  const notes = notesOf(results).map((line) => `# ${line}\n`);
  return `TAP version 14\n1..${lines.length}\n${notes.join("")}${lines.join("")}`;
}

/** The results without notes. */
function checked(results: readonly Result[]): readonly Result[] {
  return results.filter(({ outcome }) => outcome !== "noted");
}

function countsOf(results: readonly Result[]): Readonly<Record<Result["outcome"], number>> {
  const counts = { passed: 0, differs: 0, known: 0, skipped: 0, noted: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}

/** A line for each note. */
function notesOf(results: readonly Result[]): string[] {
  return results.filter(({ outcome }) => outcome === "noted").map(noteOf);
}

function noteOf({ rule, actual }: Result): string {
  if (rule !== "inventory/served")
    return `beyond this version of the contract: ${printable((actual as string[]).join(", "))}`;
  const { methods, served, missing } = actual as InventoryNote;
  const counts = Object.entries(served).map(([protocol, count]) => `${count} over ${protocol}`);
  return printable(
    `serves, of ${methods} methods, ${counts.join(", ")}${missing.length === 0 ? "" : `; missing: ${missing.join(", ")}`}`,
  );
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
