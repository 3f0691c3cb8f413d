/** Events: what is recorded of a change, in the transaction of the change, and read again when it is delivered. */
import { randomUUIDv7 } from "node:crypto";
import type { LogEntry, LogSpec, ReadSession, WriteSession } from "../store/index.ts";
import { deliveriesQueue, fanOutLane } from "./deliveries.ts";
import { deliveryLifeMs } from "./retry.ts";
import { type HasSubscriptions, placesHeardIn } from "./subscription.ts";

/** An event, in the terms of CloudEvents 1.0. */
export interface Event {
  /** A UUID, the same at every attempt and in every delivery. Those that are drawn here are of version 7: indexes grow at their end. */
  readonly id: string;
  /** When it was recorded, in milliseconds since 1970. */
  readonly timeMs: number;
  /** `dev.platform.api.iam.group.created.v1`. */
  readonly type: string;
  /** Where the change was asked for: `https://platform.example.com/iam/v2/groups`. */
  readonly source: string;
  /** uid of what has changed. It decides who receives it: the subscriptions of every group at or above it. */
  readonly subject: string;
  /** Extension attributes by name. */
  readonly extensions: Readonly<Record<string, string>>;
  /** JSON text, exactly as it is delivered. */
  readonly data: string;
}

const eventLog: LogSpec = {
  name: "events",
  columns: { type: "text", source: "text", subject: "text", extensions: "text", data: "text" },
};

/** An event on its way into the record; its id is drawn, unless it has one that is known elsewhere. */
export type NewEvent = Omit<Event, "id"> & { readonly id?: string };

/**
 * Records an event in the transaction of its change. The dispatcher finds it once that is committed; where nobody has subscribed before, there is
 * nothing to find.
 */
export async function recordEvent(
  session: WriteSession,
  event: NewEvent,
  hasSubscriptions: HasSubscriptions,
): Promise<void> {
  const { id = randomUUIDv7(), timeMs, extensions, ...columns } = event;
  const timeUs = timeMs * 1000;
  await session.append(eventLog, { timeUs, id, columns: { ...columns, extensions: JSON.stringify(extensions) } });
  if (!(await hasSubscriptions(session, placesHeardIn(event.subject)))) return;
  await session.enqueue(deliveriesQueue, [{ lane: fanOutLane, id, timeUs, expireUs: timeUs + deliveryLifeMs * 1000 }]);
}

/** The events that exist, by id. */
export async function readEvents(session: ReadSession, ids: readonly string[]): Promise<Map<string, Event>> {
  const entries = await session.find(eventLog, ids);
  return new Map([...entries].map(([id, entry]) => [id, eventOf(entry)]));
}

/** Drops some of the events recorded before `beforeMs`; how many. */
export function forgetEvents(session: WriteSession, beforeMs: number, limit: number): Promise<number> {
  return session.forget(eventLog, beforeMs * 1000, limit);
}

/** When the oldest event was recorded, in milliseconds since 1970; undefined when there is none. */
export async function oldestEventMs(session: ReadSession): Promise<number | undefined> {
  const [oldest] = await session.scan(eventLog, { limit: 1 });
  return oldest && oldest.timeUs / 1000;
}

function eventOf({ id, timeUs, columns }: LogEntry): Event {
  const { extensions, ...texts } = columns as Record<"extensions" | "type" | "source" | "subject" | "data", string>;
  return { id, timeMs: timeUs / 1000, ...texts, extensions: JSON.parse(extensions) };
}
