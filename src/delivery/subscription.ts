/** What delivery needs to know about subscriptions. The events service implements it. */
import type { ReadSession } from "../store/index.ts";
import { ancestorsOf } from "../uid.ts";

/** A subscription as its deliveries need it. */
export interface Subscription {
  readonly uid: string;
  /** URL that events are posted to. */
  readonly sink: string;
  /** The secrets that sign, the current one first: `whsec_` and base64. */
  readonly signingSecrets: readonly string[];
  /** Whether its events wait until it is resumed. */
  readonly isPaused: boolean;
  /** When it was last resumed, in milliseconds since 1970; 0 for never. */
  readonly resumeTimeMs: number;
}

/** A subscription as fan-out needs it. */
export interface Subscriber {
  readonly uid: string;
  /** Milliseconds since 1970. */
  readonly createTimeMs: number;
  /** The types of events that it receives, see {@link matchesType}. None: all. */
  readonly eventTypes: readonly string[];
}

/** The subscriptions of a database. */
export interface SubscriptionSource {
  /** The enabled subscriptions directly in these groups. */
  inGroups(groups: readonly string[]): Promise<readonly Subscriber[]>;
  /** undefined if it is disabled or deleted. Called before every batch of deliveries and once a second. */
  get(uid: string): Promise<Subscription | undefined>;
  /** Those of these subscriptions that are paused. */
  pausedAmong(uids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Disables a subscription whose sink answered 410. Does nothing if it no longer exists. */
  disable(uid: string, nowMs: number): Promise<void>;
}

/** Whether any of these groups has a subscription, enabled or not, as a transaction sees it. */
export type HasSubscriptions = (session: ReadSession, groups: readonly string[]) => Promise<boolean>;

/** The groups whose subscriptions receive events about `subject`: every group above it, and itself if it is a group. */
export function groupsNotifiedOf(subject: string): string[] {
  return subject === "" ? [] : [...ancestorsOf(subject), subject];
}

/** Whether a type of events is the one that a pattern names, or begins with what is before the `*` at its end. */
export function matchesType(pattern: string, type: string): boolean {
  return pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

/** Whether a subscription receives events of a type. */
export function receives({ eventTypes }: Subscriber, type: string): boolean {
  return eventTypes.length === 0 || eventTypes.some((pattern) => matchesType(pattern, type));
}
