/**
 * Server streams as one HTTP response.
 *
 * | Accept                 | body                                                 | an error after the first message |
 * |------------------------|------------------------------------------------------|----------------------------------|
 * | `application/x-ndjson` | one message a line                                   | a last line `{"error": Status}`  |
 * | `text/event-stream`    | events, the last one `end`; comments between         | a last event `error`             |
 * | otherwise              | a JSON array                                         | a last item `{"error": Status}`  |
 * | (google.api.HttpBody)  | the data of all messages, with the first one's type  | after the data before it, the    |
 * |                        |                                                      | connection is aborted            |
 *
 * The head is sent with the first message, so an error before it is an ordinary error response; that of events is sent
 * with the first comment, if it comes before. The next message is requested only when the client has accepted the last.
 */

import { once } from "node:events";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { DescField, Message, Registry } from "@bufbuild/protobuf";
import { createJsonFieldWriter, fieldName, type JsonFormat, type MessageParts } from "../../codec/index.ts";
import { breakOff, isGone, isOver, joinVary, type PortResponse } from "../../message/index.ts";
import type { RestMethod } from "../binding.ts";
import { comment, type EventOptions, lastEvent, messageEvent, retryField } from "./events.ts";
import type { StreamPayload } from "./payload.ts";

/** The media types a stream of JSON can have, the preferred first. */
export const streamTypes = ["application/json", "application/x-ndjson", "text/event-stream"] as const;

/** A media type of streams of JSON. */
export type StreamType = (typeof streamTypes)[number];

/** How messages are separated. */
interface Framing {
  readonly start: string;
  /** `number`: of the message, from 1. */
  message(json: string, message: Message, number: number): string;
  /** What comes after `count` messages and perhaps an error. */
  end(count: number, error: ErrorText | undefined): string;
  /** What is sent when no message has come for some time; undefined for nothing. */
  readonly keepAlive?: { readonly text: string; readonly afterMs: number };
}

/** The JSON of an error, and the object with the member `error` that stands for it among messages. */
interface ErrorText {
  readonly bare: string;
  readonly wrapped: string;
}

const array: Framing = {
  start: "[",
  message: (json, _, number) => (number === 1 ? json : `,${json}`),
  end: (count, error) => (error === undefined ? "]" : `${count === 0 ? "" : ","}${error.wrapped}]`),
};

const lines: Framing = {
  start: "",
  message: (json) => `${json}\n`,
  end: (_, error) => (error === undefined ? "" : `${error.wrapped}\n`),
};

/** The longest time of a timer. */
const maxTimerMs = 2 ** 31 - 1;

function events(method: RestMethod, options: EventOptions): Framing {
  return {
    start: retryField(options),
    message: (json, message, number) => messageEvent(json, message, number, method, options),
    end: (_, error) => lastEvent(error?.bare),
    keepAlive: { text: comment, afterMs: Math.min(options.keepAliveMs ?? 15_000, maxTimerMs) },
  };
}

function framingOf({ type, method, events: options = {} }: StreamOptions): Framing {
  switch (type) {
    case "application/json":
      return array;
    case "application/x-ndjson":
      return lines;
    case "text/event-stream":
      return events(method, options);
  }
}

/** A call that answers with a stream. */
interface StreamCall {
  readonly header: Headers;
  readonly message: AsyncIterable<Message>;
}

/** Options for writing a stream. */
interface StreamOptions {
  readonly method: RestMethod;
  readonly type: StreamType;
  readonly payload: StreamPayload;
  readonly events: EventOptions | undefined;
  readonly stallMs: number;
  /** The header fields of the response, by that of the call if it has come. */
  headers(header: Headers | undefined): OutgoingHttpHeaders;
  describe(reason: unknown): ErrorText;
}

/** Writes all messages of a call. Rejects only when nothing has been sent. */
export async function writeStream(
  response: PortResponse,
  started: Promise<StreamCall>,
  options: StreamOptions,
): Promise<void> {
  const messages = new Messages(started);
  try {
    await (options.payload.kind === "raw"
      ? writeRaw(response, messages, options.payload, options)
      : writeFramed(response, messages, options.payload, options));
  } finally {
    await messages.stop();
  }
}

/** The messages of a call, which may not have begun. */
class Messages {
  readonly #iterator: Promise<AsyncIterator<Message>>;
  /** The header of the call, once it has begun. */
  header: Headers | undefined;
  #hasBegun = false;

