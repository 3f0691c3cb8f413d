/**
 * Writes the results into the documentation, between two comments, and their chart. `node bench/docs.ts` writes them
 * again from `results.json`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { drawChart } from "./chart.ts";
import { reaches } from "./rows.ts";
import { formatBar, type Outcome, type Results, readResults, round2 } from "./table.ts";

const page = new URL("../docs/performance.md", import.meta.url);
const chart = new URL("../docs/bench.svg", import.meta.url);
const begin = "<!-- results: written by npm run bench -->";
const end = "<!-- end of results -->";

/** Writes `docs/performance.md` and `docs/bench.svg`. Errors: a plain Error if the page lacks the comments. */
export function writeDocs(results: Results): void {
  writeSection(page, begin, end, section(results));
  writeFileSync(chart, drawChart(results.rows));
}

/** Writes what is between two comments of a page. Errors: a plain Error if the page lacks them. */
export function writeSection(page: URL, begin: string, end: string, section: string): void {
  const text = readFileSync(page, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page.pathname} lacks "${begin}" or "${end}"`);
  writeFileSync(page, `${text.slice(0, from)}${begin}\n\n${section}\n\n${text.slice(to)}`);
}

function section({ date, mode, machine, postgres, rows }: Results): string {
  const { model, cores, node, pinned } = machine;
  const columns = ["row", "ratio", "spread", "bar, aim", ...(postgres === undefined ? [] : ["on PostgreSQL"])];
  const table = [columns, columns.map(() => "---"), ...rows.map((row) => cellsOf(row, postgres))];
  return [
    `A ${mode} run of ${date.slice(0, 10)} on ${model}, ${cores} cores${pinned ? " (servers on one, load on another)" : ""}, Node ${node}.`,
    "![Ratios of this server to its peers](bench.svg)",
    table.map((cells) => `| ${cells.join(" | ")} |`).join("\n"),
  ].join("\n\n");
}

function cellsOf({ name, figure, bar, sqlite }: Outcome, postgres: Results["postgres"]): string[] {
  const { ratio, lowest, highest } = sqlite;
  const isBelow = bar !== undefined && !reaches({ figure }, ratio, bar[0]);
  return [
    `\`${name}\``,
    `**${round2(ratio)}**${isBelow ? " (misses)" : ""}`,
    `${round2(lowest)}–${round2(highest)}`,
    formatBar(figure, bar),
    ...(postgres === undefined ? [] : [String(postgres[name] ?? "")]),
  ];
}

if (import.meta.main) writeDocs(readResults());
