/**
 * The dispatcher of a process: looks which lanes have something due, and has each of them worked on. It looks when it is woken, which the process does
 * after its own changes, and once a second, for the changes of others, for retries, and for what a process that died has left.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Resolve } from "../outbound.ts";
import type { Database } from "../store/index.ts";
import { deliveriesQueue, fanOutLane } from "./deliveries.ts";
import { rememberEvents } from "./event-memory.ts";
import { fanOut } from "./fan-out.ts";
import { createLane, type Lane } from "./lane.ts";
import { createPace } from "./pace.ts";
import { createSettler } from "./settler.ts";
import { createDeliveryTokens, type SignToken } from "./signing.ts";
import { type Attempt, createSink } from "./sink.ts";
import type { SubscriptionSource } from "./subscription.ts";

/** What {@link startDispatcher} needs. */
export interface DispatcherOptions {
  readonly database: Database;
  readonly subscriptions: SubscriptionSource;
  readonly sign: SignToken;
  /** Whether sinks may be at http on a loopback host. */
  readonly allowLoopbackSinks: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Told of what went wrong; it is tried again. */
  report(error: unknown): void;
  /** Told of every attempt and of the uid of its subscription. */
  onAttempt?(attempt: Attempt, subscription: string): void;
  /** In place of the system's resolver. */
  readonly resolve?: Resolve;
  /** How long one attempt may take, 15 s unless told. */
  readonly attemptTimeoutMs?: number;
}

/** Delivers, until it is stopped. */
export interface Dispatcher {
  /** Says that a change has been committed. */
  wake(): void;
  /** Begins nothing more, lets what is under way finish for 10 s, and gives the rest back. */
  stop(): Promise<void>;
}

const pollMs = 1000;
/** Many changes at once are looked at together. */
const wakeMs = 20;
const graceMs = 10_000;
/** Lanes worked on at once; a sink that takes all the time it may has rested before the next thousand are through. */
const maxLanes = 1000;
/** A lane that has not been worked on so long is forgotten, and with it what its sink has shown. */
const maxIdleMs = 10 * 60_000;

/** Starts the dispatcher. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { database, subscriptions, sign, allowLoopbackSinks, now, report, attemptTimeoutMs = 15_000 } = options;
  const queue = database.queue(deliveriesQueue);
  const tokens = createDeliveryTokens(sign, now);
  const settler = createSettler(queue, report);
  const pace = createPace();
  const eventsOf = rememberEvents(database);
  const lanes = new Map<string, { readonly lane: Lane; usedMs: number }>();
  const running = new Map<string, Promise<void>>();
  /** Lanes that something became due in while they were worked on: their end may not have seen it. */
  const missed = new Set<string>();
  let looking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isWoken = false;
  let isStopped = false;

  /** Works on one lane. */
  function start(name: string, work: () => Promise<unknown>): void {
    const run = work()
      .then(() => {}, report)
      .finally(() => {
        running.delete(name);
        if (missed.delete(name)) wake();
      });
    running.set(name, run);
  }

  async function fanOutAll(): Promise<void> {
    while (!isStopped && (await fanOut({ queue, subscriptions, eventsOf, now })) > 0) wake();
  }

  function laneOf(uid: string): Lane {
    const known = lanes.get(uid)?.lane;
    const sinkOptions = { tokens, allowLoopbackHttp: allowLoopbackSinks, timeoutMs: attemptTimeoutMs, now };
    const lane =
      known ??
      createLane({
        uid,
        queue,
        settler,
        subscriptions,
        sink: createSink({ ...sinkOptions, ...(options.resolve && { resolve: options.resolve }) }),
        pace,
        attemptTimeoutMs,
        eventsOf,
        onAttempt: (attempt) => options.onAttempt?.(attempt, uid),
        now,
      });
    lanes.set(uid, { lane, usedMs: now() });
    return lane;
  }

  async function look(): Promise<void> {
    for (const name of await queue.dueLanes(now() * 1000)) {
      if (isStopped) return;
      if (running.has(name)) missed.add(name);
      else if (name === fanOutLane) start(name, fanOutAll);
      else if (running.size < maxLanes && laneOf(name).isReady()) start(name, () => laneOf(name).run());
    }
    for (const [uid, { lane, usedMs }] of lanes) {
      if (running.has(uid) || now() - usedMs < maxIdleMs) continue;
      lane.close();
      lanes.delete(uid);
    }
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isWoken = false;
      looking = look()
        .catch(report)
        .finally(() => {
          looking = undefined;
          if (!isStopped) schedule(isWoken ? wakeMs : pollMs);
        });
    }, delayMs);
  }

  function wake(): void {
    if (isWoken || isStopped) return;
    isWoken = true;
    if (looking === undefined) schedule(wakeMs);
  }

  schedule(0);
  return {
    wake,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await looking;
      for (const { lane } of lanes.values()) lane.stop();
      const grace = new AbortController();
      const all = Promise.all(running.values());
      await Promise.race([all, delay(graceMs, undefined, { signal: grace.signal }).catch(() => {})]);
      grace.abort();
      for (const { lane } of lanes.values()) lane.close();
      await all;
      await settler.flush();
    },
  };
}
