/** The text that Prometheus reads. */
import { expect, test } from "vitest";
import { formatMetrics, type Metric } from "../../src/metrics/index.ts";

const one = (metric: Omit<Metric, "description">) => formatMetrics([{ ...metric, description: "What it is." }]);

test.each<[Metric["kind"], string | undefined, string, string, string]>([
  ["counter", undefined, "platform.calls", "platform_calls_total", "counter"],
  ["counter", "s", "platform.busy", "platform_busy_seconds_total", "counter"],
  ["counter", "By", "platform.network.io", "platform_network_io_bytes_total", "counter"],
  ["counter", "1", "platform.starts", "platform_starts_total", "counter"],
  ["upDownCounter", undefined, "platform.calls.active", "platform_calls_active", "gauge"],
  ["gauge", "1", "platform.use", "platform_use_ratio", "gauge"],
  ["gauge", "By", "platform.log.size", "platform_log_size_bytes", "gauge"],
  ["gauge", "s", "platform.uptime.seconds", "platform_uptime_seconds", "gauge"],
  ["gauge", "{call}", "platform.queue", "platform_queue", "gauge"],
])("a %s in %s named %s", (kind, unit, name, shown, type) => {
  const series = [{ labels: { "rpc.method": 'a"b\\c\nd' }, value: 1.5 }];
  expect(one({ name, kind, ...(unit !== undefined && { unit }), series })).toBe(
    `# HELP ${shown} What it is.\n# TYPE ${shown} ${type}\n${shown}{rpc_method="a\\"b\\\\c\\nd"} 1.5\n`,
  );
});

test("a histogram has its counts up to each boundary, all of them, and their sum", () => {
  const text = one({
    name: "rpc.server.call.duration",
    kind: "histogram",
    unit: "s",
    boundaries: [0.1, 1],
    series: [{ labels: { code: "OK" }, value: { counts: [2, 3, 4], sum: 12.5 } }],
  });
  const name = "rpc_server_call_duration_seconds";
  expect(text.trimEnd().split("\n")).toEqual([
    `# HELP ${name} What it is.`,
    `# TYPE ${name} histogram`,
    `${name}_count{code="OK"} 9`,
    `${name}_sum{code="OK"} 12.5`,
    `${name}_bucket{code="OK",le="0.1"} 2`,
    `${name}_bucket{code="OK",le="1"} 5`,
    `${name}_bucket{code="OK",le="+Inf"} 9`,
  ]);
});

test("several metrics follow each other, and no time is written", () => {
  const gauge = (name: string): Metric => ({
    name,
    kind: "gauge",
    description: "",
    series: [{ labels: {}, value: 1 }],
  });
  const lines = formatMetrics([gauge("a"), gauge("b")]).split("\n");
  expect(lines.filter((line) => !line.startsWith("#"))).toEqual(["a 1", "b 1", ""]);
});
