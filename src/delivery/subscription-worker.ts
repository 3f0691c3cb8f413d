/**
 * Delivers the events of one subscription. Faults of its sink do not affect other subscriptions:
 *
 * - The concurrency starts at one delivery. Each success raises it by one, up to 16; a failure resets it to one.
 * - After three failures in a row the worker backs off, longer each time, up to a minute. Then it tries one delivery.
 *   Backing off costs the waiting deliveries no attempt.
 * - A failed delivery is retried at its own time (`retry.ts`). A delivery is dead once its 24 hours are over, also
 *   while the worker backs off.
 *
 * The worker reads its subscription before it sends, and again every second, so deliveries stop within a second after
 * the subscription is deleted or disabled.
 */
import type { Queue, QueueEntry } from "../store/index.ts";
import type { Event } from "./event.ts";
import { withAttempt } from "./history.ts";
import type { RateLimit } from "./rate-limit.ts";
import { retryDelayMs } from "./retry.ts";
import type { SettlementBatcher } from "./settlement-batcher.ts";
import type { Attempt, Sink } from "./sink.ts";
import type { Subscription, SubscriptionSource } from "./subscription.ts";

/** Delivers the events of one subscription, in one process. */
export interface SubscriptionWorker {
  /** Sends due deliveries until there are none, the worker backs off, or it is stopped. Not reentrant. */
  run(): Promise<void>;
  /** Whether it is neither stopped nor backing off. */
  isReady(): boolean;
  /** Starts no further deliveries; those in progress finish. */
  stop(): void;
  /** Aborts the deliveries in progress; they become due again, with no attempt counted. */
  close(): void;
}

/** What {@link createSubscriptionWorker} needs. */
interface SubscriptionWorkerOptions {
  /** uid of the subscription. */
  readonly uid: string;
  readonly queue: Queue;
  readonly settlements: SettlementBatcher;
  readonly subscriptions: SubscriptionSource;
  readonly sink: Sink;
  readonly rateLimit: RateLimit;
  readonly attemptTimeoutMs: number;
  /** Events by id; those that do not exist are left out. */
  eventsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Event>>;
  /** Called after every attempt. */
  onAttempt(attempt: Attempt): void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const maxConcurrency = 16;
/** Deliveries leased at once for each concurrent one. More would wait here while other processes could send them. */
const leasedPerConcurrent = 4;
const leaseMs = 60_000;
/** How long a subscription that was read is used. */
const maxSubscriptionAgeMs = 1000;
const failuresBeforeBackOff = 3;
const firstBackOffMs = 1000;
const maxBackOffMs = 60_000;
/** After an error of this process, which is not the sink's fault and not an attempt. */
const errorBackOffMs = 10_000;
const batchSize = 200;

/** Creates the worker of a subscription whose sink has not been tried yet. */
export function createSubscriptionWorker(options: SubscriptionWorkerOptions): SubscriptionWorker {
  const { uid, queue, settlements, subscriptions, sink, rateLimit, attemptTimeoutMs, eventsOf, onAttempt, now } =
    options;
  let concurrency = 1;
  let failures = 0;
  let backOffUntilMs = 0;
  let isGone = false;
  let isStopped = false;
  let isClosed = false;

  const isReady = () => !isStopped && now() >= backOffUntilMs;

  /** Makes a leased delivery due again, with no attempt counted. */
  function release(entry: QueueEntry): void {
    settlements.settle(entry, { state: "pending", dueUs: now() * 1000 });
  }

  async function attempt(entry: QueueEntry, event: Event, subscription: Subscription): Promise<void> {
    const failuresBefore = failures;
    const [timeMs, began] = [now(), performance.now()];
    const attempted = await sink.post(event, subscription);
    const durationMs = Math.round(performance.now() - began);
    if (isClosed && attempted.outcome === "failed") return release(entry);
    onAttempt(attempted);
    const { outcome, result, retryAfterMs } = attempted;
    const [nowMs, attempts] = [now(), entry.attempts + 1];
    const history = withAttempt(entry.history, { timeMs, durationMs, result });
    const tried = { attempts, triedUs: nowMs * 1000, result, history };
    if (outcome === "delivered") {
      [concurrency, failures] = [Math.min(concurrency + 1, maxConcurrency), 0];
      return settlements.settle(entry, { state: "done", ...tried });
    }
    concurrency = 1;
    failures = Math.max(failures, failuresBefore + 1); // concurrent failures count once
    if (outcome === "gone") {
      isGone = true;
      settlements.settle(entry, { state: "dead", ...tried });
      await settlements.flush(); // before pending deliveries are dropped
      return subscriptions.disable(uid, nowMs);
    }
    if (failures >= failuresBeforeBackOff) {
      const backOffMs = Math.min(firstBackOffMs * 2 ** (failures - failuresBeforeBackOff), maxBackOffMs);
      backOffUntilMs = nowMs + backOffMs * (0.5 + Math.random() / 2);
    }
    const expireMs = entry.expireUs / 1000;
    if (nowMs >= expireMs) return settlements.settle(entry, { state: "dead", ...tried });
    const dueMs = Math.min(nowMs + retryDelayMs(attempts, retryAfterMs), expireMs);
    settlements.settle(entry, { state: "pending", dueUs: Math.round(dueMs * 1000), ...tried });
  }

  /** Sends the leased deliveries with the current concurrency. */
  async function send(leased: readonly QueueEntry[], initial: Subscription): Promise<void> {
    const events = await eventsOf(leased.map(({ id }) => id));
    const waiting = [...leased];
    let subscription: Subscription | undefined = initial;
    let readMs = now();
    const sendNext = async (): Promise<void> => {
      for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
        const event = events.get(entry.id);
        await rateLimit.acquire();
        if (now() - readMs > maxSubscriptionAgeMs) {
          subscription = await subscriptions.get(uid);
          readMs = now();
        }
        const isLeaseTooShort = now() + attemptTimeoutMs > entry.dueUs / 1000;
        if (event === undefined) await queue.remove(uid, [entry.id]);
        else if (subscription === undefined || isGone || isLeaseTooShort || !isReady()) release(entry);
        else await attempt(entry, event, subscription);
      }
    };
    const results = await Promise.allSettled(Array.from({ length: Math.min(concurrency, leased.length) }, sendNext));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async function sendDue(): Promise<void> {
    while (isReady()) {
      const subscription = await subscriptions.get(uid);
      if (subscription === undefined) return dropAll();
      const limit = concurrency === 1 ? 1 : concurrency * leasedPerConcurrent;
      const nowUs = now() * 1000;
      const leased = await queue.lease({ partition: uid, nowUs, untilUs: nowUs + leaseMs * 1000, limit });
      if (leased.length === 0) return;
      await send(leased, subscription);
    }
    if (!isStopped) await queue.expire(uid, now() * 1000, batchSize);
  }

  async function dropAll(): Promise<void> {
    while ((await queue.removePending(uid, batchSize)) === batchSize);
  }

  return {
    isReady,
    async run() {
      isGone = false;
      try {
        await sendDue();
      } catch (error) {
        backOffUntilMs = now() + errorBackOffMs;
        throw error;
      }
    },
    stop() {
      isStopped = true;
    },
    close() {
      isClosed = true;
      sink.close();
    },
  };
}
