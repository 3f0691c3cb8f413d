/** What delivery has to know of subscriptions; the events service implements it. */

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
