/** Metrics in the Prometheus format, by way of OpenTelemetry's data model. */
import type { MetricData, ResourceMetrics } from "@opentelemetry/sdk-metrics";
import type { Metric, Series } from "./registry.ts";

/** Formats them. Loads the libraries on first use. */
export async function formatMetrics(metrics: readonly Metric[]): Promise<string> {
  const [{ PrometheusSerializer }, { AggregationTemporality, DataPointType }, { ValueType }] = await Promise.all([
    import("@opentelemetry/exporter-prometheus"),
    import("@opentelemetry/sdk-metrics"),
    import("@opentelemetry/api"),
  ]);

  const dataOf = ({ name, kind, description, unit, boundaries = [], series }: Metric): MetricData => {
    const common = {
      descriptor: { name: prometheusName(name, unit, kind), description, unit: "", valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    if (kind === "histogram")
      return {
        ...common,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: series.map((one) => ({ ...pointOf(one), value: histogramOf(one, boundaries) })),
      };
    const dataPoints = series.map((one) => ({ ...pointOf(one), value: one.value as number }));
    return kind === "gauge"
      ? { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
      : { ...common, dataPointType: DataPointType.SUM, isMonotonic: kind === "counter", dataPoints };
  };

  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  return serializer.serialize({
    resource: { attributes: {} } as ResourceMetrics["resource"], // nothing else of it is read
    scopeMetrics: [{ scope: { name: "platform" }, metrics: metrics.map(dataOf) }],
  });
}

/** No time is written: the scrape has one. */
const never: [number, number] = [0, 0];

function pointOf({ labels }: Series) {
  return { startTime: never, endTime: never, attributes: labels };
}

function histogramOf({ value }: Series, boundaries: readonly number[]) {
  if (typeof value === "number") throw new Error("a histogram has no single value");
  const counts = [...value.counts];
  return {
    buckets: { boundaries: [...boundaries], counts },
    sum: value.sum,
    count: counts.reduce((sum, count) => sum + count, 0),
  };
}

const suffixes: Readonly<Record<string, string>> = { s: "seconds", By: "bytes" };

/**
 * The name with its unit, as OpenTelemetry's conventions for Prometheus say, which the exporter leaves out:
 * `rpc.server.call.duration.seconds`. The serializer replaces the points, and adds `_total` to counters.
 */
export function prometheusName(name: string, unit: string | undefined, kind: Metric["kind"]): string {
  const suffix = unit === "1" && kind === "gauge" ? "ratio" : suffixes[unit ?? ""];
  return suffix === undefined || name.endsWith(suffix) ? name : `${name}.${suffix}`;
}
