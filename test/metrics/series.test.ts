/** What `/metrics` shows at most, and that docs/metrics.md, the dashboard and the alarms speak of nothing else. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatMetrics, type Metric, SeriesLimit, WorkerTotals } from "../../src/metrics/index.ts";
import { repository } from "../cli/platform-process.ts";
import { collectAll, ofListener } from "./all-metrics.ts";

const read = (path: string) => readFile(join(repository, path), "utf8");
const seriesOf = (text: string) => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("whatever tenants do, there are at most 2,500 series", async () => {
  const metrics = [...(await collectAll()), ...ofListener([])];
  const limit = new SeriesLimit();
  const series = seriesOf(await formatMetrics(limit.apply(metrics)));
  expect(series.length).toBeGreaterThan(1000);
  expect(series.length).toBeLessThanOrEqual(2500);
  const calls = series.filter((line) => line.startsWith("platform_calls_total"));
  const total = calls.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  const counted = metrics.find(({ name }) => name === "platform.calls")!.series;
  expect(total).toBe(counted.reduce((sum, { value }) => sum + Number(value), 0)); // none is lost
  const again = seriesOf(await formatMetrics(limit.apply(metrics)));
  expect(again.filter((line) => line.startsWith("platform_calls_total"))).toEqual(calls);
});

/** Metrics by name, with their type and labels, as a text for Prometheus has them. */
function exposed(text: string): Map<string, { type: string; labels: Set<string> }> {
  const metrics = new Map<string, { type: string; labels: Set<string> }>();
  for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    metrics.set(name, { type, labels: new Set() });
  for (const line of seriesOf(text)) {
    const [, series = "", labels = ""] = /^([^{ ]+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    const histogram = series.replace(/_(bucket|sum|count)$/, "");
    const metric = metrics.get(series) ?? metrics.get(histogram);
    expect(metric, line).toBeDefined();
    for (const [, label = ""] of labels.matchAll(/([a-z0-9_]+)="/g)) if (label !== "le") metric!.labels.add(label);
  }
  return metrics;
}

/** The rows of the tables of docs/metrics.md. */
async function documented() {
  const rows = (await read("docs/metrics.md")).matchAll(/^\| `(\w+)` \| (\w+) \|([^|]*)\|/gm);
  return new Map(
    Array.from(rows, ([, name = "", type = "", labels = ""]) => {
      const outside = labels.replaceAll(/\([^)]*\)/g, "");
      return [name, { type, labels: new Set(Array.from(outside.matchAll(/`(\w+)`/g), ([, label]) => label)) }] as const;
    }),
  );
}

test("docs/metrics.md has every metric, its type and its labels", async () => {
  const totals = new WorkerTotals();
  const metrics = await collectAll();
  totals.update(0, metrics);
  totals.update(1, metrics);
  const starts: Metric = {
    name: "platform.worker.starts",
    kind: "counter",
    description: "See cli/workers/metrics.ts.",
    series: [{ labels: {}, value: 2 }],
  };
  const shown = exposed(await formatMetrics([...totals.metrics(), ...ofListener([0, 1]), starts]));
  const sorted = (map: ReadonlyMap<string, unknown>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  expect(sorted(await documented())).toEqual(sorted(shown));
});

test("every alarm has a section that says what to do, and metrics link to it", async () => {
  const rules = await read("deploy/prometheus/alerts.yaml");
  const sections = new Set(
    Array.from((await read("docs/operations.md")).matchAll(/^### (\w+)$/gm), ([, title = ""]) => title.toLowerCase()),
  );
  const runbooks = Array.from(rules.matchAll(/runbook: docs\/operations\.md#(\w+)$/gm), ([, anchor = ""]) => anchor);
  const alarms = Array.from(rules.matchAll(/- alert: (\w+)$/gm));
  expect(alarms.length).toBeGreaterThan(15);
  expect(runbooks).toHaveLength(alarms.length);
  for (const word of ["summary:", "description:", "severity:"])
    expect(rules.split(word)).toHaveLength(alarms.length + 1);
  const linked = Array.from(
    (await read("docs/metrics.md")).matchAll(/operations\.md#(platform\w+)/g),
    ([, anchor = ""]) => anchor,
  );
  for (const anchor of [...runbooks, ...linked]) expect(sections).toContain(anchor);
});

test("the dashboard and the alarms name metrics that there are", async () => {
  const names = [...(await documented())].flatMap(([name, { type }]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  const dashboard = JSON.parse(await read("deploy/grafana/platform-api.json"));
  const panels: { targets?: { expr: string }[] }[] = dashboard.panels;
  const rules = (await read("deploy/prometheus/alerts.yaml")).matchAll(/^ +expr: '(.*)'$/gm);
  const expressions = [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...Array.from(rules, ([, expression = ""]) => expression),
  ];
  const used = expressions.flatMap((expression) => metricsIn(expression));
  expect(used.length).toBeGreaterThan(60);
  for (const name of used) expect([...names, "up"]).toContain(name);
  for (const [name, { type }] of await documented())
    expect(
      used.some((one) => one.replace(/_(bucket|sum|count)$/, "") === name || one === name),
      `${name} ${type}`,
    ).toBe(true);
});

/** Names of metrics in an expression: what is neither a function, a label, a keyword nor a variable. */
function metricsIn(expression: string): string[] {
  const plain = expression
    .replaceAll(/"[^"]*"/g, "")
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/\b(by|without) *\([^)]*\)/g, "");
  const words = Array.from(plain.matchAll(/[a-zA-Z_][a-zA-Z0-9_]*(?! *\()\b(?! *\()/g), ([word]) => word);
  return words.filter((word) => !["offset", "or", "and", "e9", "by"].includes(word) && !/^\d|^[hdme]\d*$/.test(word));
}
