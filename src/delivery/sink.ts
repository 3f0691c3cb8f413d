/**
 * Posts events to the URL of a subscription: CloudEvents 1.0 in the binary mode of its HTTP binding, with token and
 * signature.
 *
 * Only the status of a response counts. Its body is read up to 64 KiB, so that the connection can be reused, and
 * discarded.
 */
import { type OutboundConnection, type OutboundConnectionOptions, openOutbound } from "../outbound.ts";
import { parentOf } from "../uid.ts";
import type { Event } from "./event.ts";
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
}

const userAgent = "platform-events/2";
const maxAnswerBytes = 64 * 1024;

/** Creates a sink. Connections are opened when they are needed, and reused. */
export function createSink({ tokens, timeoutMs, now, ...options }: SinkOptions): Sink {
  const idle: OutboundConnection[] = [];
  const busy = new Set<OutboundConnection>();

  return {
    async post(event, subscription) {
      const headers = {
        ...eventHeaders(event),
        ...signatureHeaders(event, subscription.signingSecret, now()),
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
    },
    close() {
      for (const connection of [...busy, ...idle]) connection.close();
    },
  };
}

/** CloudEvents HTTP binding 1.0.2, 3.1.3.2: `"`, `%`, and all but printable ASCII characters are percent-encoded. */
function eventHeaders({ id, type, source, subject, timeMs, extensions }: Event): Record<string, string> {
  const attributes = {
    id,
    specversion: "1.0",
    type,
    source,
    ...(subject !== "" && { subject }),
    time: new Date(timeMs).toISOString(),
    ...extensions,
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
