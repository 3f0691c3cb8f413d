/**
 * Whether the database can be used. It is checked several times a second, so that readiness shows an outage within a
 * second even without calls. Each outage is logged once when it begins and once when it ends.
 */

import { codeOf, type Logger } from "../log.ts";
import { isOutage } from "../pipeline/index.ts";
import { DamagedError, type Database } from "../store/index.ts";

/** The availability of a database. */
export interface Availability {
  readonly isUp: boolean;
  /** Why the database cannot be used, for probes; undefined while it can. */
  readonly failure: string | undefined;
  /** Notes an error of an outage; false for any other error, which the caller logs. */
  report(error: unknown): boolean;
  /** Ends the checks. */
  stop(): Promise<void>;
}

/** What {@link watchAvailability} needs. */
export interface AvailabilityOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Called when the database becomes available or unavailable. */
  onChange(isUp: boolean): void;
}

const intervalMs = 400;
/** Both together are less than a second. */
const timeoutMs = 500;
/** Errors while the database answers, such as its refusal of more connections, are logged at most this often. */
const errorLogMs = 10_000;

/** Begins to check a database that is available. */
export function watchAvailability({ database, log, onChange }: AvailabilityOptions): Availability {
  let isUp = true;
  let failure: string | undefined;
  let downSinceMs = 0;
  let reported: Error | undefined;
  let loggedMs = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function check(): Promise<void> {
    const error = reported;
    reported = undefined;
    try {
      await database.check(timeoutMs);
    } catch (outage) {
      return becomeDown(outage as Error);
    }
    if (!isUp) becomeUp();
    else if (error !== undefined) logRefusal(error);
  }

  function becomeDown(error: Error): void {
    if (!isUp) return;
    isUp = false;
    // Others have addresses in their messages.
    failure = error instanceof DamagedError ? error.message : "the database is not available";
    downSinceMs = performance.now();
    log.warn({ reason: error.message, code: codeOf(error) }, "database unavailable");
    onChange(isUp);
  }

  function becomeUp(): void {
    isUp = true;
    failure = undefined;
    log.warn({ seconds: Math.round((performance.now() - downSinceMs) / 100) / 10 }, "database available again");
    onChange(isUp);
  }

  function logRefusal(error: Error): void {
    if (performance.now() - loggedMs < errorLogMs) return;
    loggedMs = performance.now();
    log.warn({ reason: error.message, code: codeOf(error) }, "database refused");
  }

  function schedule(): void {
    timer = setTimeout(() => {
      checking = check().finally(() => {
        if (!isStopped) schedule();
      });
    }, intervalMs).unref();
  }

  schedule();
  return {
    get isUp() {
      return isUp;
    },
    get failure() {
      return failure;
    },
    report(error) {
      if (!isOutage(error)) return false;
      reported ??= error;
      return true;
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await checking;
    },
  };
}
