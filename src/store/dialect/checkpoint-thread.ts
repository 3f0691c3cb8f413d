/** A thread: it checkpoints one SQLite file whenever it is told to, says so, and ends when it is told `close`. */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const database = new DatabaseSync(workerData as string);
// What is written into the file must be on disk before the log starts anew.
database.exec("pragma synchronous = full");
const checkpoint = database.prepare("pragma wal_checkpoint(passive)");

parentPort?.on("message", (message: "checkpoint" | "close") => {
  if (message === "checkpoint") {
    checkpoint.get();
    return parentPort?.postMessage("done");
  }
  database.close();
  parentPort?.close();
});
