/** A stream in the lane of HTTP/2: a request until it is whole, and its response. */
import type { OutgoingHttpHeaders } from "node:http";
import { constants } from "node:http2";
import type { WholeRequest, WholeResponse } from "../rest/index.ts";
import type { FieldList, HeaderList } from "./hpack.ts";
import { httpDate } from "./http-date.ts";
import type { Bridge } from "./http2-bridge.ts";
import { headBytes, messageFrames, nothing } from "./http2-frames.ts";
import { OwnResponse } from "./own-response.ts";
import type { PlainFields } from "./plain-fields.ts";

/** Answers a request once it is whole, or hands it back. */
export type ServeWhole = (request: WholeRequest, response: LaneStream) => void;

/** What a stream is sent by. */
export interface StreamConnection {
  /** Sends frames, of which `contentBytes` count for flow control. */
  send(stream: LaneStream, frames: Buffer, contentBytes: number): void;
  /** Has Node answer, with what has come of the request and what is still to come. */
  handBack(stream: LaneStream): void;
  /** Ends the stream, if it is still open, with an error code. */
  breakOff(stream: LaneStream, code: number): void;
}

/** What a stream is made from. */
export interface LaneStreamInit {
  readonly id: number;
  readonly connection: StreamConnection;
  /** The header list of the request. */
  readonly list: HeaderList;
  /** What the list says, and who will answer; neither for a stream that is Node's from the start. */
  readonly fields: PlainFields | undefined;
  readonly serve: ServeWhole | undefined;
  readonly startedMs: number;
  /** What may be sent, in bytes. */
  readonly window: number;
}

/** So many pieces of content, which have some cost each, become one. */
const maxChunks = 64;

/** One stream. Errors, of what sends: TypeError for a field that is not printable ASCII. */
export class LaneStream extends OwnResponse implements WholeResponse {
  readonly id: number;
  readonly list: HeaderList;
  /** What is kept of the list, in bytes. References share their text until Node has a copy of the list. */
  listBytes: number;
  /** When its headers came. */
  readonly startedMs: number;
  readonly #connection: StreamConnection;
  readonly #fields: PlainFields | undefined;
  readonly #serve: ServeWhole | undefined;
  #chunks: Buffer[] = [];
  #request: WholeRequest | undefined;
  #head: FieldList | undefined;
  /** Whether it is over. */
  isClosed = false;
  /** What DATA has counted for flow control. */
  received = 0;
  /** What of the content counts as held until the request is whole. */
  heldBytes = 0;
  /** Whether its bearer token is known to be valid. */
  isVerified = false;
  /** Whether the last frame of the request has come. */
  isWhole = false;
  /** Whether the last frame of the response is sent, or waits. */
  isAnswered = false;
  /** Whether it was reset from here: what still comes of the request is passed over. */
  isReset = false;
  window: number;
  /** Whether its handler has begun, and has not answered. */
  isUnderWay = false;
  /** Frames that wait for a window, and since when the last of the response does. */
  readonly waiting: Buffer[] = [];
  answeredMs = 0;
  /** What is kept of an answer that is in one piece. */
  #keptBytes = 0;
  /** Who answers instead, and the stream's id there. */
  bridge: Bridge | undefined;
  bridgedId = 0;

  constructor({ id, connection, list, fields, serve, startedMs, window }: LaneStreamInit) {
    super();
    this.id = id;
    this.#connection = connection;
    this.list = list;
    this.listBytes = list.blockBytes;
    this.#fields = fields;
    this.#serve = serve;
    this.startedMs = startedMs;
    this.window = window;
  }

  get authorization(): string | undefined {
    return this.#fields?.headers.authorization;
  }

