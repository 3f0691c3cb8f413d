/**
 * Whether the database can be used: asked several times a second, so that readiness tells of an outage within one, whatever calls come. Each outage is
 * logged once when it begins and once when it ends.
 */
import type { Logger } from "../log.ts";
import type { Database } from "../store/index.ts";
import { isOutage } from "./store-errors.ts";

/** What is known of a database. */
export interface Availability {
  readonly isUp: boolean;
  /** Takes an error that somebody met; false when it is none of an outage, and is to be logged by whoever met it. */
  report(error: unknown): boolean;
  /** Asks no more. */
  stop(): Promise<void>;
}

/** What {@link watchAvailability} needs. */
export interface AvailabilityOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Told when the database begins or ceases to be available. */
  onChange(): void;
}

const intervalMs = 400;
/** Both together are less than a second. */
const timeoutMs = 500;
/** Errors met while the database answers, such as its refusal of more connections, are logged this often at most. */
const errorLogMs = 10_000;

/** Begins to watch a database that is available. */
export function watchAvailability({ database, log, onChange }: AvailabilityOptions): Availability {
  let isUp = true;
  let downSinceMs = 0;
  let met: Error | undefined;
  let loggedMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function ask(): Promise<void> {
    const reported = met;
    met = undefined;
    try {
      await database.check(timeoutMs);
    } catch (error) {
      return becomeDown(error as Error);
    }
    if (!isUp) becomeUp();
    else if (reported !== undefined) logMet(reported);
  }

  function becomeDown(error: Error): void {
    if (!isUp) return;
    isUp = false;
    downSinceMs = performance.now();
    log.warn({ reason: error.message }, "database unavailable");
    onChange();
  }

  function becomeUp(): void {
    isUp = true;
    log.warn({ seconds: Math.round((performance.now() - downSinceMs) / 100) / 10 }, "database available again");
    onChange();
  }

  function logMet({ message }: Error): void {
    if (performance.now() - loggedMs < errorLogMs) return;
    loggedMs = performance.now();
    log.warn({ reason: message }, "database refused");
  }

  function schedule(): void {
    timer = setTimeout(() => {
      asking = ask().finally(() => {
        if (!isStopped) schedule();
      });
    }, intervalMs).unref();
  }

  schedule();
  return {
    get isUp() {
      return isUp;
    },
    report(error) {
      if (!isOutage(error)) return false;
      met ??= error;
      return true;
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await asking;
    },
  };
}
