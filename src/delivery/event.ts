/** Events: recorded in the transaction of a change, and read when they are delivered. */
import { randomUUIDv7 } from "node:crypto";
import type { LogEntry, LogSpec, ReadSession, WriteSession } from "../store/index.ts";
import { readTraceContext, type TraceContext, traceFields } from "../trace-context.ts";
import { deliveriesQueue, fanOutPartition } from "./deliveries.ts";
import { deliveryLifeMs } from "./retry.ts";
import { groupsNotifiedOf, type HasSubscriptions } from "./subscription.ts";

/** An event, in the terms of CloudEvents 1.0. */
export interface Event {
  /**
   * A UUID, the same in every delivery and attempt. Generated ids are of version 7, so that indexes grow at their end.
   */
  readonly id: string;
  /** When it was recorded, in milliseconds since 1970. */
  readonly timeMs: number;
  /** `dev.platform.api.iam.group.created.v1`. */
  readonly type: string;
  /** URL of the API method that made the change: `https://platform.example.com/iam/v2/groups`. */
  readonly source: string;
  /** uid of the changed resource. The subscriptions of every group at or above it receive the event. */
  readonly subject: string;
  /** Extension attributes by name. */
  readonly extensions: Readonly<Record<string, string>>;
  /** JSON text, exactly as it is delivered. */
  readonly data: string;
}

/**
 * The extension attributes of an event that a call has caused (CloudEvents' extension for distributed tracing), and the
 * baggage, which is no attribute and is delivered as a header field.
 */
export function traceExtensions(trace: TraceContext | undefined): Record<string, string> {
  if (trace === undefined) return {};
  return { ...traceFields(trace), ...(trace.baggage !== "" && { baggage: trace.baggage }) };
}

/** The trace of the call that has caused an event; undefined if it was part of none. */
export function traceOf({ extensions }: Event): TraceContext | undefined {
  const { baggage = "" } = extensions;
  const trace = readTraceContext({ get: (name) => extensions[name] ?? null });
  return trace && { ...trace, baggage };
}

const eventLog: LogSpec = {
  name: "events",
  columns: { type: "text", source: "text", subject: "text", extensions: "text", data: "text" },
};

/** An event to record. Its id is generated unless it is given. */
export type NewEvent = Omit<Event, "id"> & { readonly id?: string };

/**
 * Records an event in the transaction of its change. It is queued for delivery only if a group that is notified has a
 * subscription.
 */
export async function recordEvent(
  session: WriteSession,
  event: NewEvent,
  hasSubscriptions: HasSubscriptions,
): Promise<void> {
  const { id = randomUUIDv7(), timeMs, extensions, ...columns } = event;
  const timeUs = timeMs * 1000;
  await session.append(eventLog, { timeUs, id, columns: { ...columns, extensions: JSON.stringify(extensions) } });
  if (!(await hasSubscriptions(session, groupsNotifiedOf(event.subject)))) return;
  const expireUs = timeUs + deliveryLifeMs * 1000;
  await session.enqueue(deliveriesQueue, [{ partition: fanOutPartition, id, timeUs, expireUs }]);
}

/** Events by id; those that do not exist are left out. */
export async function readEvents(session: ReadSession, ids: readonly string[]): Promise<Map<string, Event>> {
  const entries = await session.find(eventLog, ids);
  return new Map([...entries].map(([id, entry]) => [id, eventOf(entry)]));
}

/** Deletes up to `limit` events recorded before `beforeMs`. Returns how many. */
export function forgetEvents(session: WriteSession, beforeMs: number, limit: number): Promise<number> {
  return session.forget(eventLog, beforeMs * 1000, limit);
}

/** When the oldest event was recorded, in milliseconds since 1970; undefined if there is none. */
export async function oldestEventMs(session: ReadSession): Promise<number | undefined> {
  const [oldest] = await session.scan(eventLog, { limit: 1 });
  return oldest && oldest.timeUs / 1000;
}

function eventOf({ id, timeUs, columns }: LogEntry): Event {
  const { extensions, ...texts } = columns as Record<"extensions" | "type" | "source" | "subject" | "data", string>;
  return { id, timeMs: timeUs / 1000, ...texts, extensions: JSON.parse(extensions) };
}
