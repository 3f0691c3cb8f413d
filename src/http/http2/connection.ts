/**
 * One HTTP/2 connection whose frames this program reads. Simple requests (`simple-fields.ts`) are buffered and answered
 * from here. Every other stream falls back to Node's server over a bridge (`node-bridge.ts`), also one that turns out
 * not to be simple after its header list.
 *
 * Flow control, RFC 9113 section 5.2. The connection's window is refilled as data comes. The window of a buffered
 * stream never is: a stream that may need more than its first window falls back in time. What is sent is
 * flow-controlled in `send-queue.ts`.
 *
 * A stream within the limit of concurrent streams is not refused. While too much waits to be sent, its handler waits
 * for room. Frames are read meanwhile, since the WINDOW_UPDATE that makes room is among them.
 */
import type { Socket } from "node:net";
import { hasMalformedField } from "../request-fields.ts";
import { FrameBudgets } from "./abuse-budget.ts";
import { BodyBuffers } from "./body-buffers.ts";
import type { Http2ConnectionOptions } from "./connection-options.ts";
import { demand, type FrameHandler, FrameReader, Http2Error } from "./frame-reader.ts";
import {
  defaultWindow,
  emptyBuffer,
  errors,
  flags,
  frame,
  maxPayloadBytes,
  maxWindow,
  numbersFrame,
  settings,
  types,
} from "./frames.ts";
import { HandlerQueue } from "./handler-queue.ts";
import { HeaderLists } from "./header-lists.ts";
import type { HeaderList } from "./hpack/hpack.ts";
import { Bridge, type BridgedConnection } from "./node-bridge.ts";
import { Retirement } from "./retirement.ts";
import { SendQueue } from "./send-queue.ts";
import { Http2Stream } from "./stream.ts";
import { StreamTable } from "./stream-table.ts";

/** A client that has waited so long, perhaps for a handler that could not begin, may reset its stream. */
const patienceMs = 1_000;
/** Maximum number of bytes that are read, and ignored, after a connection error. */
const maxIgnoredBytes = 1024 * 1024;

/** One connection. */
export class Http2Connection implements BridgedConnection, FrameHandler {
  readonly socket: Socket;
  readonly #options: Http2ConnectionOptions;
  readonly #reader: FrameReader;
  readonly #sender: SendQueue;
  readonly #streams = new StreamTable();
  readonly #handlers: HandlerQueue;
  readonly #lists: HeaderLists;
  readonly #bodies: BodyBuffers;
  readonly #budgets = new FrameBudgets();
  /** The bytes that the client may still send, and that it grants a new stream. */
  #receiveWindow = defaultWindow;
  #streamWindow = defaultWindow;
  /** The settings of the client. */
  readonly #settings = new Map<number, number>();
  #bridge: Bridge | undefined;
  #isReadReported = false;
  readonly #retirement = new Retirement();
  #hasFailed = false;
  #ignoredBytes = 0;
  /** When the bytes came that are being read. */
  #readMs = performance.now();
  /** When the last stream ended, or GOAWAY was sent. */
  #idleMs = performance.now();

