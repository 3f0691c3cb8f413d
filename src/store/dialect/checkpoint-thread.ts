/** A thread: it does one task of checkpointing one SQLite file after another, says when each is done, and ends when it is told `close`. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { ThreadTask } from "./checkpoints.ts";

/** Readers of this process leave with the end of a turn of the event loop. */
const readersWaitMs = 50;

const database = new DatabaseSync(workerData as string, { timeout: readersWaitMs });
// What is written into the file must be on disk before the log starts anew.
database.exec("pragma synchronous = full");
const passive = database.prepare("pragma wal_checkpoint(passive)");
const restart = database.prepare("pragma wal_checkpoint(restart)");

parentPort?.on("message", (task: ThreadTask) => {
  if (task === "close") {
    database.close();
    return parentPort?.close();
  }
  (task === "passive" ? passive : restart).get();
  parentPort?.postMessage("done");
});
