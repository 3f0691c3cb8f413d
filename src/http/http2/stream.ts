/** One stream of a connection: a request while it is buffered, and its response. */

import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { BufferedRequest, BufferedResponse } from "../../message/index.ts";
import { BufferedResponseBase, checkField } from "../buffered-response.ts";
import { httpDate } from "../date.ts";
import type { PayerRequests } from "../payer-requests.ts";
import { emptyBuffer, errors, headBytes, messageFrames } from "./frames.ts";
import type { FieldList, HeaderList } from "./hpack/hpack.ts";
import type { RequestHead } from "./simple-fields.ts";

/** Answers a buffered request, or has it fall back. */
export type ServeBuffered = (request: BufferedRequest, response: Http2Stream) => void;

/** The connection of a stream. */
export interface StreamConnection {
  readonly socket: Socket;
  /** The fields of every response, in HPACK. */
  readonly fixedFields: Buffer;
  /** Sends frames. `contentBytes`: how many of their bytes are flow-controlled. */
  send(stream: Http2Stream, frames: Buffer, contentBytes: number): void;
  /** Has Node answer the request, of which more may be received. */
  fallBack(stream: Http2Stream): void;
  /** Resets the stream, if it is still open. */
  breakOff(stream: Http2Stream, code: number): void;
}

/** The bridge of a stream that has fallen back, see `node-bridge.ts`. */
export interface StreamBridge {
  /** @param payloadBytes the bytes that count for flow control, padding included. */
  data(stream: Http2Stream, content: Buffer, payloadBytes: number, endStream: boolean): void;
  trailers(stream: Http2Stream, fields: FieldList): void;
  windowUpdate(stream: Http2Stream, increment: number): void;
  /** Resets the stream in Node, unless Node has reset it. */
  reset(stream: Http2Stream, code: number): void;
  /** The stream is over. */
  forget(stream: Http2Stream): void;
  /** Counts content that has been sent to the client, or dropped. */
  sent(bytes: number): void;
  /** Lets Node send as much again as the client has been sent. */
  credit(): void;
  destroy(): void;
}

/** What a stream is made from. */
export interface Http2StreamInit {
  readonly id: number;
  readonly connection: StreamConnection;
  /** The header list of the request. */
  readonly list: HeaderList;
  /** The head of a simple request, and how it is answered; undefined for a stream that falls back at once. */
  readonly head: RequestHead | undefined;
  readonly serve: ServeBuffered | undefined;
  readonly startedMs: number;
  /** The bytes that the client grants. */
  readonly window: number;
}

/** So many pieces of content are joined, since each has its own overhead. */
const maxChunks = 64;

/** One stream. Errors, of the methods that send: TypeError for a field that is not printable ASCII. */
export class Http2Stream extends BufferedResponseBase implements BufferedResponse {
  readonly id: number;
  readonly list: HeaderList;
  /** The memory of the list, in bytes. HPACK references share their text until Node has a copy of the list. */
  listBytes: number;
  /** When its header list came. */
  readonly startedMs: number;
  readonly #connection: StreamConnection;
  readonly #requestHead: RequestHead | undefined;
  readonly #serve: ServeBuffered | undefined;
  #chunks: Buffer[] = [];
  #request: BufferedRequest | undefined;
  #head: FieldList | undefined;
  /** Whether it is over. */
  isClosed = false;
  /** The bytes of DATA that counted for flow control. */
  received = 0;
  /** The bytes of content that are counted as held. */
  heldBytes = 0;
  /** Whether its bearer token is known to be valid. */
  isVerified = false;
  /** Whether the last frame of the request has been received. */
  isComplete = false;
  /** Whether the last frame of the response has been sent, or waits. */
  isAnswered = false;
  /** Whether the server has reset it. The frames that still come are ignored. */
  isReset = false;
  window: number;
  /** The requests that it belongs to while its handler has begun and has not answered. */
  running: PayerRequests<Http2Stream> | undefined;
  /** Frames that wait for a window, and since when the last one of the response does. */
  readonly waiting: Buffer[] = [];
  answeredMs = 0;
  /** The memory of a response in one piece, until all of it is sent. */
  #keptBytes = 0;
  /** The bridge of a stream that has fallen back, and its id there. */
  bridge: StreamBridge | undefined;
  bridgedId = 0;

  constructor({ id, connection, list, head, serve, startedMs, window }: Http2StreamInit) {
    super();
    this.id = id;
    this.#connection = connection;
    this.list = list;
    this.listBytes = list.blockBytes;
    this.#requestHead = head;
    this.#serve = serve;
    this.startedMs = startedMs;
    this.window = window;
  }

  get authorization(): string | undefined {
    return this.#requestHead?.headers.authorization;
  }

