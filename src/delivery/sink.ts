/**
 * Posts events to the URL of a subscription: CloudEvents 1.0 in the binary mode of its HTTP binding, with token and
 * signature.
 *
 * Only the status of a response counts. Its body is read up to 64 KiB, so that the connection can be reused, and
 * discarded.
 */

import { type OutboundConnection, type OutboundConnectionOptions, openOutbound } from "../outbound.ts";
import { type TraceContext, traceFields } from "../trace-context.ts";
import type { Tracing } from "../tracing/index.ts";
import { parentOf } from "../uid.ts";
import { type Event, traceOf } from "./event.ts";
import { failureOf } from "./failure.ts";
import { parseRetryAfter } from "./retry.ts";
import { type DeliveryTokens, signatureHeaders, tokenAudience } from "./signing.ts";
import type { Subscription } from "./subscription.ts";

/** The result of an attempt to deliver. */
export interface Attempt {
  /** `delivered` for 2xx, `gone` for 410. */
  readonly outcome: "delivered" | "failed" | "gone";
  /** The HTTP status, or the word for why there is none: {@link failureOf}. */
  readonly result: string;
  /** The delay that the sink asks for; 0 if none. */
  readonly retryAfterMs: number;
}

/** The receiver of a subscription's events. */
export interface Sink {
  /** Posts one event. Concurrent calls use a connection each. */
  post(event: Event, subscription: Subscription): Promise<Attempt>;
  /** Closes all connections and aborts the attempts in progress. */
  close(): void;
}

/** What {@link createSink} needs. */
export interface SinkOptions extends Pick<OutboundConnectionOptions, "allowLoopbackHttp" | "resolve"> {
  readonly tokens: DeliveryTokens;
  /** Timeout of one attempt, from connecting to the end of the response. */
  readonly timeoutMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Records attempts to deliver the events of recorded calls. */
  readonly tracing?: Tracing | undefined;
}

const userAgent = "platform-events/2";
const maxAnswerBytes = 64 * 1024;

/** Creates a sink. Connections are opened when they are needed, and reused. */
export function createSink({ tokens, timeoutMs, now, tracing, ...options }: SinkOptions): Sink {
  const idle: OutboundConnection[] = [];
  const busy = new Set<OutboundConnection>();

  async function post(event: Event, subscription: Subscription, trace: TraceContext | undefined): Promise<Attempt> {
    const headers = {
      ...eventHeaders(event),
      ...signatureHeaders(event, subscription.signingSecrets, now()),
      ...(trace && traceFields(trace)),
      ...(trace !== undefined && trace.baggage !== "" && { baggage: trace.baggage }),
      authorization: `Bearer ${await tokens(event, parentOf(subscription.uid))}`,
      "user-agent": userAgent,
    };
    let connection: OutboundConnection | undefined;
    try {
      connection = idle.pop() ?? (await openOutbound(subscription.sink, { ...options, timeoutMs, maxAnswerBytes }));
      busy.add(connection);
      const answer = await connection.post(headers, event.data);
      return attemptOf(answer.status, parseRetryAfter(answer.headers["retry-after"], now()));
    } catch (error) {
      return { outcome: "failed", result: failureOf(error), retryAfterMs: 0 };
    } finally {
      if (connection !== undefined) {
        busy.delete(connection);
        idle.push(connection);
      }
    }
  }

  return {
    async post(event, subscription) {
      const trace = traceOf(event);
      if (tracing === undefined || trace?.isSampled !== true) return post(event, subscription, trace);
      const span = tracing.begin({ name: "deliver event", kind: "producer", beganMs: performance.now() }, trace);
      const attempt = await post(event, subscription, span.context);
      const { outcome, result } = attempt;
      span.end(
        performance.now(),
        {
          "cloudevents.event_id": event.id,
          "cloudevents.event_type": event.type,
          "cloudevents.event_subject": event.subject,
          "server.address": new URL(subscription.sink).hostname,
          "platform.subscription": subscription.uid,
          "platform.delivery.outcome": outcome,
          "platform.delivery.result": result,
        },
        outcome === "delivered" ? undefined : result,
      );
      return attempt;
    },
    close() {
      for (const connection of [...busy, ...idle]) connection.close();
    },
  };
}

/** CloudEvents HTTP binding 1.0.2, 3.1.3.2: `"`, `%`, and all but printable ASCII characters are percent-encoded. */
function eventHeaders({ id, type, source, subject, timeMs, extensions }: Event): Record<string, string> {
  const { baggage: _headerField, ...ofEvent } = extensions;
  const attributes = {
    id,
    specversion: "1.0",
    type,
    source,
    ...(subject !== "" && { subject }),
    time: new Date(timeMs).toISOString(),
    ...ofEvent,
    audience: tokenAudience,
  };
  const headers: Record<string, string> = { "content-type": "application/json" };
  for (const [name, value] of Object.entries(attributes)) {
    headers[`ce-${name}`] = value.replace(/[^!-~]|["%]/gu, encodeURIComponent);
  }
  return headers;
}

function attemptOf(status: number, retryAfterMs: number): Attempt {
  const outcome = status >= 200 && status < 300 ? "delivered" : status === 410 ? "gone" : "failed";
  return { outcome, result: String(status), retryAfterMs };
}
