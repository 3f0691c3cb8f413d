/** Reports the progress of the migrations of a start: to probes and in the log. */
import type { Database, MigrateOptions, PendingMigration } from "../../store/index.ts";
import type { StartContext } from "./context.ts";

const lineMs = 10_000;

/** Migrates. Errors: those of `Database.migrate`; the reason of `signal`. */
export async function migrateDatabase(
  database: Database,
  { log, readiness }: StartContext,
  pending: readonly PendingMigration[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const startMs = performance.now();
  // The tables of a new database are made at once.
  const level = pending[0]?.name.startsWith("0001-") ? "debug" : "info";
  const secondsSince = (ms: number) => Math.round((performance.now() - ms) / 100) / 10;
  let progress: Parameters<NonNullable<MigrateOptions["onProgress"]>>[0] | undefined;
  const state = () => ({ ...progress, seconds: secondsSince(startMs) });
  readiness.set(
    "startup",
    () =>
      progress === undefined
        ? "migrating the database"
        : `migrating the database: ${progress.name}, ${progress.number} of ${progress.count}`,
    () => ({ migration: state() }),
  );
  log[level]({ migrations: pending.length, first: pending[0]?.name }, "migrating the database");
  const timer = setInterval(() => log.info(state(), "still migrating"), lineMs).unref();
  try {
    const work = database.migrate(
      ({ name }, durationMs) => log[level]({ name, seconds: Math.round(durationMs / 100) / 10 }, "migration done"),
      {
        signal,
        onProgress: (made) => {
          progress = made;
        },
        onWait: (ms) => log.info({ seconds: ms / 1000 }, "waiting until older servers have stopped"),
      },
    );
    const count = await (signal === undefined ? work : Promise.race([work, aborted(signal)]));
    log[level]({ migrations: count, seconds: secondsSince(startMs) }, "the database is migrated");
  } finally {
    clearInterval(timer);
    readiness.set("startup", () => "starting");
  }
}

/** Fails with the signal's reason. What the work was waiting for ends when the database is closed. */
function aborted(signal: AbortSignal): Promise<never> {
  const failed = Promise.withResolvers<never>();
  if (signal.aborted) failed.reject(signal.reason);
  signal.addEventListener("abort", () => failed.reject(signal.reason), { once: true });
  return failed.promise;
}
