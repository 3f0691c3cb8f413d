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
 * baggage, which is not an attribute and is delivered as a header field.
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

const eventHeads: LogSpec = { name: "events", columns: { type: "text", source: "text", subject: "text" } };

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
  const id = await appendEvent(session, event);
  if (await hasSubscriptions(session, groupsNotifiedOf(event.subject)))
    await enqueueEvent(session, fanOutPartition, id, event.timeMs);
}

/** Records an event for one subscription, whatever its filter. Returns the id of the event. */
export async function recordEventFor(session: WriteSession, subscription: string, event: NewEvent): Promise<string> {
  const id = await appendEvent(session, event);
  await enqueueEvent(session, subscription, id, event.timeMs);
  return id;
}

async function appendEvent(session: WriteSession, event: NewEvent): Promise<string> {
  const { id = randomUUIDv7(), timeMs, extensions, ...columns } = event;
  const entry = { timeUs: timeMs * 1000, id, columns: { ...columns, extensions: JSON.stringify(extensions) } };
  await session.append(eventLog, entry);
  return id;
}

async function enqueueEvent(session: WriteSession, partition: string, id: string, timeMs: number): Promise<void> {
  const expireUs = (timeMs + deliveryLifeMs) * 1000;
  await session.enqueue(deliveriesQueue, [{ partition, id, timeUs: timeMs * 1000, expireUs }]);
}

/** Events by id; those that do not exist are left out. */
export async function readEvents(session: ReadSession, ids: readonly string[]): Promise<Map<string, Event>> {
  const entries = await session.find(eventLog, ids);
  return new Map([...entries].map(([id, entry]) => [id, eventOf(entry)]));
}

/** What a listing shows of an event. */
export type EventHead = Pick<Event, "type" | "source" | "subject">;

/** The same without their data. */
export async function readEventHeads(session: ReadSession, ids: readonly string[]): Promise<Map<string, EventHead>> {
  const entries = await session.find(eventHeads, ids);
  return new Map([...entries].map(([id, { columns }]) => [id, columns as Record<keyof EventHead, string>]));
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
