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

/** What a {@link SubscriptionWorker} needs. */
export interface SubscriptionWorkerOptions {
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

/** Delivers the events of one subscription, in one process. Its sink has not been tried yet. */
export class SubscriptionWorker {
  readonly #options: SubscriptionWorkerOptions;
  #concurrency = 1;
  #failures = 0;
  #backOffUntilMs = 0;
  /** The last resumption that is known to this worker. */
  #resumeTimeMs = 0;
  /** The resumption whose waiting events have all been sent. */
  #sentResumeTimeMs = 0;
  #isGone = false;
  #isStopped = false;
  #isClosed = false;

  constructor(options: SubscriptionWorkerOptions) {
    this.#options = options;
  }

  /** Whether it is neither stopped nor backing off. */
  isReady(): boolean {
    return !this.#isStopped && this.#options.now() >= this.#backOffUntilMs;
  }

  /** Sends due deliveries until there are none, the worker backs off, or it is stopped. Not reentrant. */
  async run(): Promise<void> {
    this.#isGone = false;
    try {
      await this.#sendDue();
    } catch (error) {
      this.#backOffUntilMs = this.#options.now() + errorBackOffMs;
      throw error;
    }
  }

  /** Starts no further deliveries; those in progress finish. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Aborts the deliveries in progress; they become due again, with no attempt counted. */
  close(): void {
    this.#isClosed = true;
    this.#options.sink.close();
  }

  /** Makes a leased delivery due again, with no attempt counted. */
  #release(entry: QueueEntry): void {
    const { settlements, now } = this.#options;
    settlements.settle(entry, { state: "pending", dueUs: now() * 1000 });
  }

  async #attempt(entry: QueueEntry, event: Event, subscription: Subscription): Promise<void> {
    const { uid, settlements, subscriptions, sink, onAttempt, now } = this.#options;
    const failuresBefore = this.#failures;
    const [timeMs, began] = [now(), performance.now()];
    const attempted = await sink.post(event, subscription);
    const durationMs = Math.round(performance.now() - began);
    if (this.#isClosed && attempted.outcome === "failed") return this.#release(entry);
    onAttempt(attempted);
    const { outcome, result, retryAfterMs } = attempted;
    const [nowMs, attempts] = [now(), entry.attempts + 1];
    const history = withAttempt(entry.history, { timeMs, durationMs, result });
    const tried = { attempts, triedUs: nowMs * 1000, result, history };
    if (outcome === "delivered") {
      [this.#concurrency, this.#failures] = [Math.min(this.#concurrency + 1, maxConcurrency), 0];
      return settlements.settle(entry, { state: "done", ...tried });
    }
    this.#concurrency = 1;
    this.#failures = Math.max(this.#failures, failuresBefore + 1); // concurrent failures count once
    if (outcome === "gone") {
      this.#isGone = true;
      settlements.settle(entry, { state: "dead", ...tried });
      await settlements.flush(); // before pending deliveries are dropped
      return subscriptions.disable(uid, nowMs);
    }
    if (this.#failures >= failuresBeforeBackOff) {
      const backOffMs = Math.min(firstBackOffMs * 2 ** (this.#failures - failuresBeforeBackOff), maxBackOffMs);
      this.#backOffUntilMs = nowMs + backOffMs * (0.5 + Math.random() / 2);
    }
    const expireMs = Math.max(entry.expireUs / 1000, this.#resumeTimeMs + deliveryLifeMs);
    if (nowMs >= expireMs) return settlements.settle(entry, { state: "dead", ...tried });
    const dueMs = Math.min(nowMs + retryDelayMs(attempts, retryAfterMs), expireMs);
    settlements.settle(entry, { state: "pending", dueUs: Math.round(dueMs * 1000), ...tried });
  }

  /** Sends the leased deliveries, `width` of them at once. */
  async #send(leased: readonly QueueEntry[], initial: Subscription, width: number): Promise<void> {
    const { uid, queue, subscriptions, rateLimit, attemptTimeoutMs, eventsOf, now } = this.#options;
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
        else if (
          subscription === undefined ||
          subscription.isPaused ||
          this.#isGone ||
          isLeaseTooShort ||
          !this.isReady()
        )
          this.#release(entry);
        else await this.#attempt(entry, event, subscription);
      }
    };
    const results = await Promise.allSettled(Array.from({ length: Math.min(width, leased.length) }, sendNext));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /**
   * Sends some of the events that waited until the subscription was resumed: one after the other, in the order of their
   * times, from one process at a time.
   */
  async #sendWaiting(subscription: Subscription): Promise<"sent" | "none" | "elsewhere"> {
    const { uid, queue, settlements, now } = this.#options;
    if (this.#sentResumeTimeMs === this.#resumeTimeMs) return "none";
    const [nowUs, upToUs] = [now() * 1000, this.#resumeTimeMs * 1000];
    if (!(await queue.hasUntried(uid, upToUs))) {
      if (now() > this.#resumeTimeMs + fanOutMs) this.#sentResumeTimeMs = this.#resumeTimeMs;
      return "none";
    }
    const untilUs = nowUs + leaseMs * 1000;
    const leased = await queue.leaseUntried({ partition: uid, nowUs, untilUs, upToUs, limit: leasedInOrder });
    if (leased.length === 0) return "elsewhere";
    await this.#send(leased, subscription, 1);
    await settlements.flush(); // an entry that is not settled would keep the next ones from being leased
    return "sent";
  }

  async #sendDue(): Promise<void> {
    const { uid, queue, subscriptions, now } = this.#options;
    while (this.isReady()) {
      const subscription = await subscriptions.get(uid);
      if (subscription === undefined) return this.#dropAll();
      if (subscription.isPaused) return;
      this.#resumeTimeMs = subscription.resumeTimeMs;
      const waiting = await this.#sendWaiting(subscription);
      if (waiting === "elsewhere") return;
      if (waiting === "sent") continue;
      const limit = this.#concurrency === 1 ? 1 : this.#concurrency * leasedPerConcurrent;
      const nowUs = now() * 1000;
      const leased = await queue.lease({ partition: uid, nowUs, untilUs: nowUs + leaseMs * 1000, limit });
      if (leased.length === 0) return;
      await this.#send(leased, subscription, this.#concurrency);
    }
    if (!this.#isStopped && now() >= this.#resumeTimeMs + deliveryLifeMs)
      await queue.expire(uid, now() * 1000, batchSize);
  }

  async #dropAll(): Promise<void> {
    const { uid, queue } = this.#options;
    while ((await queue.removePending(uid, batchSize)) === batchSize);
  }
}
