/**
 * tracing: spans, exported by OTLP over HTTP. The only module that knows OpenTelemetry's traces; its SDK is loaded when
 * an endpoint is set, and nothing is loaded or kept otherwise.
 *
 * Guarantees: no call waits for the export, whose memory and time are limited; a collector that does not answer is
 * logged once when that begins and once when it ends; no stranger decides how many calls are recorded.
 */
export type { Span, SpanStart } from "./span.ts";
export { openTracing, type Tracing, type TracingOptions } from "./tracing.ts";
