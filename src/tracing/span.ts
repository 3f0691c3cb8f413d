/** Spans, as the rest of the program makes them. */
import type { TraceContext } from "../trace-context.ts";

/** What a span begins with. Times are those of `performance.now()`. */
export interface SpanStart {
  readonly name: string;
  readonly kind: "server" | "client" | "producer" | "internal";
  readonly beganMs: number;
}

/** A span that is recorded. */
export interface Span {
  /** Its own place in the trace, for what it causes. */
  readonly context: TraceContext;
  /** Ends it. `failure`: why it has failed, if that is a fault of this server or of what it calls. */
  end(endedMs: number, attributes: Readonly<Record<string, string | number>>, failure?: string): void;
}
