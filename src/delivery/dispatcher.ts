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
import { createDeliveryTokens, type SignToken } from "./signing.ts";
import { type Attempt, createSink } from "./sink.ts";
import type { SubscriptionSource } from "./subscription.ts";
import { createSubscriptionWorker, type SubscriptionWorker } from "./subscription-worker.ts";

/** What {@link startDispatcher} needs. */
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

/** Delivers events until it is stopped. */
export interface Dispatcher {
  /** Looks for due deliveries soon. To be called after a commit. */
  wake(): void;
  /** Starts no further deliveries, gives those in progress 10 s to finish, and makes the rest due again. */
  stop(): Promise<void>;
}

const pollMs = 1000;
/** Wake-ups within this time are handled together. */
const wakeMs = 20;
const graceMs = 10_000;
/** Partitions handled at once. Sinks that time out are in back-off before the next thousand are through. */
const maxRunning = 1000;
/** A worker idle for this long is discarded, with its concurrency and back-off. */
const maxIdleMs = 10 * 60_000;

/** Starts a dispatcher. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const {
    database,
    subscriptions,
    sign,
    allowLoopbackSinks,
    now,
    report,
    attemptTimeoutMs = 15_000,
    tracing,
  } = options;
  const queue = database.queue(deliveriesQueue);
  const tokens = createDeliveryTokens(sign, now);
  const settlements = createSettlementBatcher(queue, report);
  const rateLimit = createRateLimit();
  const eventsOf = createEventCache(database);
  const workers = new Map<string, { readonly worker: SubscriptionWorker; usedMs: number }>();
  /** Runs in progress, by partition. */
  const running = new Map<string, Promise<void>>();
  /** Partitions that were due while they were running: the run may have missed the new entries. */
  const missed = new Set<string>();
  let polling: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isWoken = false;
  let isStopped = false;

  function start(partition: string, run: () => Promise<unknown>): void {
    const ended = run()
      .then(() => {}, report)
      .finally(() => {
        running.delete(partition);
        if (missed.delete(partition)) wake();
      });
    running.set(partition, ended);
  }

  async function fanOutAll(): Promise<void> {
    while (!isStopped && (await fanOut({ queue, subscriptions, eventsOf, now })) > 0) wake();
  }

  function workerOf(uid: string): SubscriptionWorker {
    const existing = workers.get(uid)?.worker;
    const sinkOptions = { tokens, allowLoopbackHttp: allowLoopbackSinks, timeoutMs: attemptTimeoutMs, now, tracing };
    const worker =
      existing ??
      createSubscriptionWorker({
        uid,
        queue,
        settlements,
        subscriptions,
        sink: createSink({ ...sinkOptions, ...(options.resolve && { resolve: options.resolve }) }),
        rateLimit,
        attemptTimeoutMs,
        eventsOf,
        onAttempt: (attempt) => options.onAttempt?.(attempt, uid),
        now,
      });
    workers.set(uid, { worker, usedMs: now() });
    return worker;
  }

  async function poll(): Promise<void> {
    for (const partition of await queue.duePartitions(now() * 1000)) {
      if (isStopped) return;
      if (running.has(partition)) missed.add(partition);
      else if (partition === fanOutPartition) start(partition, fanOutAll);
      else if (running.size < maxRunning && workerOf(partition).isReady())
        start(partition, () => workerOf(partition).run());
    }
    for (const [uid, { worker, usedMs }] of workers) {
      if (running.has(uid) || now() - usedMs < maxIdleMs) continue;
      worker.close();
      workers.delete(uid);
    }
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isWoken = false;
      polling = poll()
        .catch(report)
        .finally(() => {
          polling = undefined;
          if (!isStopped) schedule(isWoken ? wakeMs : pollMs);
        });
    }, delayMs);
  }

  function wake(): void {
    if (isWoken || isStopped) return;
    isWoken = true;
    if (polling === undefined) schedule(wakeMs);
  }

  schedule(0);
  return {
    wake,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await polling;
      for (const { worker } of workers.values()) worker.stop();
      const grace = new AbortController();
      const all = Promise.all(running.values());
      await Promise.race([all, delay(graceMs, undefined, { signal: grace.signal }).catch(() => {})]);
      grace.abort();
      for (const { worker } of workers.values()) worker.close();
      await all;
      await settlements.flush();
    },
  };
}
