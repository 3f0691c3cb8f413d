/** Spans by OpenTelemetry's SDK, in batches to a collector. */

import { setTimeout as delay } from "node:timers/promises";
import { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { codeOf, type Logger } from "../log.ts";
import type { TraceContext } from "../trace-context.ts";
import type { Span, SpanStart } from "./span.ts";

const timeoutMs = 5000;
const queue = { maxQueueSize: 4096, maxExportBatchSize: 512, scheduledDelayMillis: 1000, exportTimeoutMillis: 6000 };
const maxValueLength = 4096;
const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
} as const;

/** What {@link openExporter} needs. */
export interface ExporterOptions {
  /** Base URL of the collector: `http://localhost:4318`. */
  readonly endpoint: string;
  /** Of this program. */
  readonly version: string;
  readonly log: Logger;
}

/** Makes spans, and sends them when they have ended. */
export interface Exporter {
  /** Begins a span. Without a parent it begins a trace. */
  begin(start: SpanStart, parent: TraceContext | undefined): Span;
  /** Sends what has ended, for some seconds at most, and stops. */
  close(): Promise<void>;
}

/** Opens the way to a collector. Nothing is sent before the first span has ended. */
export function openExporter({ endpoint, version, log }: ExporterOptions): Exporter {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: timeoutMs });
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "platform", "service.version": version }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: new AlwaysOnSampler(), // which calls are recorded is decided before
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    spanProcessors: [new BatchSpanProcessor({ exporter: reporting(exporter, log), ...queue })],
  });
  const tracer = provider.getTracer("platform", version);
  return {
    begin({ name, kind, beganMs }, parent) {
      const span = tracer.startSpan(name, { kind: kinds[kind], startTime: epochMs(beganMs) }, contextOf(parent));
      const { traceId, spanId } = span.spanContext();
      const { state = "", baggage = "" } = parent ?? {};
      return {
        context: { traceId, spanId, isSampled: true, state, baggage },
        end(endedMs, attributes, failure) {
          span.setAttributes(attributes);
          if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
          span.end(epochMs(endedMs));
        },
      };
    },
    async close() {
      // A collector that hangs has been logged.
      const stopped = provider.shutdown().catch(() => {});
      await Promise.race([stopped, delay(timeoutMs, undefined, { ref: false })]);
    },
  };
}

/** The SDK shifts times of `performance.now()`, of each span differently. */
function epochMs(ms: number): number {
  return performance.timeOrigin + ms;
}

function contextOf(parent: TraceContext | undefined) {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, state } = parent;
  const traceState = state === "" ? {} : { traceState: createTraceState(state) };
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, ...traceState });
}

/** Logs when batches begin to get lost, and when that ends. */
function reporting(exporter: SpanExporter, log: Logger): SpanExporter {
  let failure: { readonly sinceMs: number; lost: number } | undefined;

  function report({ code, error }: ExportResult, count: number): void {
    if (code === ExportResultCode.SUCCESS) {
      if (failure !== undefined) {
        const seconds = Math.round((performance.now() - failure.sinceMs) / 100) / 10;
        log.warn({ seconds, lost: failure.lost }, "traces exported again");
      }
      failure = undefined;
      return;
    }
    if (failure === undefined) {
      failure = { sinceMs: performance.now(), lost: 0 };
      log.warn({ reason: error?.message, code: codeOf(error) }, "traces not exported");
    }
    failure.lost += count;
  }

  return {
    export(spans, onResult) {
      exporter.export(spans, (result) => {
        report(result, spans.length);
        onResult(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}