  constructor(started: Promise<StreamCall>) {
    this.#iterator = started.then(({ header, message }) => {
      this.header = header;
      this.#hasBegun = true;
      return message[Symbol.asyncIterator]();
    });
    this.#iterator.catch(() => {}); // the reader of the next message sees it, if there is one
  }

  async next(): Promise<IteratorResult<Message>> {
    return (await this.#iterator).next();
  }

  /** Ends a call that has begun. Another ends with its client. */
  async stop(): Promise<void> {
    if (this.#hasBegun) await (await this.#iterator).return?.();
  }
}

/** Options for writing a message in parts. */
interface PartsOptions {
  /** The only field of the message, a list. */
  readonly field: DescField | undefined;
  readonly registry: Registry;
  readonly format: JsonFormat;
  readonly headers: OutgoingHttpHeaders;
  /** How long a client may take for what waits to be sent. Then the response is broken off. */
  readonly stallMs: number;
  /** Takes what broke off the message. */
  onBroken(reason: unknown): void;
}

/**
 * Writes a message in parts as one JSON object. The first part has been made when the head is sent. An error after it
 * breaks off the response, so that the client cannot mistake the part for the whole. Rejects only when nothing has been
 * sent.
 */
export async function writeParts(
  response: PortResponse,
  { parts }: MessageParts,
  { field, registry, format, headers, stallMs, onBroken }: PartsOptions,
): Promise<void> {
  if (field?.fieldKind !== "list") throw new Error("a message in parts has one field, a list");
  const writeItems = createJsonFieldWriter(field, { registry, format });
  const iterator = parts[Symbol.asyncIterator]();
  try {
    let next = await iterator.next();
    if (!begin(response, headers, "application/json")) return;
    let text = `{"${fieldName(field, format)}":[`;
    let isFirst = true;
    try {
      for (; !next.done; next = await iterator.next()) {
        const items = writeItems(next.value).slice(1, -1);
        if (items === "") continue;
        if (!(await write(response, isFirst ? text + items : `,${items}`, stallMs))) return;
        text = "";
        isFirst = false;
      }
    } catch (reason) {
      onBroken(reason);
      breakOff(response);
      return;
    }
    await write(response, `${text}]}`, stallMs);
    response.end();
  } finally {
    await iterator.return?.();
  }
}

type JsonPayload = StreamPayload & { kind: "json" };
type RawPayload = StreamPayload & { kind: "raw" };

async function writeFramed(
  response: PortResponse,
  messages: Messages,
  payload: JsonPayload,
  options: StreamOptions,
): Promise<void> {
  const framing = framingOf(options);
  const { stallMs } = options;
  let text = framing.start;
  let count = 0;
  let isBegun = false;
  /** Sends the head, if it is not sent. Returns whether content follows. */
  const isOpen = () => {
    if (isBegun) return true;
    isBegun = true;
    return begin(response, options.headers(messages.header), options.type);
  };
  const sends = async (chunk: string) => {
    if (!isOpen() || !(await write(response, text + chunk, stallMs))) return false;
    text = "";
    return true;
  };
  try {
    for (;;) {
      const next = messages.next();
      const { keepAlive } = framing;
      while (keepAlive !== undefined && (await isPending(next, keepAlive.afterMs)))
        if (!(await sends(keepAlive.text))) return;
      const { done, value } = await next;
      if (done) break;
      const chunk = framing.message(payload.write(value), value, count + 1);
      if (!(await sends(chunk))) return;
      count++;
    }
    if (!isOpen()) return;
    text += framing.end(count, undefined);
  } catch (reason) {
    if (!isBegun) throw reason;
    text += framing.end(count, options.describe(reason));
  }
  await write(response, text, stallMs);
  response.end();
}

/** Whether a promise is neither fulfilled nor rejected after some time. */
async function isPending(promise: Promise<unknown>, afterMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, afterMs, true);
  });
  const settled = Promise.allSettled([promise]).then(() => false);
  const isLate = await Promise.race([settled, late]);
  clearTimeout(timer);
  return isLate;
}

async function writeRaw(
  response: PortResponse,
  messages: Messages,
  payload: RawPayload,
  { headers, stallMs }: StreamOptions,
): Promise<void> {
  const first = await messages.next();
  const contentType = first.done ? "" : payload.write(first.value).contentType;
  if (!begin(response, headers(messages.header), contentType)) return;
  let sent: Promise<void> | undefined;
  try {
    for (let next = first; !next.done; next = await messages.next()) {
      const { data } = payload.write(next.value);
      if (data.length === 0) continue;
      let writing!: Promise<boolean>;
      sent = new Promise((resolve) => {
        writing = write(response, data, stallMs, resolve);
      });
      if (!(await writing)) return;
    }
    response.end();
  } catch {
    // Raw data cannot carry a status: aborting shows the client that it is incomplete.
    const last = sent;
    if (last !== undefined) await unlessGone(response, () => last, stallMs);
    breakOff(response);
  }
}

/** Sends the head. Returns whether content follows. */
function begin(response: PortResponse, headers: OutgoingHttpHeaders, contentType: string): boolean {
  if (isOver(response)) return false;
  const vary = joinVary(response.getHeader("vary"), headers.vary);
  (response as ServerResponse).writeHead(200, {
    ...headers,
    ...(vary !== undefined && { vary }),
    ...(contentType !== "" && { "content-type": contentType }),
  });
  if (response.req.method === "HEAD") {
    response.end();
    return false;
  }
  return true;
}

/**
 * Writes a chunk and waits until there is room for another. `onSent` is called when the chunk has left this process.
 * Returns whether the client still takes the response.
 */
async function write(
  response: PortResponse,
  chunk: string | Uint8Array,
  stallMs: number,
  onSent?: () => void,
): Promise<boolean> {
  if (isOver(response)) return false;
  // Node's HTTP/2 sends uninitialized memory when the last of several pending chunks is empty.
  if (chunk.length === 0) return true;
  if (!(response as ServerResponse).write(chunk, onSent))
    await unlessGone(response, (signal) => once(response, "drain", { signal }), stallMs);
  return !isGone(response);
}

/** Waits for an event, or until the client has gone. A client that keeps it waiting longer loses its response. */
async function unlessGone(
  response: PortResponse,
  event: (signal: AbortSignal) => Promise<unknown>,
  stallMs: number,
): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  const stalled = setTimeout(() => breakOff(response), stallMs);
  await Promise.race([event(signal), once(response, "close", { signal })]);
  clearTimeout(stalled);
  settled.abort();
}
