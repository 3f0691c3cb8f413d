/**
 * Checkpoints: copies the write-ahead log to the database file, on a thread, because that takes tens of milliseconds,
 * in which the event loop would be blocked. Most of it happens while transactions run. Then they pause, because the log
 * can restart only once all of it is in the file. Nor can it while a query reads it: where long queries leave no gap,
 * new ones wait until it has restarted. The thread starts when the log is long enough for the first time. If it fails,
 * SQLite's automatic checkpoint takes over, in a commit that finds the log very long.
 */
import { statSync } from "node:fs";
import { extname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Histogram } from "../../../histogram/index.ts";
import { arrayRows } from "./array-rows.ts";

/**
 * A task of the thread: a checkpoint while writers run, one that restarts the log, one that also empties its file, or
 * the end of the thread.
 */
export type ThreadTask = "passive" | "restart" | "truncate" | "close";
/** The result of a checkpoint: whether all of the log is in the file, and no reader needs it. */
export interface TaskDone {
  readonly isComplete: boolean;
}

/**
 * The pages in the log that start a checkpoint. A page that several commits change is then copied once: SQLite's
 * default of 1000 doubles the writes.
 */
const minPages = 4000;
/** The file of the log is truncated to this size when the log restarts. While it is larger, long queries wait. */
export const logBytes = 64 * 1024 * 1024;
/** How long they wait at most, and for how long none waits after a wait without success. */
const maxQueriesWaitMs = 2000;
const queriesGoOnMs = 10_000;
const pollMs = 10;

/** The checkpoints of one file. */
export class Checkpoints {
  readonly #path: string;
  readonly #durations: Histogram;
  readonly #log: StatementSync;
  #thread: Worker | undefined;
  #task: PromiseWithResolvers<boolean> | undefined;
  /** When the task began. */
  #sinceMs = 0;
  #hasFailed = false;
  #needsPause = false;
  #restart: Promise<void> | undefined;
  #queriesWaitFromMs = 0;

  /** @param writer the connection that writes the file at `path`. @param durations of checkpoints, in seconds. */
  constructor(writer: DatabaseSync, path: string, durations: Histogram) {
    this.#path = path;
    this.#durations = durations;
    this.#log = writer.prepare("pragma wal_checkpoint(noop)");
    this.#log.setReturnArrays(true);
  }

  /** Whether so little is left to copy that transactions can wait for it. */
  get needsPause(): boolean {
    return this.#needsPause;
  }

  /** To be called after each commit. */
  committed(): void {
    if (this.#task !== undefined || this.#needsPause || this.#hasFailed) return;
    try {
      const [, pages, moved] = arrayRows(this.#log)[0] as [busy: number, pages: number, moved: number];
      if (pages - moved < minPages) return;
      void this.#do("passive").then(() => {
        this.#needsPause = true;
      });
    } catch {
      this.#giveUp();
    }
  }

  /**
   * Copies the rest, so that the next transaction restarts the log. Waits for readers, which prevent that, for a short
   * time.
   */
  async restartLog(): Promise<void> {
    this.#needsPause = false;
    if (this.#hasFailed) return;
    this.#thread?.ref(); // the process must not exit while this is awaited
    await this.#task?.promise;
    await this.#do("restart");
    this.#thread?.unref();
  }

  /**
   * To be called before each long query: waits while the log is long, until it has restarted. Never fails.
   *
   * @param isIdle whether no long query of this process is running.
   */
  async readable(isIdle: () => boolean): Promise<void> {
    if (performance.now() < this.#queriesWaitFromMs || !this.#isLong()) return;
    this.#restart ??= this.#restartOnceIdle(isIdle).finally(() => {
      this.#restart = undefined;
    });
    await this.#restart;
  }

  /** Other processes wait and try, too: it is enough that one succeeds. */
  async #restartOnceIdle(isIdle: () => boolean): Promise<void> {
    const giveUpMs = performance.now() + maxQueriesWaitMs;
    while (this.#isLong()) {
      if (performance.now() > giveUpMs) {
        this.#queriesWaitFromMs = performance.now() + queriesGoOnMs;
        return;
      }
      if (isIdle() && this.#task === undefined && (await this.#do("truncate"))) return;
      await setTimeout(pollMs);
    }
  }

  #isLong(): boolean {
    return !this.#hasFailed && this.logBytes() > logBytes;
  }

  /** The size of the log. */
  logBytes(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Returns whether the checkpoint is complete. */
  #do(task: ThreadTask): Promise<boolean> {
    this.#task = Promise.withResolvers();
    this.#sinceMs = performance.now();
    this.#thread ??= this.#start();
    this.#thread.postMessage(task);
    return this.#task.promise;
  }

  #start(): Worker {
    const thread = new Worker(new URL(`./checkpoint-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: this.#path,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
    });
    thread.on("message", ({ isComplete }: TaskDone) => this.#done(isComplete));
    thread.on("error", () => this.#giveUp());
    thread.unref();
    return thread;
  }

  #done(isComplete: boolean): void {
    const task = this.#task;
    if (task !== undefined) this.#durations.record((performance.now() - this.#sinceMs) / 1000);
    this.#task = undefined;
    task?.resolve(isComplete);
  }

  /** Leaves checkpoints to SQLite after a failure. */
  #giveUp(): void {
    this.#hasFailed = true;
    this.#thread = undefined;
    this.#done(false);
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    thread.ref(); // nothing else may be keeping the process alive
    const ended = new Promise((resolve) => thread.once("exit", resolve));
    thread.postMessage("close" satisfies ThreadTask);
    await ended;
  }
}
