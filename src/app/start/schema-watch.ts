/** Watches for a schema that a newer version has made while this one serves. */
import type { Logger } from "../../log.ts";
import { type Database, RefusedError } from "../../store/index.ts";

const intervalMs = 5_000;

/** What a server with a newer schema answers to probes. */
export const newerSchema = "the database is newer than this server";

/** The watch of a schema. */
export interface SchemaWatch {
  readonly isNewer: boolean;
  stop(): Promise<void>;
}

/**
 * Begins to look every 5 s. The log names the migrations; `onChange` is called when the schema becomes newer, or old.
 */
export function watchSchema(database: Database, log: Logger, onChange: () => void): SchemaWatch {
  let isNewer = false;
  let looking: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    const refusal = await database.pendingMigrations().then(
      () => undefined,
      (error: Error) => error,
    );
    if (refusal !== undefined && !(refusal instanceof RefusedError)) return; // an outage, which is reported elsewhere
    const was = isNewer;
    isNewer = refusal !== undefined;
    if (was === isNewer) return;
    if (refusal !== undefined) log.error({ reason: refusal.message }, "the database is newer than this server");
    onChange();
  }

  const timer = setInterval(() => {
    looking = look();
  }, intervalMs).unref();
  return {
    get isNewer() {
      return isNewer;
    },
    stop() {
      clearInterval(timer);
      return looking;
    },
  };
}
