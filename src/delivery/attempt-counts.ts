/**
 * Counts the attempts of this process to deliver, and the deliveries that wait. No label has a value of a tenant's
 * choice.
 */
import type { Database } from "../store/index.ts";
import { deliveriesQueue, fanOutPartition } from "./deliveries.ts";
import type { Attempt } from "./sink.ts";
import type { SubscriptionSource } from "./subscription.ts";

/** A count by labels. */
export interface LabelledCount {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** How many subscriptions are counted by their uid; all others are one. */
const maxSubscriptions = 20;
/** The label of all others. */
export const otherSubscriptions = "other";
const fanOutName = "fan-out";

/** Attempts by result and subscription: the first subscriptions that there was an attempt for have their uid. */
export class AttemptCounts {
  readonly #subscriptions = new Set<string>();
  readonly #counts = new Map<string, { readonly labels: LabelledCount["labels"]; value: number }>();

  count({ result }: Attempt, uid: string): void {
    if (this.#subscriptions.size < maxSubscriptions) this.#subscriptions.add(uid);
    const subscription = this.#subscriptions.has(uid) ? uid : otherSubscriptions;
    const labels = { result: classOf(result), subscription };
    const key = `${labels.result} ${subscription}`;
    const known = this.#counts.get(key) ?? { labels, value: 0 };
    known.value++;
    this.#counts.set(key, known);
  }

  get counts(): readonly LabelledCount[] {
    return [...this.#counts.values()];
  }
}

/** Deliveries in the database by state, for the subscriptions with the most of them. */
export async function depthsOfDeliveries(database: Database): Promise<readonly LabelledCount[]> {
  const queue = database.queue(deliveriesQueue);
  const counts: LabelledCount[] = [];
  for (const state of ["pending", "dead"] as const)
    for (const [subscription, value] of largest(await queue.depths(state)))
      counts.push({ labels: { state, subscription }, value });
  return counts;
}

/**
 * How long ago the event of the oldest pending delivery was recorded, in seconds; 0 when none is. What waits for a
 * paused subscription does not count.
 */
export async function oldestPendingSeconds(
  database: Database,
  subscriptions: Pick<SubscriptionSource, "pausedAmong">,
  nowMs: number,
): Promise<number> {
  const oldest = await database.queue(deliveriesQueue).oldestPending();
  const paused = await subscriptions.pausedAmong(oldest.map(({ partition }) => partition));
  const times = oldest.filter(({ partition }) => !paused.has(partition)).map(({ timeUs }) => timeUs);
  return times.reduce((seconds, timeUs) => Math.max(seconds, nowMs / 1000 - timeUs / 1e6), 0);
}

/**
 * The counts of the largest partitions, then the sum of all others. Events that wait for fan-out have their own name.
 */
function largest(
  depths: readonly { readonly partition: string; readonly count: number }[],
): readonly (readonly [string, number])[] {
  const counts = depths.map(
    ({ partition, count }) => [partition === fanOutPartition ? fanOutName : partition, count] as const,
  );
  const sorted = counts.toSorted(([, a], [, b]) => b - a);
  const rest = sorted.slice(maxSubscriptions).reduce((sum, [, count]) => sum + count, 0);
  return [...sorted.slice(0, maxSubscriptions), [otherSubscriptions, rest]];
}

/** `2xx` for `204`; a result that is not a status is returned as is. */
function classOf(result: string): string {
  return /^\d{3}$/.test(result) ? `${result[0]}xx` : result;
}