  /** @param hello the SETTINGS frame that it begins with. */
  constructor(socket: Socket, options: Http2ConnectionOptions, hello: Buffer) {
    this.socket = socket;
    this.#options = options;
    this.#sender = new SendQueue(socket, options.unsent, this.#budgets, this.#forgetIfOver);
    this.#handlers = new HandlerQueue(socket, options.turns, this.#sender.share, options.onOverload);
    this.#lists = new HeaderLists(options.headers.share(socket));
    this.#bodies = new BodyBuffers(options.bodies, socket);
    this.#reader = new FrameReader(this, options.limits.maxHeaderBytes);
    socket.on("data", this.#read).on("drain", this.#drain).on("end", this.#end).on("close", this.#close);
    this.control(hello);
  }

  readonly #read = (chunk: Buffer) => {
    if (this.#hasFailed) {
      this.#ignoredBytes += chunk.length; // they are still read, because a reset could discard the GOAWAY
      if (this.#ignoredBytes > maxIgnoredBytes) this.socket.destroy();
      return;
    }
    if (chunk.length > 0) this.#readMs = performance.now();
    this.#isReadReported = false;
    this.#sender.hold();
    try {
      this.#reader.read(chunk);
      demand(this.#keepList(0), errors.enhanceYourCalm);
      this.#sender.sendWaiting();
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#fail(error.code);
    } finally {
      this.#sender.flush();
    }
    this.#handlers.begin();
    if (this.isFull)
      this.socket.pause(); // a client that does not read is not read from
    else if (this.socket.isPaused()) this.socket.resume();
  };

  readonly #drain = () => {
    this.#streams.forEach(({ bridge }) => {
      bridge?.credit();
    });
    this.#read(emptyBuffer); // there may be frames that were received and not read
  };

  /** The client sends no more. Requests that are complete are answered. */
  readonly #end = () => {
    this.#retirement.isFinal = true;
    this.#streams.forEach((stream) => {
      if (!stream.isComplete) this.breakOff(stream, errors.cancel);
    });
    if (this.#streams.size === 0) this.#endSocket();
  };

  readonly #close = () => {
    this.#streams.forEach((stream) => {
      stream.bridge?.destroy();
      stream.close();
    });
    this.#bridge?.destroy();
    this.#handlers.clear();
  };

  // Frames of the client.

  onHeaders(id: number, list: HeaderList, endStream: boolean): void {
    const stream = this.#streams.get(id);
    if (this.#streams.isReset(id, stream)) this.onControlFrame();
    else if (stream === undefined) this.#openNext(id, list, endStream);
    else this.#takeTrailers(stream, list, endStream);
  }

  #openNext(id: number, list: HeaderList, endStream: boolean): void {
    demand(id > this.#streams.lastId, errors.streamClosed);
    this.#streams.lastId = id;
    const isBusy = this.#streams.size + this.#sender.unsentStreams >= this.#options.limits.maxConcurrentStreams;
    if (!this.#retirement.isFinal && isBusy) this.#budgets.chargeAbuse();
    if (this.#retirement.isFinal || isBusy || !this.#keepList(list.blockBytes)) {
      this.#sender.reset(id, errors.refusedStream);
      this.#streams.addReset(id);
    } else this.#open(id, list, endStream);
  }

  #keepList(bytes: number): boolean {
    return this.#lists.keep(bytes, this.#reader.blockBytes);
  }

  #open(id: number, list: HeaderList, endStream: boolean): void {
    this.#budgets.addRequest();
    if (!this.#isReadReported) this.#options.onRead();
    this.#isReadReported = true;
    const simple = this.#lists.read(list);
    if (this.#lists.isMalformed) {
      this.#keepList(-list.blockBytes);
      this.#streams.addReset(id);
      this.onStreamError(id, errors.protocol);
      return;
    }
    const startedMs = this.#readMs;
    const head = simple && { ...simple, headers: { ...simple.headers }, startedMs };
    const serve = head && this.#options.planFastPath(head);
    const stream = new Http2Stream({ id, connection: this, list, head, serve, startedMs, window: this.#streamWindow });
    this.#streams.add(stream);
    stream.isComplete = endStream;
    if (serve === undefined || !(endStream || this.#bodies.mayBegin(stream))) this.fallBack(stream);
    else if (endStream) this.#serve(stream);
  }

  #serve(stream: Http2Stream): void {
    if (stream.isWellFormed) this.#handlers.add(stream);
    else this.onStreamError(stream.id, errors.protocol);
  }

  onData(id: number, content: Buffer, payloadBytes: number, endStream: boolean): void {
    this.#receiveWindow -= payloadBytes;
    if (this.#receiveWindow < defaultWindow / 2) {
      this.control(numbersFrame(types.windowUpdate, 0, defaultWindow - this.#receiveWindow));
      this.#receiveWindow = defaultWindow;
    }
    const stream = this.#streams.find(id);
    const isReset = this.#streams.isReset(id, stream);
    if (content.length === 0 && isReset) this.onControlFrame();
    else if (content.length === 0 && !endStream) this.#budgets.chargeAbuse();
    if (isReset) return;
    if (stream === undefined || stream.isComplete) this.onStreamError(id, errors.streamClosed);
    else {
      stream.isComplete = endStream;
      if (stream.bridge === undefined) this.#takeContent(stream, content, payloadBytes);
      else {
        stream.bridge.data(stream, content, payloadBytes, endStream);
        this.#forgetIfOver(stream);
      }
    }
  }

  #takeContent(stream: Http2Stream, content: Buffer, payloadBytes: number): void {
    stream.take(content, payloadBytes);
    if (stream.isComplete) this.#serve(stream);
    else if (stream.received > defaultWindow - maxPayloadBytes || !this.#bodies.hold(stream, content.length))
      this.fallBack(stream);
  }

  #takeTrailers(stream: Http2Stream, { fields, isTooLarge }: HeaderList, endStream: boolean): void {
    demand(!stream.isComplete, errors.streamClosed);
    demand(endStream, errors.protocol);
    demand(!isTooLarge, errors.enhanceYourCalm);
    if (hasMalformedField(fields)) {
      this.onStreamError(stream.id, errors.protocol);
      return;
    }
    if (stream.bridge === undefined) this.fallBack(stream);
    stream.isComplete = true;
    stream.bridge?.trailers(stream, fields);
    this.#forgetIfOver(stream);
  }

  onReset(id: number, code: number): void {
    const stream = this.#streams.find(id);
    if (stream === undefined) this.onControlFrame();
    else {
      stream.bridge?.reset(stream, code);
      this.#forget(stream);
      if (performance.now() - stream.startedMs < patienceMs) this.#budgets.chargeAbuse();
    }
  }

  onWindowUpdate(id: number, increment: number): void {
    if (id === 0) {
      demand(this.#sender.widen(increment) <= maxWindow, errors.flowControl);
      return;
    }
    const stream = this.#streams.find(id);
    if (stream === undefined) return;
    const window = this.#sender.widenStream(stream, increment);
    stream.bridge?.windowUpdate(stream, increment);
    if (window > maxWindow && stream.bridge === undefined) this.onStreamError(id, errors.flowControl);
  }

  onSettings(values: ReadonlyMap<number, number>): void {
    this.#budgets.chargeAbuse();
    for (const [id, value] of values) this.#settings.set(id, value);
    const window = values.get(settings.initialWindowSize) ?? this.#streamWindow;
    const more = window - this.#streamWindow;
    this.#streamWindow = window;
    this.#streams.forEach((stream) => {
      demand(this.#sender.widenStream(stream, more) <= maxWindow, errors.flowControl);
    });
    this.control(frame(types.settings, flags.ack, 0, emptyBuffer)); // before any frame that makes use of it
    this.#bridge?.set(this.#settings);
  }

  onPing(payload: Buffer): void {
    this.control(frame(types.ping, flags.ack, 0, payload));
  }

  onPong(): void {
    if (this.#retirement.isAnnounced) this.#endRetirement();
  }

  onStreamError(id: number, code: number): void {
    const stream = this.#streams.get(id);
    demand(id <= this.#streams.lastId, code);
    if (stream === undefined) this.#sender.reset(id, code);
    else this.breakOff(stream, code);
    this.#budgets.chargeAbuse();
  }

  onControlFrame(): void {
    this.#budgets.chargeControlFrame();
  }

  // Frames of the server.

  get fixedFields(): Buffer {
    return this.#options.fixed.block;
  }

  get isFull(): boolean {
    return this.socket.writableNeedDrain;
  }

  send(stream: Http2Stream, frames: Buffer, contentBytes: number): void {
    this.#handlers.expect(stream, frames.length);
    this.#sender.send(stream, frames, contentBytes);
    this.#handlers.end(stream);
  }

  control(frames: Buffer): void {
    this.#sender.control(frames);
  }

  // How streams continue and end.

  fallBack(stream: Http2Stream): void {
    const { listBytes } = stream.list;
    if (!this.#keepList(listBytes - stream.listBytes)) {
      this.breakOff(stream, errors.refusedStream);
      return;
    }
    stream.listBytes = listBytes;
    if (this.#bridge === undefined || this.#bridge.isOver) {
      this.#bridge = new Bridge(this, this.#settings);
      this.#options.serveByNode(this.#bridge.socket);
    }
    this.#bodies.release(stream);
    this.#bridge.open(stream, stream.window - this.#streamWindow);
    this.#handlers.end(stream);
  }

  breakOff(stream: Http2Stream, code: number): void {
    if (this.#streams.get(stream.id) !== stream) return;
    this.#sender.reset(stream.id, code);
    stream.bridge?.reset(stream, code);
    stream.isReset = true;
    this.#forget(stream);
  }

  readonly #forgetIfOver = (stream: Http2Stream): void => {
    if (!stream.isComplete || !stream.isAnswered || stream.waiting.length > 0 || stream.isClosed) return;
    this.#sender.unsentStreams++;
    this.#forget(stream);
  };

  #forget(stream: Http2Stream): void {
    this.#streams.delete(stream);
    this.#keepList(-stream.listBytes);
    this.#handlers.remove(stream);
    stream.bridge?.forget(stream);
    this.#sender.drop(stream);
    this.#bodies.release(stream);
    stream.close();
    this.#handlers.end(stream);
    if (this.#streams.size > 0) return;
    this.#idleMs = performance.now();
    if (this.#retirement.isFinal) this.#endSocket();
  }

  // How the connection ends.

  /** Asks the client to open no more streams. Once it knows, the connection ends with its last stream. */
  retire(): void {
    if (this.#retirement.hasBegun) return;
    this.#idleMs = performance.now();
    this.control(this.#retirement.announce());
  }

  #endRetirement(): void {
    if (!this.#retirement.isFinal) this.#goAway(errors.none);
    if (this.#streams.size === 0) this.#endSocket();
  }

  #fail(code: number): void {
    this.#goAway(code);
    this.#hasFailed = true;
    this.#streams.forEach((stream) => {
      stream.bridge?.reset(stream, errors.cancel);
      this.#forget(stream);
    });
    this.#endSocket();
  }

  #goAway(code: number): void {
    this.#idleMs = performance.now();
    this.control(this.#retirement.goAway(this.#streams.lastId, code));
  }

  /** Closes the connection once all frames are sent. */
  #endSocket(): void {
    this.#sender.flush();
    this.socket.end();
  }

  /** Enforces the limits; to be called every `checkIntervalMs`. */
  check(nowMs: number): void {
    const { requestMs, responseMs, lingerMs, sessionIdleMs, firstStreamMs } = this.#options.limits;
    this.#budgets.refill(nowMs);
    if (this.#sender.takingMs(nowMs) > responseMs) this.socket.destroy();
    this.#streams.forEach((stream) => {
      if (stream.isLate(nowMs, requestMs, responseMs)) this.breakOff(stream, errors.cancel);
    });
    if (this.#streams.size > 0 || this.socket.writableLength > 0) return;
    this.#reader.forget();
    this.#lists.forget();
    const limitMs = this.#retirement.hasBegun ? lingerMs : this.#streams.lastId > 0 ? sessionIdleMs : firstStreamMs;
    if (nowMs - this.#idleMs <= limitMs) return;
    if (this.#retirement.isFinal) this.socket.destroy();
    else if (this.#retirement.isAnnounced) this.#endRetirement();
    else this.retire();
  }
}
