/**
 * One subscription's deliveries. A lane keeps its sink's faults to itself:
 *
 * - A sink that has shown nothing yet is sent one event at a time; each one that it takes lets one more be under way, up to 16, and one that fails
 *   sets it back to one.
 * - After three failures in a row the lane rests, longer each time, up to a minute; then one event is tried. Resting costs the events no attempt.
 * - A delivery that has failed comes back at a time of its own (`retry.ts`). Once its 24 hours are over it is dead; while a sink rests, so is what has
 *   waited for it that long.
 *
 * A lane asks for its subscription before it sends, and again every second, so that nothing more is sent for one that is gone.
 */
import type { Queue, QueueEntry } from "../store/index.ts";
import type { Event } from "./event.ts";
import type { Pace } from "./pace.ts";
import { retryDelayMs } from "./retry.ts";
import type { Settler } from "./settler.ts";
import type { Attempt, Sink } from "./sink.ts";
import type { Subscription, SubscriptionSource } from "./subscription.ts";

/** The deliveries of one subscription, as one process works on them. */
export interface Lane {
  /** Sends what is due; ends when there is no more, the lane rests, or it is stopped. One run at a time. */
  run(): Promise<void>;
  /** Whether the sink may be tried now. */
  isReady(): boolean;
  /** Begins nothing more; what is under way is finished. */
  stop(): void;
  /** Ends what is under way; its deliveries come back as if never tried. */
  close(): void;
}

/** What {@link createLane} needs. */
export interface LaneOptions {
  /** uid of the subscription. */
  readonly uid: string;
  readonly queue: Queue;
  readonly settler: Settler;
  readonly subscriptions: SubscriptionSource;
  readonly sink: Sink;
  readonly pace: Pace;
  readonly attemptTimeoutMs: number;
  /** The events that exist, by id. */
  eventsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Event>>;
  /** Told of every attempt. */
  onAttempt(attempt: Attempt): void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const maxWindow = 16;
/** Leased at once for each that may be under way; more would lie here while others could send them. */
const leasedPerWindow = 4;
const leaseMs = 60_000;
const maxKnownMs = 1000;
const failuresBeforeRest = 3;
const firstRestMs = 1000;
const maxRestMs = 60_000;
/** After an error of our own, which is not the sink's and no attempt. */
const restAfterErrorMs = 10_000;
const batchSize = 200;

/** A lane whose sink has shown nothing yet. */
export function createLane(options: LaneOptions): Lane {
  const { uid, queue, settler, subscriptions, sink, pace, attemptTimeoutMs, eventsOf, onAttempt, now } = options;
  let window = 1;
  let failures = 0;
  let restUntilMs = 0;
  let isGone = false;
  let isStopped = false;
  let isClosed = false;

  const isReady = () => !isStopped && now() >= restUntilMs;

  /** Gives an entry back untried. */
  function release(entry: QueueEntry): void {
    settler.settle(entry, { state: "pending", dueUs: now() * 1000 });
  }

  async function attempt(entry: QueueEntry, event: Event, subscription: Subscription): Promise<void> {
    const failuresBefore = failures;
    const attempted = await sink.post(event, subscription);
    if (isClosed && attempted.outcome === "failed") return release(entry);
    onAttempt(attempted);
    const { outcome, result, retryAfterMs } = attempted;
    const [nowMs, attempts] = [now(), entry.attempts + 1];
    const tried = { attempts, triedUs: nowMs * 1000, result };
    if (outcome === "delivered") {
      [window, failures] = [Math.min(window + 1, maxWindow), 0];
      return settler.settle(entry, { state: "done", ...tried });
    }
    window = 1;
    failures = Math.max(failures, failuresBefore + 1); // those that were under way together count once
    if (outcome === "gone") {
      isGone = true;
      settler.settle(entry, { state: "dead", ...tried });
      await settler.flush(); // before what is pending is dropped
      return subscriptions.disable(uid, nowMs);
    }
    if (failures >= failuresBeforeRest) {
      const restMs = Math.min(firstRestMs * 2 ** (failures - failuresBeforeRest), maxRestMs);
      restUntilMs = nowMs + restMs * (0.5 + Math.random() / 2);
    }
    const expireMs = entry.expireUs / 1000;
    if (nowMs >= expireMs) return settler.settle(entry, { state: "dead", ...tried });
    const dueMs = Math.min(nowMs + retryDelayMs(attempts, retryAfterMs), expireMs);
    settler.settle(entry, { state: "pending", dueUs: Math.round(dueMs * 1000), ...tried });
  }

  /** Sends what has been leased, so many at a time as the sink has earned. */
  async function send(leased: readonly QueueEntry[], known: Subscription): Promise<void> {
    const events = await eventsOf(leased.map(({ id }) => id));
    const waiting = [...leased];
    let subscription: Subscription | undefined = known;
    let askedMs = now();
    const next = async (): Promise<void> => {
      for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
        const event = events.get(entry.id);
        await pace.turn();
        if (now() - askedMs > maxKnownMs) {
          subscription = await subscriptions.get(uid);
          askedMs = now();
        }
        const isLate = now() + attemptTimeoutMs > entry.dueUs / 1000;
        if (event === undefined) await queue.remove(uid, [entry.id]);
        else if (subscription === undefined || isGone || isLate || !isReady()) release(entry);
        else await attempt(entry, event, subscription);
      }
    };
    const all = await Promise.allSettled(Array.from({ length: Math.min(window, leased.length) }, next));
    for (const one of all) if (one.status === "rejected") throw one.reason;
  }

  async function sendDue(): Promise<void> {
    while (isReady()) {
      const subscription = await subscriptions.get(uid);
      if (subscription === undefined) return dropAll();
      const limit = window === 1 ? 1 : window * leasedPerWindow;
      const nowUs = now() * 1000;
      const leased = await queue.lease({ lane: uid, nowUs, untilUs: nowUs + leaseMs * 1000, limit });
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
        restUntilMs = now() + restAfterErrorMs;
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
