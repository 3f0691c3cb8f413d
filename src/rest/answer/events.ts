/**
 * Server-sent events (HTML, section 9.2): how a stream is written for `text/event-stream`.
 *
 * A browser asks again whenever a connection has ended, with the id of the last event in `Last-Event-ID`. The last
 * event of a call that has ended, well or not, has the id `end`: a request with it is answered 204, after which a
 * browser does not ask again. Other ids are for the service, which may go on behind them.
 */
import type { Message } from "@bufbuild/protobuf";
import { type HttpRequest, headerOf } from "../../message/index.ts";
import type { RestMethod } from "../binding.ts";

/** How events are written. */
export interface EventOptions {
  /**
   * The id of the event of a message: visible ASCII characters, not `end`; undefined for none. Default: the number of
   * the message in its answer, from 1.
   */
  id?(message: Message, method: RestMethod): string | undefined;
  /** Milliseconds after which a browser that has lost its connection asks again; default 3,000. */
  readonly retryMs?: number | undefined;
  /** Milliseconds without a message after which a comment is sent; default 15,000. */
  readonly keepAliveMs?: number | undefined;
}

const lastId = "end";

/** Whether a request asks for what comes after the end of a call. */
export function isPastEnd(request: HttpRequest): boolean {
  return headerOf(request, "last-event-id") === lastId;
}

/** A comment, which clients skip. */
export const comment = ":\n\n";

/** The field that sets the time to reconnect. It is not an event. */
export function retryField({ retryMs = 3000 }: EventOptions): string {
  return `retry: ${retryMs}\n\n`;
}

/** The event of a message. `number`: of the message, from 1. Errors: a plain Error for an id that no event may have. */
export function messageEvent(
  json: string,
  message: Message,
  number: number,
  method: RestMethod,
  options: EventOptions,
) {
  const id = options.id === undefined ? String(number) : options.id(message, method);
  if (id === undefined) return `data: ${json}\n\n`;
  if (id === lastId || !/^[\x21-\x7e]+$/.test(id)) throw new Error(`events.id: ${JSON.stringify(id)} is not an id`);
  return `id: ${id}\ndata: ${json}\n\n`;
}

/** The last event: `end`, or `error` with the JSON of an error. */
export function lastEvent(error: string | undefined): string {
  return `id: ${lastId}\nevent: ${error === undefined ? "end" : "error"}\ndata: ${error ?? "{}"}\n\n`;
}
