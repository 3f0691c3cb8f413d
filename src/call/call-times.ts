/** Where the time of a call goes. */
import type { TraceContext } from "../trace-context.ts";

/** A statement that has ended. Times are those of `performance.now()`. */
export interface RanStatement {
  /** SQL with placeholders. */
  readonly text: string;
  readonly beganMs: number;
  readonly endedMs: number;
}

const maxKept = 100;

/**
 * Moments of a call, by `performance.now()`; 0: it has not got there. A call that ends early has spent the
 * rest of its time in the step that it has not left.
 */
export class CallTimes {
  readonly beganMs = performance.now();
  /** When it began, in milliseconds since 1970. Each look at a clock takes 40 ns. */
  readonly nowMs: number;
  /** Its place in a trace: that of its own span if it is recorded, else what its caller sent; undefined without any. */
  trace: TraceContext | undefined;
  /** Its caller was known. */
  authenticatedMs = 0;
  /** Rate limits and grants allowed it. */
  authorizedMs = 0;
  /** Its request was valid. */
  validatedMs = 0;
  /** The transaction of a change began, for the first time. */
  begunMs = 0;
  /** The change was made and recorded, for the last time, and its commit began. */
  workedMs = 0;
  /** Statements of its handler and its transaction, how long they took together, and waited for their turn. */
  statements = 0;
  statementMs = 0;
  turnMs = 0;

  /** The first hundred statements, if they are kept. */
  kept: RanStatement[] | undefined;

  constructor(trace: TraceContext | undefined, nowMs: number) {
    this.nowMs = nowMs;
    this.trace = trace;
  }

  /** Keeps the statements from now on, for spans. */
  keepStatements(): void {
    this.kept = [];
  }

  /** Counts a statement that has ended. */
  ran(beganMs: number, endedMs: number, { text }: { readonly text: string }): void {
    this.statements++;
    this.statementMs += endedMs - beganMs;
    if (this.kept !== undefined && this.kept.length < maxKept) this.kept.push({ text, beganMs, endedMs });
  }

  /** Counts how long a statement has waited for its turn. */
  waited(sinceMs: number): void {
    this.turnMs += performance.now() - sinceMs;
  }
}
