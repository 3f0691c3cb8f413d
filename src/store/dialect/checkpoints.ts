/**
 * Moves what is in the write-ahead log into the file, on a thread: it takes tens of milliseconds, in which nothing would be answered. The thread
 * starts when there is enough to do for the first time. It may fail, or not keep up with a writer that never pauses: SQLite's own checkpoint, in a
 * commit that finds the log very long, does what is left.
 */
import { extname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Worker } from "node:worker_threads";

/** Pages of the log that are worth a checkpoint: a page that many commits change goes to the file once. SQLite's default of 1000 doubles the writing. */
const worthPages = 4000;

/** The checkpoints of one file. */
export class Checkpoints {
  readonly #path: string;
  readonly #log: StatementSync;
  #thread: Worker | undefined;
  #isBusy = false;

  /** @param writer the connection that writes the file at `path`. */
  constructor(writer: DatabaseSync, path: string) {
    this.#path = path;
    this.#log = writer.prepare("pragma wal_checkpoint(noop)");
    this.#log.setReturnArrays(true);
  }

  /** To be called after each commit. */
  committed(): void {
    if (this.#isBusy) return;
    try {
      const [, pages, moved] = this.#log.get() as unknown as [busy: number, pages: number, moved: number];
      if (pages - moved < worthPages) return;
      this.#isBusy = true;
      this.#thread ??= this.#start();
      this.#thread.postMessage("checkpoint");
    } catch {
      this.#giveUp();
    }
  }

  #start(): Worker {
    const thread = new Worker(new URL(`./checkpoint-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: this.#path,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
    });
    thread.on("message", () => {
      this.#isBusy = false;
    });
    thread.on("error", () => this.#giveUp());
    thread.unref();
    return thread;
  }

  /** What has failed once is left to SQLite. */
  #giveUp(): void {
    this.#isBusy = true;
    this.#thread = undefined;
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#isBusy = true;
    if (thread === undefined) return;
    thread.ref(); // it alone may keep the program alive now
    const ended = new Promise((resolve) => thread.once("exit", resolve));
    thread.postMessage("close");
    await ended;
  }
}
