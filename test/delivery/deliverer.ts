/** A dispatcher for tests: with subscriptions in memory, hand-made events and a clock that can be moved. */
import { onTestFinished } from "vitest";
import {
  type Delivery,
  Dispatcher,
  type DispatcherOptions,
  dropDeliveries,
  type HasSubscriptions,
  type NewEvent,
  readDeliveries,
  recordEvent,
  type Subscriber,
  type Subscription,
  type SubscriptionSource,
} from "../../src/delivery/index.ts";
import { newUid } from "../../src/new-uid.ts";
import type { Database } from "../../src/store/index.ts";
import { parentOf } from "../../src/uid.ts";

export const secret = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`;

/** Subscriptions in memory. */
export interface TestSubscriptions extends SubscriptionSource {
  /** Adds a subscription to a group. Returns its uid. */
  add(group: string, sink: string, createTimeMs?: number): string;
  /** Changes a subscription. */
  change(uid: string, change: Partial<Subscription & Subscriber>): void;
  remove(uid: string): void;
  readonly disabled: Map<string, number>;
  readonly hasAny: HasSubscriptions;
}

export function createSubscriptions(): TestSubscriptions {
  const all = new Map<string, Subscription & Subscriber>();
  const disabled = new Map<string, number>();
  return {
    disabled,
    hasAny: async (_, groups) => [...all.keys()].some((uid) => groups.includes(parentOf(uid))),
    add(group, sink, createTimeMs = 0) {
      const uid = newUid(group);
      all.set(uid, {
        uid,
        sink,
        signingSecrets: [secret],
        isPaused: false,
        resumeTimeMs: 0,
        createTimeMs,
        eventTypes: [],
      });
      return uid;
    },
    change: (uid, change) => void all.set(uid, { ...all.get(uid)!, ...change }),
    remove: (uid) => void all.delete(uid),
    inGroups: async (groups) =>
      [...all.values()].filter(({ uid }) => groups.includes(parentOf(uid)) && !disabled.has(uid)),
    get: async (uid) => (disabled.has(uid) ? undefined : all.get(uid)),
    pausedAmong: async (uids) => new Set(uids.filter((uid) => all.get(uid)?.isPaused)),
    disable: async (uid, nowMs) => void disabled.set(uid, nowMs),
  };
}

/** Returns the request as the token. */
export const sign: DispatcherOptions["sign"] = async (request) => JSON.stringify(request);

/** An event about a new resource in a group. */
export function eventIn(group: string, more: Partial<NewEvent> = {}): NewEvent {
  return {
    timeMs: Date.now(),
    type: "dev.platform.api.iam.group.created.v1",
    source: "https://platform.example.com/iam/v2/groups",
    subject: newUid(group),
    extensions: { group },
    data: '{"actor":{"subject":"é"},"body":{}}',
    ...more,
  };
}

/** Dispatchers on a database. They stop with the test. */
export function createDeliverer(database: Database, options: Partial<DispatcherOptions> = {}) {
  const subscriptions = createSubscriptions();
  const dispatchers: Dispatcher[] = [];
  onTestFinished(async () => {
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.stop()));
  });
  const reports: unknown[] = [];
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  return {
    subscriptions,
    reports,
    now,
    /** Advances the clock. */
    pass(ms: number) {
      aheadMs += ms;
    },
    start(more: Partial<DispatcherOptions> = {}): Dispatcher {
      const report = (error: unknown) => void reports.push(error);
      const all = { database, subscriptions, sign, allowLoopbackSinks: true, now, report, ...options, ...more };
      const dispatcher = new Dispatcher(all);
      dispatchers.push(dispatcher);
      return dispatcher;
    },
    async record(...events: NewEvent[]): Promise<void> {
      await database.transact(async (session) => {
        for (const event of events) await recordEvent(session, event, subscriptions.hasAny);
      });
      for (const dispatcher of dispatchers) dispatcher.wake();
    },
    /** Deletes a subscription, as the service does. */
    async unsubscribe(uid: string): Promise<void> {
      subscriptions.remove(uid);
      await database.transact((session) => dropDeliveries(session, uid));
    },
    async deliveries(filter: Parameters<typeof readDeliveries>[1] = {}): Promise<Delivery[]> {
      const all: Delivery[] = [];
      for await (const delivery of readDeliveries(database, filter)) all.push(delivery);
      return all;
    },
  };
}
