/**
 * Migrates a SQLite file on a thread: a statement that rewrites many rows would block the event loop, and with it the
 * answers to probes.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { MigrateOptions, MigrationProgress, OnMigrated, PendingMigration } from "./migration.ts";
import { ConflictError, DamagedError, RefusedError, UnavailableError } from "./sql/errors.ts";

/** What the thread is given. */
export interface MigrationThreadData {
  readonly path: string;
  readonly finish: boolean;
  /** Its first element counts the migrations whose end this thread has reported. */
  readonly reported: Int32Array;
}

/** From the thread. */
export type FromMigrationThread =
  | { readonly type: "progress"; readonly progress: MigrationProgress }
  | { readonly type: "waits"; readonly ms: number }
  /** The thread commits once this is counted in `reported`. */
  | { readonly type: "migrated"; readonly migration: PendingMigration; readonly durationMs: number }
  | { readonly type: "done"; readonly count: number }
  | { readonly type: "failed"; readonly name: string; readonly message: string };

/** As `migrate`, for the file at `path`. */
export async function migrateOnThread(
  path: string,
  onMigrated: OnMigrated | undefined,
  { finish = false, onProgress, onWait, signal }: MigrateOptions,
): Promise<number> {
  signal?.throwIfAborted();
  const reported = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: MigrationThreadData = { path, finish, reported };
  const thread = new Worker(new URL(`./migration-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData,
    execArgv: [],
  });
  const ended = Promise.withResolvers<number>();
  thread.on("message", (message: FromMigrationThread) => {
    if (message.type === "progress") onProgress?.(message.progress);
    else if (message.type === "waits") onWait?.(message.ms);
    else if (message.type === "done") ended.resolve(message.count);
    else if (message.type === "failed") ended.reject(errorOf(message.name, message.message));
    else {
      onMigrated?.(message.migration, message.durationMs);
      Atomics.add(reported, 0, 1);
      Atomics.notify(reported, 0);
    }
  });
  thread.on("error", ended.reject);
  thread.on("exit", () => ended.reject(new Error("the thread that migrates has ended")));
  const stop = () => ended.reject(signal?.reason);
  signal?.addEventListener("abort", stop);
  try {
    return await ended.promise;
  } finally {
    signal?.removeEventListener("abort", stop);
    void thread.terminate(); // a statement that runs ends first
  }
}

/** The error of the thread: errors lose their class on the way. */
function errorOf(name: string, message: string): Error {
  const cause = new Error(message);
  if (name === "RefusedError") return new RefusedError(message);
  if (name === "UnavailableError") return new UnavailableError(message, cause);
  if (name === "DamagedError") return new DamagedError(cause);
  return name === "ConflictError" ? new ConflictError(cause, true) : cause;
}
