/**
 * Moves what is in the write-ahead log into the file, on a thread: it takes tens of milliseconds, in which nothing would be answered. It does most
 * of it while transactions go on; then they pause, because only a log that is all in the file starts anew. The thread starts when there is enough
 * to do for the first time. It may fail: SQLite's own checkpoint, in a commit that finds the log very long, does what is left.
 */
import { extname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Worker } from "node:worker_threads";

/** What the thread is told: a checkpoint beside writers, or one after which the log starts anew; or to end. */
export type ThreadTask = "passive" | "restart" | "close";

/** Pages of the log that are worth a checkpoint: a page that many commits change goes to the file once. SQLite's default of 1000 doubles the writing. */
const worthPages = 4000;

/** The checkpoints of one file. */
export class Checkpoints {
  readonly #path: string;
  readonly #log: StatementSync;
  #thread: Worker | undefined;
  #task: PromiseWithResolvers<void> | undefined;
  #hasFailed = false;
  #needsPause = false;

  /** @param writer the connection that writes the file at `path`. */
  constructor(writer: DatabaseSync, path: string) {
    this.#path = path;
    this.#log = writer.prepare("pragma wal_checkpoint(noop)");
    this.#log.setReturnArrays(true);
  }

  /** Whether little enough is left to do that transactions can wait for it. */
  get needsPause(): boolean {
    return this.#needsPause;
  }

  /** To be called after each commit. */
  committed(): void {
    if (this.#task !== undefined || this.#needsPause || this.#hasFailed) return;
    try {
      const [, pages, moved] = this.#log.get() as unknown as [busy: number, pages: number, moved: number];
      if (pages - moved < worthPages) return;
      void this.#do("passive").then(() => {
        this.#needsPause = true;
      });
    } catch {
      this.#giveUp();
    }
  }

  /** Does what is left, so that the next transaction starts the log anew. Readers that stay prevent that: it waits for them, but not for long. */
  async restartLog(): Promise<void> {
    this.#needsPause = false;
    if (this.#hasFailed) return;
    this.#thread?.ref(); // while the program waits for it, it must not end
    await this.#do("restart");
    this.#thread?.unref();
  }

  #do(task: ThreadTask): Promise<void> {
    this.#task = Promise.withResolvers();
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
    thread.on("message", () => this.#done());
    thread.on("error", () => this.#giveUp());
    thread.unref();
    return thread;
  }

  #done(): void {
    const task = this.#task;
    this.#task = undefined;
    task?.resolve();
  }

  /** What has failed once is left to SQLite. */
  #giveUp(): void {
    this.#hasFailed = true;
    this.#thread = undefined;
    this.#done();
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    thread.ref(); // it alone may keep the program alive now
    const ended = new Promise((resolve) => thread.once("exit", resolve));
    thread.postMessage("close" satisfies ThreadTask);
    await ended;
  }
}
