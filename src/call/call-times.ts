/** Where the time of a call goes. */
import { type ContextKey, type ContextValues, createContextKey } from "@connectrpc/connect";

/**
 * Moments of a call, as `performance.now()` tells them; 0: it has not got there. A call that ends early has spent the
 * rest of its time in the step that it has not left.
 */
export class CallTimes {
  readonly beganMs = performance.now();
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

  /** Counts a statement that began at `sinceMs` and has ended. */
  ran(sinceMs: number): void {
    this.statements++;
    this.statementMs += performance.now() - sinceMs;
  }

  /** Counts how long a statement has waited for its turn. */
  waited(sinceMs: number): void {
    this.turnMs += performance.now() - sinceMs;
  }
}

const timesKey: ContextKey<CallTimes | undefined> = createContextKey<CallTimes | undefined>(undefined);

/** Begins to measure a call. */
export function beginTimes(values: ContextValues): CallTimes {
  const times = new CallTimes();
  values.set(timesKey, times);
  return times;
}

/** The times of a call; undefined if it is not measured. */
export function timesOf(values: ContextValues): CallTimes | undefined {
  return values.get(timesKey);
}