  /** The content that the request says it has, in bytes; 0 where it does not say. */
  get declaredBytes(): number {
    return Number(this.#fields?.headers["content-length"] ?? 0);
  }

  take(content: Buffer, payloadBytes: number): void {
    this.received += payloadBytes;
    // What is kept of little must not keep all that it came in.
    const isSmall = !this.isWhole && content.length * 4 < content.buffer.byteLength;
    if (content.length > 0) this.#chunks.push(isSmall ? Buffer.from(content) : content);
    if (this.#chunks.length === maxChunks) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  /** What has been taken, in one piece. */
  get content(): Buffer {
    const chunks = this.#chunks;
    if (chunks.length > 1) this.#chunks = [Buffer.concat(chunks)];
    return this.#chunks[0] ?? nothing;
  }

  /** Whether the request has as much content as it says, RFC 9113 section 8.1.1. */
  get isWellFormed(): boolean {
    const { "content-length": length } = this.#fields!.headers;
    return length === undefined || Number(length) === this.content.length;
  }

  /** Has the request, now whole, answered. */
  serve(): void {
    this.#serve!(this.req, this);
  }

  get req(): WholeRequest {
    this.#request ??= {
      httpVersionMajor: 2,
      ...this.#fields!,
      complete: true,
      wholeBody: this.content,
    };
    return this.#request;
  }

  /** Whether nothing can be sent any more, or somebody else answers. */
  get destroyed(): boolean {
    return this.isClosed || this.bridge !== undefined;
  }

  get writableEnded(): boolean {
    return this.isAnswered;
  }

  get headersSent(): boolean {
    return this.#head !== undefined;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    this.#head = listOf(status, this.withOwn(headers));
    return this;
  }

  end(content: string | Uint8Array, encoding: "latin1" | "utf8"): void {
    this.#send(this.#head!, typeof content === "string" ? Buffer.from(content, encoding) : content, undefined);
  }

  /** Sends a whole response of gRPC: with status 200, and trailers unless they are in its head. */
  sendCall(headers: OutgoingHttpHeaders, content: Uint8Array, trailers: OutgoingHttpHeaders | undefined): void {
    this.#send(listOf(200, headers), content, trailers && addFields([], trailers));
  }

  #send(head: FieldList, content: Uint8Array, trailers: FieldList | undefined): void {
    if (this.destroyed || this.isAnswered) return;
    this.isAnswered = true;
    this.#connection.send(this, messageFrames(this.id, head, content, trailers), content.length);
  }

  /** Has frames, one after the other, wait for a window. */
  wait(frames: Buffer): void {
    if (this.isAnswered) this.answeredMs = performance.now();
    if (this.bridge === undefined) this.#keptBytes += frames.length;
    for (let at = 0; at < frames.length; ) {
      const end = at + headBytes + frames.readUIntBE(at, 3);
      this.waiting.push(frames.subarray(at, end));
      at = end;
    }
  }

  /** Told that so many bytes of what waited are sent. Gives how many need no longer be kept: an answer in one piece is kept whole. */
  release(bytes: number): number {
    if (this.bridge !== undefined) return bytes;
    if (this.waiting.length > 0) return 0;
    const kept = this.#keptBytes;
    this.#keptBytes = 0;
    return kept;
  }

  override close(): void {
    this.isClosed = true;
    super.close();
  }

  destroy(): void {
    this.#connection.breakOff(this, constants.NGHTTP2_INTERNAL_ERROR);
  }

  handBack(): void {
    if (!this.destroyed) this.#connection.handBack(this);
  }
}

const plainName = /^[!#-'*+.^`|~\w-]+$/;
const plainValue = /^[ -~]*$/;

function listOf(status: number, headers: OutgoingHttpHeaders): FieldList {
  return addFields([":status", String(status), "date", httpDate()], headers);
}

function addFields(list: string[], headers: OutgoingHttpHeaders): FieldList {
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (Array.isArray(value)) for (const one of value) addField(list, name, one);
    else if (value !== undefined) addField(list, name, String(value));
  }
  return list;
}

function addField(list: string[], name: string, value: string): void {
  if (!plainName.test(name) || !plainValue.test(value))
    throw new TypeError(`the header field ${JSON.stringify(name)} is not printable ASCII`);
  list.push(name.toLowerCase(), value);
}
