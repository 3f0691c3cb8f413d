/** What delivery has to know of subscriptions; the events service implements it. */
import type { Eventually } from "../eventually.ts";
import type { ReadSession } from "../store/index.ts";
import { ancestorsOf } from "../uid.ts";

/** A subscription as its deliveries need it. */
export interface Subscription {
  readonly uid: string;
  /** The address that events are posted to. */
  readonly sink: string;
  /** `whsec_` and base64. */
  readonly signingSecret: string;
}

/** The subscriptions of a database. */
export interface SubscriptionSource {
  /** The enabled subscriptions directly in these groups, and when each was made, in milliseconds since 1970. */
  inGroups(groups: readonly string[]): Promise<readonly { readonly uid: string; readonly createTimeMs: number }[]>;
  /** undefined when it is disabled or gone. Asked for before every few deliveries and once a second. */
  get(uid: string): Promise<Subscription | undefined>;
  /** Disables one whose sink is gone for good; no matter whether it still exists. */
  disable(uid: string, nowMs: number): Promise<void>;
}

/** Whether any of these groups has a subscription, enabled or not, as a transaction sees it. */
export type HasSubscriptions = (session: ReadSession, groups: readonly string[]) => Eventually<boolean>;

/** Where the subscriptions are that hear of `subject`: in it, if it is a group, and in every group above. */
export function placesHeardIn(subject: string): string[] {
  return subject === "" ? [] : [...ancestorsOf(subject), subject];
}
