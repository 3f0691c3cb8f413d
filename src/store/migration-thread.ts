/** The thread that migrates a SQLite file. */
import { parentPort, workerData } from "node:worker_threads";
import { openSqlite } from "./engines/sqlite/engine.ts";
import { migrateHere } from "./migrate.ts";
import type { FromMigrationThread, MigrationThreadData } from "./migrate-on-thread.ts";

/** Another process may be at it for long. */
const lockWaitMs = 0x7fffffff;

const { path, finish, reported } = workerData as MigrationThreadData;
const send = (message: FromMigrationThread) => parentPort?.postMessage(message);
let migrated = 0;

try {
  const engine = openSqlite(path, {
    busyWaitMs: lockWaitMs,
    lockTimeoutMs: lockWaitMs,
    mustExist: true,
    maxLongQueries: 0,
  });
  const count = await migrateHere(
    engine,
    ({ name, locks }, durationMs) => {
      send({ type: "migrated", migration: { name, locks }, durationMs });
      Atomics.wait(reported, 0, migrated++);
    },
    {
      finish,
      onProgress: (progress) => send({ type: "progress", progress }),
      onWait: (ms) => send({ type: "waits", ms }),
    },
  );
  await engine.close();
  send({ type: "done", count });
} catch (error) {
  const { name, message } = error as Error;
  send({ type: "failed", name, message });
}
