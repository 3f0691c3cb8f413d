/**
 * A thread that runs long queries. A query that is to stop fails at the next call of `goes_on()`, which its statement
 * makes for some of the rows that it reads.
 */
import { setPriority } from "node:os";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { arrayRows } from "./array-rows.ts";
import type { ReaderAnswer, ReaderData, ReaderQuery } from "./readers.ts";

/** The page cache of one thread. */
const cacheKib = 16 * 1024;
/** How long to wait for another process that recovers the log after a crash. */
const waitMs = 1000;
/** Prepared statements that are kept. */
const maxPrepared = 200;
/** The event loop comes first where there are too few cores. */
const niceness = 10;

// On Linux, and only there, a process id of 0 stands for the calling thread.
if (process.platform === "linux") setPriority(0, niceness);

const { path, stopped } = workerData as ReaderData;
const database = new DatabaseSync(path, { timeout: waitMs, enableDoubleQuotedStringLiterals: false });
database.exec(`pragma cache_size = -${cacheKib}; pragma temp_store = memory; pragma query_only = 1`);
const prepared = new Map<string, StatementSync>();
let running = 0;

database.function("goes_on", () => {
  if (Atomics.load(stopped, 0) === running) throw new Error("the query was stopped");
  return 1;
});

parentPort?.on("message", ({ number, text, parameters }: ReaderQuery) => {
  running = number;
  parentPort?.postMessage(answer(text, parameters));
});

function answer(text: string, parameters: readonly unknown[]): ReaderAnswer {
  try {
    return { rows: arrayRows(statement(text), ...(parameters as SQLInputValue[])) };
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number };
    return { message, errcode };
  }
}

function statement(text: string): StatementSync {
  let known = prepared.get(text);
  if (known === undefined) {
    if (prepared.size >= maxPrepared) prepared.clear();
    known = database.prepare(text);
    known.setReturnArrays(true);
    prepared.set(text, known);
  }
  return known;
}
