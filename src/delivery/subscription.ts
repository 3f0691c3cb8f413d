/** What delivery needs to know about subscriptions. The events service implements it. */
import type { ReadSession } from "../store/index.ts";
import { ancestorsOf } from "../uid.ts";

/** A subscription as its deliveries need it. */
export interface Subscription {
  readonly uid: string;
  /** URL that events are posted to. */
  readonly sink: string;
  /** `whsec_` and base64. */
  readonly signingSecret: string;
}

/** The subscriptions of a database. */
export interface SubscriptionSource {
  /** The enabled subscriptions directly in these groups, with their creation times in milliseconds since 1970. */
  inGroups(groups: readonly string[]): Promise<readonly { readonly uid: string; readonly createTimeMs: number }[]>;
  /** undefined if it is disabled or deleted. Called before every batch of deliveries and once a second. */
  get(uid: string): Promise<Subscription | undefined>;
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
