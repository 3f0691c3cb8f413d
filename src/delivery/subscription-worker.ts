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
import { deliveryLifeMs, retryDelayMs } from "./retry.ts";
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
const leasedInOrder = 32;
const leaseMs = 60_000;
/** How long a subscription that was read is used. */
const maxSubscriptionAgeMs = 1000;
const failuresBeforeBackOff = 3;
const firstBackOffMs = 1000;
const maxBackOffMs = 60_000;
/** After an error of this process, which is not the sink's fault and not an attempt. */
const errorBackOffMs = 10_000;
const batchSize = 200;
/** How long after its resumption events of a pause may still be fanned out. */
const fanOutMs = 60_000;

/** Creates the worker of a subscription whose sink has not been tried yet. */
export function createSubscriptionWorker(options: SubscriptionWorkerOptions): SubscriptionWorker {
  const { uid, queue, settlements, subscriptions, sink, rateLimit, attemptTimeoutMs, eventsOf, onAttempt, now } =
    options;
  let concurrency = 1;
  let failures = 0;
  let backOffUntilMs = 0;
  /** The last resumption that is known to this worker, and the one whose waiting events have all been sent. */
  let [resumeTimeMs, sentResumeTimeMs] = [0, 0];
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
    const expireMs = Math.max(entry.expireUs / 1000, resumeTimeMs + deliveryLifeMs);
    if (nowMs >= expireMs) return settlements.settle(entry, { state: "dead", ...tried });
    const dueMs = Math.min(nowMs + retryDelayMs(attempts, retryAfterMs), expireMs);
    settlements.settle(entry, { state: "pending", dueUs: Math.round(dueMs * 1000), ...tried });
  }

  /** Sends the leased deliveries, `width` of them at once. */
  async function send(leased: readonly QueueEntry[], initial: Subscription, width: number): Promise<void> {
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
        else if (subscription === undefined || subscription.isPaused || isGone || isLeaseTooShort || !isReady())
          release(entry);
        else await attempt(entry, event, subscription);
      }
    };
    const results = await Promise.allSettled(Array.from({ length: Math.min(width, leased.length) }, sendNext));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /**
   * Sends some of the events that waited until the subscription was resumed: one after the other, in the order of their
   * times, from one process at a time.
   */
  async function sendWaiting(subscription: Subscription): Promise<"sent" | "none" | "elsewhere"> {
    if (sentResumeTimeMs === resumeTimeMs) return "none";
    const [nowUs, upToUs] = [now() * 1000, resumeTimeMs * 1000];
    if (!(await queue.hasUntried(uid, upToUs))) {
      if (now() > resumeTimeMs + fanOutMs) sentResumeTimeMs = resumeTimeMs;
      return "none";
    }
    const untilUs = nowUs + leaseMs * 1000;
    const leased = await queue.leaseUntried({ partition: uid, nowUs, untilUs, upToUs, limit: leasedInOrder });
    if (leased.length === 0) return "elsewhere";
    await send(leased, subscription, 1);
    await settlements.flush(); // an entry that is not settled would keep the next ones from being leased
    return "sent";
  }

  async function sendDue(): Promise<void> {
    while (isReady()) {
      const subscription = await subscriptions.get(uid);
      if (subscription === undefined) return dropAll();
      if (subscription.isPaused) return;
      ({ resumeTimeMs } = subscription);
      const waiting = await sendWaiting(subscription);
      if (waiting === "elsewhere") return;
      if (waiting === "sent") continue;
      const limit = concurrency === 1 ? 1 : concurrency * leasedPerConcurrent;
      const nowUs = now() * 1000;
      const leased = await queue.lease({ partition: uid, nowUs, untilUs: nowUs + leaseMs * 1000, limit });
      if (leased.length === 0) return;
      await send(leased, subscription, concurrency);
    }
    if (!isStopped && now() >= resumeTimeMs + deliveryLifeMs) await queue.expire(uid, now() * 1000, batchSize);
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
