/**
 * The dispatcher of a process: finds the partitions of the queue that have due entries, and runs a worker for each.
 *
 * It polls once a second, for changes by other processes, for retries, and for expired leases of processes that died.
 * The process wakes it after its own changes.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Resolve } from "../outbound.ts";
import type { Database } from "../store/index.ts";
import type { Tracing } from "../tracing/index.ts";
import { deliveriesQueue, fanOutPartition } from "./deliveries.ts";
import { createEventCache } from "./event-cache.ts";
import { fanOut } from "./fan-out.ts";
import { createRateLimit } from "./rate-limit.ts";
import { createSettlementBatcher } from "./settlement-batcher.ts";
import { createDeliveryTokens, type DeliveryTokens, type SignToken } from "./signing.ts";
import { type Attempt, createSink } from "./sink.ts";
import type { SubscriptionSource } from "./subscription.ts";
import { SubscriptionWorker, type SubscriptionWorkerOptions } from "./subscription-worker.ts";

/** What a {@link Dispatcher} needs. */
export interface DispatcherOptions {
  readonly database: Database;
  readonly subscriptions: SubscriptionSource;
  readonly sign: SignToken;
  /** Whether sinks may be http URLs on a loopback host. */
  readonly allowLoopbackSinks: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with errors of this process; the work is retried. */
  report(error: unknown): void;
  /** Called after every attempt, with the uid of the subscription. */
  onAttempt?(attempt: Attempt, subscription: string): void;
  /** Replaces the system's resolver. */
  readonly resolve?: Resolve;
  /** Timeout of one attempt, 15 s by default. */
  readonly attemptTimeoutMs?: number;
  /** Records attempts to deliver the events of recorded calls. */
  readonly tracing?: Tracing | undefined;
}

const pollMs = 1000;
/** Wake-ups within this time are handled together. */
const wakeMs = 20;
const graceMs = 10_000;
/** Partitions handled at once. Sinks that time out are in back-off before the next thousand are through. */
const maxRunning = 1000;
/** A worker idle for this long is discarded, with its concurrency and back-off. */
const maxIdleMs = 10 * 60_000;

/** Delivers events, from its construction until it is stopped. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #tokens: DeliveryTokens;
  /** What all workers share. */
  readonly #shared: Omit<SubscriptionWorkerOptions, "uid" | "sink" | "onAttempt">;
  readonly #workers = new Map<string, { readonly worker: SubscriptionWorker; usedMs: number }>();
  /** Runs in progress, by partition. */
  readonly #running = new Map<string, Promise<void>>();
  /** Partitions that were due while they were running: the run may have missed the new entries. */
  readonly #missed = new Set<string>();
  #polling: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isWoken = false;
  #isStopped = false;

  constructor(options: DispatcherOptions) {
    const { database, subscriptions, sign, now, report, attemptTimeoutMs = 15_000 } = options;
    const queue = database.queue(deliveriesQueue);
    this.#options = options;
    this.#tokens = createDeliveryTokens(sign, now);
    this.#shared = {
      queue,
      settlements: createSettlementBatcher(queue, report),
      subscriptions,
      rateLimit: createRateLimit(),
      attemptTimeoutMs,
      eventsOf: createEventCache(database),
      now,
    };
    this.#schedule(0);
  }

  /** Looks for due deliveries soon. To be called after a commit. */
  wake(): void {
    if (this.#isWoken || this.#isStopped) return;
    this.#isWoken = true;
    if (this.#polling === undefined) this.#schedule(wakeMs);
  }

  /** Starts no further deliveries, gives those in progress 10 s to finish, and makes the rest due again. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#polling;
    for (const { worker } of this.#workers.values()) worker.stop();
    const grace = new AbortController();
    const all = Promise.all(this.#running.values());
    await Promise.race([all, delay(graceMs, undefined, { signal: grace.signal }).catch(() => {})]);
    grace.abort();
    for (const { worker } of this.#workers.values()) worker.close();
    await all;
    await this.#shared.settlements.flush();
  }

  #start(partition: string, run: () => Promise<unknown>): void {
    const ended = run()
      .then(() => {}, this.#options.report)
      .finally(() => {
        this.#running.delete(partition);
        if (this.#missed.delete(partition)) this.wake();
      });
    this.#running.set(partition, ended);
  }

  async #fanOutAll(): Promise<void> {
    while (!this.#isStopped && (await fanOut(this.#shared)) > 0) this.wake();
  }

  #workerOf(uid: string): SubscriptionWorker {
    const { now } = this.#options;
    const worker = this.#workers.get(uid)?.worker ?? this.#createWorker(uid);
    this.#workers.set(uid, { worker, usedMs: now() });
    return worker;
  }

  #createWorker(uid: string): SubscriptionWorker {
    const { allowLoopbackSinks, now, tracing, resolve, onAttempt } = this.#options;
    const sink = createSink({
      tokens: this.#tokens,
      allowLoopbackHttp: allowLoopbackSinks,
      timeoutMs: this.#shared.attemptTimeoutMs,
      now,
      tracing,
      ...(resolve && { resolve }),
    });
    return new SubscriptionWorker({ ...this.#shared, uid, sink, onAttempt: (attempt) => onAttempt?.(attempt, uid) });
  }

  async #poll(): Promise<void> {
    const { now } = this.#options;
    for (const partition of await this.#shared.queue.duePartitions(now() * 1000)) {
      if (this.#isStopped) return;
      if (this.#running.has(partition)) this.#missed.add(partition);
      else if (partition === fanOutPartition) this.#start(partition, () => this.#fanOutAll());
      else if (this.#running.size < maxRunning && this.#workerOf(partition).isReady())
        this.#start(partition, () => this.#workerOf(partition).run());
    }
    for (const [uid, { worker, usedMs }] of this.#workers) {
      if (this.#running.has(uid) || now() - usedMs < maxIdleMs) continue;
      worker.close();
      this.#workers.delete(uid);
    }
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isWoken = false;
      this.#polling = this.#poll()
        .catch(this.#options.report)
        .finally(() => {
          this.#polling = undefined;
          if (!this.#isStopped) this.#schedule(this.#isWoken ? wakeMs : pollMs);
        });
    }, delayMs);
  }
}
