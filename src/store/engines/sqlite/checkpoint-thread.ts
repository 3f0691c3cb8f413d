/**
 * The thread that checkpoints a SQLite file. It runs one task at a time, reports when each is done, and ends on
 * `close`.
 */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { TaskDone, ThreadTask } from "./checkpoints.ts";

/** How long to wait for readers. Those of this process end with a turn of the event loop. */
const readersWaitMs = 50;

const database = new DatabaseSync(workerData as string, { timeout: readersWaitMs });
// What is written to the file must be on disk before the log restarts.
database.exec("pragma synchronous = full");
const checkpoints = {
  passive: database.prepare("pragma wal_checkpoint(passive)"),
  restart: database.prepare("pragma wal_checkpoint(restart)"),
  truncate: database.prepare("pragma wal_checkpoint(truncate)"),
};

parentPort?.on("message", (task: ThreadTask) => {
  if (task === "close") {
    database.close();
    return parentPort?.close();
  }
  const { busy } = checkpoints[task].get() as { readonly busy: number };
  parentPort?.postMessage({ isComplete: busy === 0 } satisfies TaskDone);
});
