/**
 * Threads that run long queries on connections of their own. Each runs one query at a time. They start when they are
 * first needed. What they read is returned once it is on disk.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { QueryRunner, ReadingCall } from "../../long-queries.ts";
import { DamagedError } from "../../sql/errors.ts";
import { parametersOf, type Statement, type Values } from "../../sql/statement.ts";
import { translated } from "./errors.ts";

/** What a thread is given when it starts. */
export interface ReaderData {
  readonly path: string;
  /** Its first element is the number of the last query that is to stop, see {@link ReaderQuery}. */
  readonly stopped: Int32Array;
}

/** A query for a thread. Queries are numbered from 1. */
export interface ReaderQuery {
  readonly number: number;
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** The answer of a thread: the rows, or the message and the result code of SQLite of an error. */
export type ReaderAnswer =
  | { readonly rows: unknown[][] }
  | { readonly message: string; readonly errcode: number | undefined };

/** What {@link Readers} need. */
export interface ReadersOptions {
  readonly path: string;
  readonly size: number;
  /** Resolves when a query may begin. `isIdle`: whether none is running. Never fails. */
  readable(isIdle: () => boolean): Promise<void>;
  /** Resolves when everything that has been committed is on disk. Errors: UnavailableError when it never will be. */
  durable(): Promise<void>;
}

/** The reader threads of a file. */
export class Readers implements QueryRunner {
  readonly size: number;
  readonly #options: ReadersOptions;
  readonly #idle: ReaderThread[] = [];
  readonly #all = new Set<ReaderThread>();
  #damage: DamagedError | undefined;

  constructor(options: ReadersOptions) {
    this.size = options.size;
    this.#options = options;
  }

  /** The first part of the file that a query could not read. */
  get damage(): DamagedError | undefined {
    return this.#damage;
  }

  async rows(statement: Statement, values: Values, { signal }: ReadingCall): Promise<unknown[][]> {
    await this.#options.readable(() => this.#idle.length === this.#all.size);
    signal.throwIfAborted();
    const thread = this.#idle.pop() ?? this.#start();
    let answer: ReaderAnswer;
    try {
      answer = await thread.run(statement.text, parametersOf(statement, values), signal);
    } catch (error) {
      throw this.#failed(error);
    } finally {
      if (thread.isRunning) this.#idle.push(thread);
      else this.#all.delete(thread);
    }
    signal.throwIfAborted();
    if (!("rows" in answer)) throw this.#failed(Object.assign(new Error(answer.message), { errcode: answer.errcode }));
    await this.#options.durable();
    return answer.rows;
  }

  #failed(error: unknown): unknown {
    const failure = translated(error);
    if (failure instanceof DamagedError) this.#damage ??= failure;
    return failure;
  }

  #start(): ReaderThread {
    const thread = new ReaderThread(this.#options.path);
    this.#all.add(thread);
    return thread;
  }

  /** Ends the threads. No query may be running. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#all, (thread) => thread.close()));
  }
}

/** One thread. */
class ReaderThread {
  readonly #worker: Worker;
  readonly #stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #number = 0;
  #query: PromiseWithResolvers<ReaderAnswer> | undefined;
  isRunning = true;

  constructor(path: string) {
    const workerData: ReaderData = { path, stopped: this.#stopped };
    this.#worker = new Worker(new URL(`./reader-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData,
      execArgv: [],
    });
    this.#worker.unref();
    this.#worker.on("message", (answer: ReaderAnswer) => this.#query?.resolve(answer));
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(new Error("a reader thread has ended")));
  }

  /** Runs a query. An aborted signal makes it fail soon. */
  async run(text: string, parameters: readonly unknown[], signal: AbortSignal): Promise<ReaderAnswer> {
    const number = ++this.#number;
    this.#query = Promise.withResolvers();
    const stop = () => Atomics.store(this.#stopped, 0, number);
    signal.addEventListener("abort", stop);
    this.#worker.ref(); // the process must not exit while this is awaited
    try {
      this.#worker.postMessage({ number, text, parameters } satisfies ReaderQuery);
      return await this.#query.promise;
    } finally {
      this.#worker.unref();
      signal.removeEventListener("abort", stop);
      this.#query = undefined;
    }
  }

  #end(error: Error): void {
    this.isRunning = false;
    this.#query?.reject(error);
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
