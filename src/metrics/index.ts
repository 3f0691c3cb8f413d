/**
 * metrics: what a server measures about itself, and its form for Prometheus.
 *
 * A module that counts keeps plain numbers and knows nothing of this one. Whoever composes the server registers here
 * how they are read ({@link Metrics.add}); they are read when they are asked for. The names are those of
 * OpenTelemetry's semantic conventions where it has one, else they begin with `platform.`; docs/metrics.md lists all.
 *
 * Promises: measuring a call allocates nothing ({@link CallMetrics}). However tenants use the server, there are at most
 * 2,500 series ({@link SeriesLimit}); no label has a value that a tenant chose, except uids of subscriptions, of which
 * there are few. {@link formatMetrics} is called in the thread or process that answers a scrape, not in one that serves
 * calls.
 */
export { CallMetrics } from "./calls.ts";
export { formatMetrics } from "./format.ts";
export { SeriesLimit } from "./limit.ts";
export { WorkerTotals } from "./merge.ts";
export { maxOpenFiles } from "./open-files.ts";
export { addProcessMetrics } from "./process.ts";
export {
  createMetrics,
  type Instrument,
  type Labels,
  type Metric,
  type Metrics,
  type Observed,
  type Series,
} from "./registry.ts";
export { seriesBy } from "./series.ts";