  /** The declared length of the content, in bytes; 0 if there is none. */
  get declaredBytes(): number {
    return Number(this.#requestHead?.headers["content-length"] ?? 0);
  }

  take(content: Buffer, payloadBytes: number): void {
    this.received += payloadBytes;
    // A small piece must not keep the large buffer alive that it was received in.
    const isSmall = !this.isComplete && content.length * 4 < content.buffer.byteLength;
    if (content.length > 0) this.#chunks.push(isSmall ? Buffer.from(content) : content);
    if (this.#chunks.length === maxChunks) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  /** The content so far, in one piece. */
  get content(): Buffer {
    const chunks = this.#chunks;
    if (chunks.length > 1) this.#chunks = [Buffer.concat(chunks)];
    return this.#chunks[0] ?? emptyBuffer;
  }

  /** Whether the content has the declared length, RFC 9113 section 8.1.1. */
  get isWellFormed(): boolean {
    const { "content-length": length } = this.#requestHead!.headers;
    return length === undefined || Number(length) === this.content.length;
  }

  /** Answers the request, which is complete. */
  serve(): void {
    this.#serve!(this.req, this);
  }

  get req(): BufferedRequest {
    if (this.#request === undefined) {
      const { method, url, headers } = this.#requestHead!;
      const { startedMs, content: bufferedBody } = this;
      this.#request = { httpVersionMajor: 2, method, url, headers, startedMs, complete: true, bufferedBody };
    }
    return this.#request;
  }

  /** Whether the stream is over, or Node answers. */
  get destroyed(): boolean {
    return this.isClosed || this.bridge !== undefined;
  }

  get writableEnded(): boolean {
    return this.isAnswered;
  }

  get connection(): Socket {
    return this.#connection.socket;
  }

  get headersSent(): boolean {
    return this.#head !== undefined;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    this.#head = listOf(status, this.withSetFields(headers));
    return this;
  }

  end(content: string | Uint8Array, encoding: "latin1" | "utf8"): void {
    this.#send(this.#head!, typeof content === "string" ? Buffer.from(content, encoding) : content, undefined);
  }

  /** Sends a complete gRPC response: status 200, and trailers unless they are in the head ("Trailers-Only"). */
  sendCall(headers: OutgoingHttpHeaders, content: Uint8Array, trailers: FieldList | undefined): void {
    this.#send(listOf(200, headers), content, trailers);
  }

  #send(head: FieldList, content: Uint8Array, trailers: FieldList | undefined): void {
    if (this.destroyed || this.isAnswered) return;
    this.isAnswered = true;
    const frames = messageFrames(this.id, head, content, trailers, this.#connection.fixedFields);
    this.#connection.send(this, frames, content.length);
  }

  /** Adds frames to those that wait. */
  wait(frames: Buffer): void {
    if (this.isAnswered) this.answeredMs = performance.now();
    if (this.bridge === undefined) this.#keptBytes += frames.length;
    for (let at = 0; at < frames.length; ) {
      const end = at + headBytes + frames.readUIntBE(at, 3);
      this.waiting.push(frames.subarray(at, end));
      at = end;
    }
  }

  /**
   * Counts waiting bytes that were sent. Returns how many bytes of memory that releases: a response in one piece is
   * kept until its end.
   */
  release(bytes: number): number {
    if (this.bridge !== undefined) return bytes;
    if (this.waiting.length > 0) return 0;
    const kept = this.#keptBytes;
    this.#keptBytes = 0;
    return kept;
  }

  /**
   * Whether the request, or the client in reading the response, has taken too long. Node has its own limit for requests
   * that fell back.
   */
  isLate(nowMs: number, requestMs: number, responseMs: number): boolean {
    if (!this.isComplete && this.bridge === undefined && nowMs - this.startedMs > requestMs) return true;
    return this.isAnswered && this.waiting.length > 0 && nowMs - this.answeredMs > responseMs;
  }

  override close(): void {
    this.isClosed = true;
    super.close();
  }

  destroy(): void {
    this.#connection.breakOff(this, errors.internal);
  }

  fallBack(): void {
    if (!this.destroyed) this.#connection.fallBack(this);
  }
}

function listOf(status: number, headers: OutgoingHttpHeaders): FieldList {
  return addFields([":status", String(status), "date", httpDate()], headers);
}

/** Fields as they are written. Errors: TypeError for one that is not printable ASCII. */
export function fieldList(headers: OutgoingHttpHeaders): FieldList {
  return addFields([], headers);
}

function addFields(list: string[], headers: OutgoingHttpHeaders): FieldList {
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (Array.isArray(value)) for (const one of value) addField(list, name, one);
    else if (value !== undefined) addField(list, name, value);
  }
  return list;
}

function addField(list: string[], name: string, value: OutgoingHttpHeader): void {
  checkField(name, value);
  list.push(name.toLowerCase(), String(value));
}
