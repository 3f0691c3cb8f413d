/**
 * Follows the audit log. A record has the time of its call and is committed later, so that records do not come in the
 * order of their times: on PostgreSQL transactions overlap, and a server that cannot reach the database writes what it
 * has kept when it can again. So every poll reads the last seconds once more, and now and then the last minutes, and
 * leaves out the ids that it knows. After an outage it reads from before it.
 */
import { setTimeout } from "node:timers/promises";
import { type AuditLine, readAudit } from "../../audit/index.ts";
import { ConflictError, OverloadError, type ReadSession, UnavailableError } from "../../store/index.ts";

/** How late a record may be committed and is still found. */
export const maxLateMs = 10 * 60_000;
/** The last part of this time is read with every poll, all of it with every so many. */
const usuallyLateMs = 15_000;
const pollsBetween = 60;
const defaultPollMs = 1000;
/** So many records are remembered before older ones are forgotten. */
const pruneEvery = 10_000;

/** How to follow. */
export interface FollowOptions {
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  /** The records that are not to be given, by id, with their times. */
  readonly known: ReadonlyMap<string, number>;
  /** Whether to end with the last record that there is. */
  readonly once: boolean;
  /** The time between two polls; by default 1000. */
  readonly pollMs?: number;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called when the database cannot be read, and when it can be again. */
  report(message: string): void;
}

/** Every record since a time, once, about in the order of commits. Errors: those that trying again does not mend. */
export async function* followAudit(
  session: ReadSession,
  { sinceMs, known, once, pollMs = defaultPollMs, signal, report }: FollowOptions,
): AsyncGenerator<AuditLine> {
  const seen = new Map(known);
  let newestMs = sinceMs;
  /** Every record from before this time has been given. */
  let floorMs = sinceMs;
  /** While set, records from before an outage may still come, and the floor stays. */
  let heldUntilMs = 0;
  let isOut = false;

  function raiseFloor(timeMs: number): void {
    if (Date.now() >= heldUntilMs) floorMs = Math.max(floorMs, timeMs - maxLateMs);
  }

  function prune(): void {
    for (const [id, timeMs] of seen) if (timeMs < floorMs) seen.delete(id);
  }

  /** The records that are not known: all of those from the floor on, or of those that are usually late. */
  async function* unseen(isWhole: boolean): AsyncGenerator<AuditLine> {
    const beganMs = Date.now();
    const recentMs = Math.min(beganMs, newestMs) - usuallyLateMs;
    let fresh = 0;
    for await (const line of readAudit(session, { sinceMs: isWhole ? floorMs : Math.max(floorMs, recentMs) })) {
      const timeMs = Date.parse(line.time);
      newestMs = Math.max(newestMs, timeMs);
      if (!seen.has(line.id)) {
        yield line;
        seen.set(line.id, timeMs);
        if (++fresh % pruneEvery === 0) prune();
      }
      if (isWhole) raiseFloor(Math.min(beganMs, timeMs));
      if (signal.aborted) return;
    }
  }

  for (let poll = 0; !signal.aborted; poll++) {
    try {
      yield* unseen(poll % pollsBetween === 0);
      if (isOut) {
        report("the database can be read again");
        isOut = false;
        heldUntilMs = Date.now() + maxLateMs;
        poll = -1;
      }
    } catch (error) {
      const isPassing =
        error instanceof UnavailableError || error instanceof OverloadError || error instanceof ConflictError;
      if (!isPassing || once) throw error;
      if (!isOut) report(`the database cannot be read, trying again: ${error.message}`);
      isOut = true;
      heldUntilMs = Number.POSITIVE_INFINITY;
      poll = -1;
    }
    prune();
    if (once) return;
    await setTimeout(pollMs, undefined, { signal }).catch(() => {}); // stopped
  }
}
