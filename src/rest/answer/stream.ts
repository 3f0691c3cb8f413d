/**
 * Server streams as one HTTP response.
 *
 * | Accept                 | body                                                 | an error after the first message |
 * |------------------------|------------------------------------------------------|----------------------------------|
 * | `application/x-ndjson` | one message a line                                   | a last line `{"error": Status}`  |
 * | `text/event-stream`    | events `data: message`                               | a last event `event: error`      |
 * | otherwise              | a JSON array                                         | a last item `{"error": Status}`  |
 * | (google.api.HttpBody)  | the data of all messages, with the first one's type  | after the data before it, the    |
 * |                        |                                                      | connection is aborted            |
 *
 * The head is sent with the first message, so an error before it is an ordinary error response. The next message is
 * requested only when the client has accepted the last.
 */

import { once } from "node:events";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { DescField, Message, Registry } from "@bufbuild/protobuf";
import { createJsonFieldWriter, fieldName, type JsonFormat, type MessageParts } from "../../codec/index.ts";
import { breakOff, isGone, isOver, joinVary, type PortResponse } from "../../message/index.ts";
import type { StreamPayload } from "./payload.ts";

/** The media types a stream of JSON can have, the preferred first. */
export const streamTypes = ["application/json", "application/x-ndjson", "text/event-stream"] as const;

/** A media type of streams of JSON. */
export type StreamType = (typeof streamTypes)[number];

/** How messages are separated. */
interface Framing {
  readonly start: string;
  readonly end: string;
  message(json: string, isFirst: boolean): string;
  error(text: ErrorText, isFirst: boolean): string;
}

/** The JSON of an error, and the object with the member `error` that stands for it among messages. */
interface ErrorText {
  readonly bare: string;
  readonly wrapped: string;
}

const array: Framing = {
  start: "[",
  end: "]",
  message: (json, isFirst) => (isFirst ? json : `,${json}`),
  error: ({ wrapped }, isFirst) => array.message(wrapped, isFirst),
};

const framings: Readonly<Record<StreamType, Framing>> = {
  "application/json": array,
  "application/x-ndjson": {
    start: "",
    end: "",
    message: (json) => `${json}\n`,
    error: ({ wrapped }) => `${wrapped}\n`,
  },
  "text/event-stream": {
    start: "",
    end: "",
    message: (json) => `data: ${json}\n\n`,
    error: ({ bare }) => `event: error\ndata: ${bare}\n\n`,
  },
};

/** Options for writing a stream. */
interface StreamOptions {
  readonly type: StreamType;
  readonly payload: StreamPayload;
  /** The headers of the call. */
  readonly headers: OutgoingHttpHeaders;
  readonly stallMs: number;
  describe(reason: unknown): ErrorText;
}

/** Writes all messages. Rejects only when nothing has been sent. */
export async function writeStream(
  response: PortResponse,
  messages: AsyncIterable<Message>,
  options: StreamOptions,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    await (options.payload.kind === "raw"
      ? writeRaw(response, first, iterator, options.payload, options)
      : writeFramed(response, first, iterator, options.payload, options));
  } finally {
    await iterator.return?.();
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
 * breaks off the response, so that the client cannot take what came for the whole. Rejects only when nothing has been
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
  first: IteratorResult<Message>,
  iterator: AsyncIterator<Message>,
  payload: JsonPayload,
  options: StreamOptions,
): Promise<void> {
  const framing = framings[options.type];
  const { stallMs } = options;
  let next = first;
  let json = next.done ? "" : payload.write(next.value);
  if (!begin(response, options.headers, options.type)) return;
  let isFirst = true;
  let text = framing.start;
  try {
    while (!next.done) {
      if (!(await write(response, text + framing.message(json, isFirst), stallMs))) return;
      text = "";
      isFirst = false;
      next = await iterator.next();
      json = next.done ? "" : payload.write(next.value);
    }
  } catch (reason) {
    text += framing.error(options.describe(reason), isFirst);
  }
  await write(response, text + framing.end, stallMs);
  response.end();
}

async function writeRaw(
  response: PortResponse,
  first: IteratorResult<Message>,
  iterator: AsyncIterator<Message>,
  payload: RawPayload,
  { headers, stallMs }: StreamOptions,
): Promise<void> {
  if (!begin(response, headers, first.done ? "" : payload.write(first.value).contentType)) return;
  let sent: Promise<void> | undefined;
  try {
    for (let next = first; !next.done; next = await iterator.next()) {
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
