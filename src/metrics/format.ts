/** Metrics in the text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/ */
import type { Labels, Metric, Series } from "./registry.ts";

/** Formats them. */
export function formatMetrics(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap((metric) => {
    const name = prometheusName(metric);
    const type = metric.kind === "upDownCounter" ? "gauge" : metric.kind;
    const series = metric.series.flatMap((one) => linesOf(name, one, metric.boundaries));
    return [`# HELP ${name} ${escaped(metric.description)}`, `# TYPE ${name} ${type}`, ...series];
  });
  return `${lines.join("\n")}\n`;
}

function linesOf(name: string, { labels, value }: Series, boundaries: readonly number[] = []): string[] {
  if (typeof value === "number") return [lineOf(name, labels, value)];
  let count = 0;
  const buckets = value.counts.map((more, i) => {
    count += more;
    return lineOf(`${name}_bucket`, { ...labels, le: String(boundaries[i] ?? "+Inf") }, count);
  });
  return [lineOf(`${name}_count`, labels, count), lineOf(`${name}_sum`, labels, value.sum), ...buckets];
}

function lineOf(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${underscored(label)}="${escaped(text).replaceAll('"', '\\"')}"`,
  );
  return pairs.length === 0 ? `${name} ${value}` : `${name}{${pairs.join(",")}} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function underscored(name: string): string {
  return name.replace(/\W+/g, "_");
}

const units: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes", "1": "_ratio" };

/** As OpenTelemetry says for Prometheus: `rpc_server_call_duration_seconds`, `_total` for a counter, never a ratio. */
function prometheusName({ name, unit = "", kind }: Metric): string {
  const bare = underscored(name);
  const suffix = kind === "counter" && unit === "1" ? "" : (units[unit] ?? "");
  const named = bare.endsWith(suffix) ? bare : bare + suffix;
  return kind === "counter" ? `${named}_total` : named;
}
