/**
 * The lane of HTTP/2: serves plain requests (`plain-fields.ts`), each once it is whole, straight from the frames of a connection. Every other stream
 * goes to Node's server over a bridge (`http2-bridge.ts`), also one that only turns out not to be plain.
 *
 * Flow control, RFC 9113 section 5.2. What comes is credited to the connection at once; to a stream in the lane never, so that it takes no more than
 * its first window, and whatever is longer goes to Node in time. What is sent is the business of `http2-sender.ts`.
 *
 * A stream within the limit that the client was told is not refused. While too much waits to be sent, its request waits too, and its handler begins
 * once there is room for the answer; meanwhile frames are read on, or the WINDOW_UPDATE would not come that makes the room.
 */
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { ShortMap } from "../short-map.ts";
import { asides, asidesOfRequest, Budget, bytesOfAside, faults } from "./frame-budget.ts";
import type { FieldList, HeaderList } from "./hpack.ts";
import { Bridge, type BridgedConnection, type BridgeSocket } from "./http2-bridge.ts";
import { demand, type FrameHandler, FrameReader, Http2Error } from "./http2-frame-reader.ts";
import {
  defaultWindow,
  flags,
  frame,
  maxPayloadBytes,
  maxWindow,
  nothing,
  numbersFrame,
  settings,
  settingsFrame,
  types,
} from "./http2-frames.ts";
import { Http2Sender } from "./http2-sender.ts";
import { LaneStream, type ServeWhole } from "./http2-stream.ts";
import { type BodyAccount, type IncomingBodies, unverifiedBytes } from "./incoming-bodies.ts";
import { type PlainFields, plainFieldsOf } from "./plain-fields.ts";
import type { PortLimits } from "./port-limits.ts";
import { hasMalformedField, isMalformedRequest } from "./request-fields.ts";
import type { Share, SharedBytes } from "./shared-bytes.ts";
import { Turn, type Turns } from "./turns.ts";

/** What the lane is made from. */
export interface Http2LaneOptions {
  readonly limits: PortLimits;
  readonly turns: Turns;
  /** What may be there of answers that are not sent, over all connections. */
  readonly unsent: SharedBytes;
  /** What may be there of header lists of open streams, over all connections. */
  readonly headers: SharedBytes;
  /** Counts what is held of requests until they are whole. */
  readonly bodies: IncomingBodies;
  /** Who will answer a plain request once it is whole; undefined if it is not to be waited for. */
  takePlain(fields: PlainFields): ServeWhole | undefined;
  /** Told before the first stream that is opened by what was just read from a connection. */
  onRead(): void;
  /** Serves all other streams, over HTTP/2. */
  serveOthers(socket: BridgeSocket): void;
}

/** The lane. */
export interface Http2Lane {
  /** Serves HTTP/2 on a connection whose first bytes are still unread. */
  accept(socket: Socket): void;
  /** Enforces the limits; to be called every `checkIntervalMs`. */
  check(): void;
  /** Sends GOAWAY on every connection; each ends with its last stream. */
  close(): void;
}

const {
  NGHTTP2_NO_ERROR: noError,
  NGHTTP2_PROTOCOL_ERROR: protocolError,
  NGHTTP2_FLOW_CONTROL_ERROR: flowControlError,
  NGHTTP2_STREAM_CLOSED: streamClosed,
  NGHTTP2_REFUSED_STREAM: refusedStream,
  NGHTTP2_CANCEL: cancel,
  NGHTTP2_ENHANCE_YOUR_CALM: enhanceYourCalm,
} = constants;

/** Whoever has waited for so long, as for a handler that could not begin, may give up. */
const patientMs = 1_000;
/** Of so many streams it is remembered that they were reset: what the client had sent before it knew is passed over, RFC 9113 section 5.1. */
const maxResetIds = 100;
/** What is still read of a connection that has failed. */
const maxIgnoredBytes = 1024 * 1024;
/** How large an answer is taken to be of a connection that has not been sent any. */
const firstExpectedBytes = 1024 * 1024;

/** Creates the lane. */
export function createHttp2Lane(options: Http2LaneOptions): Http2Lane {
  const connections = new Set<Connection>();
  let isClosing = false;
  return {
    accept(socket) {
      const connection = new Connection(socket, options);
      connections.add(connection);
      socket.once("close", () => connections.delete(connection));
      if (isClosing) connection.retire();
    },
    check() {
      const nowMs = performance.now();
      for (const connection of connections) connection.check(nowMs);
    },
    close() {
      isClosing = true;
      for (const connection of connections) connection.retire();
    },
  };
}

/** One connection. */
class Connection implements BridgedConnection, FrameHandler {
  readonly socket: Socket;
  readonly #account: BodyAccount;
  readonly #options: Http2LaneOptions;
  readonly #reader: FrameReader;
  readonly #sender: Http2Sender;
  readonly #streams = new ShortMap<number, LaneStream>();
  readonly #turn: Turn;
  /** Those whose requests are whole, and whose handlers have not begun. */
  readonly #ready: LaneStream[] = [];
  #isBeginning = false;
  /** Handlers that have begun and not answered, and how large each answer is taken to be: as the largest of late. */
  #underWay = 0;
  #expectedBytes = firstExpectedBytes;
  /** What is kept of header lists, in bytes: of open streams here, and with all that is kept in the share. */
  #listBytes = 0;
  readonly #headers: Share;
  #lastId = 0;
  /** The last header list, and what it says: clients tend to send the same again. */
  #list: HeaderList | undefined;
  #fields: PlainFields | undefined;
  #isMalformed = false;
  /** What the client may still send, and what a new stream may be sent. */
  #receiveWindow = defaultWindow;
  #streamWindow = defaultWindow;
  /** What the client has set. */
  readonly #settings = new Map<number, number>();
  #bridge: Bridge | undefined;
  #isTold = false;
  readonly #resetIds: number[] = [];
  #isRetired = false;
  #hasFailed = false;
  #ignoredBytes = 0;
  /** The last stream that GOAWAY has promised to serve. */
  #promisedId: number | undefined;
  readonly #faults = new Budget(faults);
  readonly #asides = new Budget(asides);
  #checkedMs = performance.now();
  /** When what is read now came. */
  #readMs = performance.now();
  /** Since when there is no stream. */
  #idleMs = performance.now();

  constructor(socket: Socket, options: Http2LaneOptions) {
    this.socket = socket;
    this.#account = options.bodies.accountOf(socket);
    this.#options = options;
    this.#sender = new Http2Sender(socket, options.unsent, this.#forgetOver);
    this.#headers = options.headers.share(socket);
    this.#turn = new Turn(options.turns, this.#begin);
    const { maxConcurrentStreams, maxHeaderBytes } = options.limits;
    this.#reader = new FrameReader(this, maxHeaderBytes);
    socket.on("data", this.#take).on("drain", this.#drain).on("end", this.#end).on("close", this.#close);
    this.control(
      settingsFrame(
        new Map([
          [settings.maxConcurrentStreams, maxConcurrentStreams],
          [settings.maxHeaderListSize, maxHeaderBytes],
        ]),
      ),
    );
  }

  readonly #take = (chunk: Buffer) => {
    if (this.#hasFailed) return this.#ignore(chunk);
    if (chunk.length > 0) this.#readMs = performance.now();
    this.#isTold = false;
    this.#sender.hold();
    try {
      this.#reader.read(chunk);
      demand(this.#keepsHeaders(0), enhanceYourCalm);
      this.#sender.sendWaiting();
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#fail(error.code);
    } finally {
      this.#sender.flush();
    }
    this.#begin();
    if (this.isFull)
      this.socket.pause(); // who does not read is not read from
    else if (this.socket.isPaused()) this.socket.resume();
  };

  /** What still comes of a connection that has failed is read for a while, or a reset would eat what it was told. */
  #ignore(chunk: Buffer): void {
    this.#ignoredBytes += chunk.length;
    if (this.#ignoredBytes > maxIgnoredBytes) this.socket.destroy();
  }

  readonly #drain = () => {
    this.#streams.forEach(({ bridge }) => {
      bridge?.credit();
    });
    this.#take(nothing); // there may be frames that have come and are not read
  };

  /** The client has said all. What it has asked in full is answered. */
  readonly #end = () => {
    this.#isRetired = true;
    this.#streams.forEach((stream) => {
      if (!stream.isWhole) this.breakOff(stream, cancel);
    });
    if (this.#streams.size === 0) this.#endSocket();
  };

  readonly #close = () => {
    this.#streams.forEach((stream) => {
      stream.bridge?.destroy();
      stream.close();
    });
    this.#bridge?.destroy();
    this.#ready.length = 0;
  };

  // What the client sends.

  onHeaders(id: number, list: HeaderList, endStream: boolean): void {
    const stream = this.#streams.get(id);
    if (stream === undefined ? this.#resetIds.includes(id) : stream.isReset) this.onAside();
    else if (stream === undefined) this.#openNext(id, list, endStream);
    else this.#takeTrailers(stream, list, endStream);
  }

  #openNext(id: number, list: HeaderList, endStream: boolean): void {
    demand(id > this.#lastId, streamClosed);
    this.#lastId = id;
    if (!this.#isRetired && this.#isBusy) this.#faults.spend();
    if (this.#isRetired || this.#isBusy || !this.#keepsHeaders(list.blockBytes)) this.#refuse(id);
    else this.#open(id, list, endStream);
  }

  /** Resets a stream as one that may be asked for again. What else comes of it is passed over. */
  #refuse(id: number): void {
    this.#reset(id, refusedStream);
    this.#passOver(id);
  }

  #passOver(id: number): void {
    if (this.#resetIds.push(id) > maxResetIds) this.#resetIds.shift();
  }

  /** Keeps so many more bytes of header lists, unless that is too much. */
  #keepsHeaders(bytes: number): boolean {
    const keptBytes = this.#listBytes + bytes + this.#reader.blockBytes;
    const isKept = bytes < 0 || this.#headers.fits(keptBytes - this.#headers.bytes);
    if (isKept) {
      this.#listBytes += bytes;
      this.#headers.set(keptBytes);
    }
    return isKept;
  }

  /** Whether it has as many streams as it may. */
  get #isBusy(): boolean {
    return this.#streams.size + this.#sender.unsentStreams >= this.#options.limits.maxConcurrentStreams;
  }

  #open(id: number, list: HeaderList, endStream: boolean): void {
    this.#asides.earn(asidesOfRequest);
    if (!this.#isTold) this.#options.onRead();
    this.#isTold = true;
    if (list !== this.#list) {
      this.#list = list;
      this.#fields = plainFieldsOf(list);
      this.#isMalformed = this.#fields === undefined && !list.isTooLarge && isMalformedRequest(list.fields);
    }
    if (this.#isMalformed) {
      this.#keepsHeaders(-list.blockBytes);
      this.#passOver(id);
      this.onStreamError(id, protocolError);
      return;
    }
    const startedMs = this.#readMs;
    const fields = this.#fields && { ...this.#fields, headers: { ...this.#fields.headers }, startedMs };
    const serve = fields && this.#options.takePlain(fields);
    const stream = new LaneStream({
      id,
      connection: this,
      list,
      fields,
      serve,
      startedMs,
      window: this.#streamWindow,
    });
    this.#streams.set(id, stream);
    stream.isWhole = endStream;
    if (serve === undefined || !(endStream || this.#mayWaitFor(stream))) this.handBack(stream);
    else if (endStream) this.#serve(stream);
  }

  #serve(stream: LaneStream): void {
    if (stream.isWellFormed) {
      this.#ready.push(stream);
      this.#begin();
    } else this.onStreamError(stream.id, protocolError);
  }

  /** Begins handlers, in the order in which their requests became whole, while there is room for their answers and it is this connection's turn. */
  readonly #begin = (): void => {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    while (this.#ready.length > 0 && !this.isFull && this.#hasRoom() && this.#turn.take()) {
      const stream = this.#ready.shift()!;
      stream.isUnderWay = true;
      this.#underWay++;
      stream.serve();
    }
    this.#isBeginning = false;
  };

  #hasRoom(): boolean {
    return this.#sender.share.hasRoomOrWaits(this.#underWay * this.#expectedBytes, this.#turn);
  }

  /** The handler of a stream has answered, or nobody waits for it any more. */
  #endHandler(stream: LaneStream): void {
    if (!stream.isUnderWay) return;
    stream.isUnderWay = false;
    this.#underWay--;
    this.#turn.answered();
    if (this.#ready.length > 0) queueMicrotask(this.#begin);
  }

  onData(id: number, content: Buffer, payloadBytes: number, endStream: boolean): void {
    this.#receiveWindow -= payloadBytes;
    if (this.#receiveWindow < defaultWindow / 2) {
      this.control(numbersFrame(types.windowUpdate, 0, defaultWindow - this.#receiveWindow));
      this.#receiveWindow = defaultWindow;
    }
    const stream = this.#streamOf(id);
    const isOver = stream === undefined ? this.#resetIds.includes(id) : stream.isReset;
    if (content.length === 0 && isOver) this.onAside();
    else if (content.length === 0 && !endStream) this.#faults.spend();
    if (isOver) return;
    if (stream === undefined || stream.isWhole) this.onStreamError(id, streamClosed);
    else {
      stream.isWhole = endStream;
      if (stream.bridge === undefined) this.#takeContent(stream, content, payloadBytes);
      else this.#bridgeContent(stream, stream.bridge, content, payloadBytes);
    }
  }

  #takeContent(stream: LaneStream, content: Buffer, payloadBytes: number): void {
    stream.take(content, payloadBytes);
    if (stream.isWhole) this.#serve(stream);
    else if (stream.received > defaultWindow - maxPayloadBytes || !this.#mayHold(stream, content.length))
      this.handBack(stream);
  }

  /** Whether content is waited for: a little, or that of somebody who is known to send a valid token. The full door verifies anybody else first. */
  #mayWaitFor(stream: LaneStream): boolean {
    if (stream.declaredBytes > unverifiedBytes)
      stream.isVerified = this.#options.bodies.check.isVerified(stream.authorization);
    return stream.declaredBytes <= unverifiedBytes || stream.isVerified;
  }

  /** Whether what has come is kept here; if so, it counts. Who is not known to send a valid token is left to the full door. */
  #mayHold(stream: LaneStream, bytes: number): boolean {
    const { bodies } = this.#options;
    if (stream.received > unverifiedBytes) {
      stream.isVerified ||= bodies.check.isVerified(stream.authorization);
      if (!stream.isVerified) return false;
    }
    if (!bodies.hasRoomForUnverified(this.#account, bytes)) return false;
    bodies.hold(this.#account, bytes, false);
    stream.heldBytes += bytes;
    return true;
  }

  /** What came of a stream is no longer held here. */
  #release(stream: LaneStream): void {
    if (stream.heldBytes > 0) this.#options.bodies.release(this.#account, stream.heldBytes, false);
    stream.heldBytes = 0;
  }

  #bridgeContent(stream: LaneStream, bridge: Bridge, content: Buffer, payloadBytes: number): void {
    if (stream.isAnswered) this.#passOverContent(stream, bridge);
    else {
      bridge.data(stream, content, stream.isWhole);
      this.#creditPadding(stream, payloadBytes - content.length);
    }
    this.#forgetOver(stream);
  }

  /** Nobody reads what comes after the answer, and Node would grant the client more. Node must not take the content for shorter than it was declared. */
  #passOverContent(stream: LaneStream, bridge: Bridge): void {
    if (stream.isWhole) bridge.reset(stream, constants.NGHTTP2_NO_ERROR);
  }

  /** Node does not know of padding, and credits the stream for the content alone. */
  #creditPadding({ id }: LaneStream, bytes: number): void {
    if (bytes > 0) this.control(numbersFrame(types.windowUpdate, id, bytes));
  }

  #takeTrailers(stream: LaneStream, { fields, isTooLarge }: HeaderList, endStream: boolean): void {
    demand(!stream.isWhole, streamClosed);
    demand(endStream, protocolError);
    demand(!isTooLarge, enhanceYourCalm);
    if (hasMalformedField(fields)) this.onStreamError(stream.id, protocolError);
    else this.#bridgeTrailers(stream, fields);
  }

  #bridgeTrailers(stream: LaneStream, fields: FieldList): void {
    if (stream.bridge === undefined) this.handBack(stream);
    stream.isWhole = true;
    if (stream.isAnswered) this.#passOverContent(stream, stream.bridge!);
    else stream.bridge?.headers(stream, fields, true);
    this.#forgetOver(stream);
  }

  onReset(id: number, code: number): void {
    const stream = this.#streamOf(id);
    if (stream === undefined) this.onAside();
    else {
      stream.bridge?.reset(stream, code);
      this.#forget(stream);
      if (performance.now() - stream.startedMs < patientMs) this.#faults.spend();
    }
  }

  onWindowUpdate(id: number, increment: number): void {
    if (id === 0) demand(this.#sender.widen(increment) <= maxWindow, flowControlError);
    else this.#widenStream(id, increment);
  }

  #widenStream(id: number, increment: number): void {
    const stream = this.#streamOf(id);
    if (stream === undefined) return;
    const window = this.#sender.widenStream(stream, increment);
    stream.bridge?.windowUpdate(stream, increment);
    if (window > maxWindow && stream.bridge === undefined) this.onStreamError(id, flowControlError);
  }

  onSettings(values: ReadonlyMap<number, number>): void {
    this.#faults.spend();
    for (const [id, value] of values) this.#settings.set(id, value);
    const window = values.get(settings.initialWindowSize) ?? this.#streamWindow;
    const more = window - this.#streamWindow;
    this.#streamWindow = window;
    this.#streams.forEach((stream) => {
      demand(this.#sender.widenStream(stream, more) <= maxWindow, flowControlError);
    });
    this.control(frame(types.settings, flags.ack, 0, nothing)); // before Node, or anybody, makes use of it
    this.#bridge?.set(this.#settings);
  }

  onPing(payload: Buffer): void {
    this.control(frame(types.ping, flags.ack, 0, payload));
  }

  onStreamError(id: number, code: number): void {
    const stream = this.#streams.get(id);
    demand(id <= this.#lastId, code);
    if (stream === undefined) this.#reset(id, code);
    else this.breakOff(stream, code);
    this.#faults.spend();
  }

  onAside(): void {
    if (this.#asides.left < 1) {
      this.#asides.earn(this.#sender.sentBytes / bytesOfAside);
      this.#sender.sentBytes = 0;
    }
    this.#asides.spend();
  }

  /** An open stream; undefined if it is over. */
  #streamOf(id: number): LaneStream | undefined {
    demand(id % 2 === 1 && id <= this.#lastId, protocolError);
    return this.#streams.get(id);
  }

  get isFull(): boolean {
    return this.socket.writableNeedDrain;
  }

  send(stream: LaneStream, frames: Buffer, contentBytes: number): void {
    if (stream.isUnderWay) this.#expectedBytes = Math.max(frames.length, this.#expectedBytes * (7 / 8));
    this.#sender.send(stream, frames, contentBytes);
    this.#endHandler(stream);
  }

  control(frames: Buffer): void {
    this.#sender.control(frames);
  }

  #reset(id: number, code: number): void {
    this.control(numbersFrame(types.reset, id, code));
  }

  // How streams go on and end.

  handBack(stream: LaneStream): void {
    const { listBytes } = stream.list;
    if (this.#keepsHeaders(listBytes - stream.listBytes)) {
      stream.listBytes = listBytes;
      this.#bridgeStream(stream);
    } else this.breakOff(stream, refusedStream);
  }

  #bridgeStream(stream: LaneStream): void {
    if (this.#bridge === undefined || this.#bridge.isOver) {
      this.#bridge = new Bridge(this, this.#settings);
      this.#options.serveOthers(this.#bridge.socket);
    }
    this.#release(stream);
    this.#bridge.open(stream, stream.window - this.#streamWindow);
    this.#endHandler(stream);
    this.#creditPadding(stream, stream.received - stream.content.length);
  }

  breakOff(stream: LaneStream, code: number): void {
    if (this.#streams.get(stream.id) !== stream) return;
    this.#reset(stream.id, code);
    stream.bridge?.reset(stream, code);
    stream.isReset = true;
    this.#forget(stream);
  }

  readonly #forgetOver = (stream: LaneStream): void => {
    if (!stream.isWhole || !stream.isAnswered || stream.waiting.length > 0 || stream.isClosed) return;
    this.#sender.unsentStreams++;
    this.#forget(stream);
  };

  #forget(stream: LaneStream): void {
    this.#streams.delete(stream.id);
    this.#keepsHeaders(-stream.listBytes);
    if (!stream.isAnswered && this.#ready.includes(stream)) this.#ready.splice(this.#ready.indexOf(stream), 1);
    stream.bridge?.forget(stream);
    this.#sender.drop(stream);
    this.#release(stream);
    if (stream.isReset) this.#passOver(stream.id);
    stream.close();
    this.#endHandler(stream);
    if (this.#streams.size > 0) return;
    this.#idleMs = performance.now();
    if (this.#isRetired) this.#endSocket();
  }

  // How the connection ends.

  retire(): void {
    if (!this.#isRetired) this.#goAway(noError);
    if (this.#streams.size === 0) this.#endSocket();
  }

  #fail(code: number): void {
    this.#goAway(code);
    this.#hasFailed = true;
    this.#streams.forEach((stream) => {
      stream.bridge?.reset(stream, cancel);
      this.#forget(stream);
    });
    this.#endSocket();
  }

  #goAway(code: number): void {
    this.#isRetired = true;
    this.#idleMs = performance.now();
    this.#promisedId ??= this.#lastId;
    this.control(numbersFrame(types.goAway, 0, this.#promisedId, code));
  }

  /** Once what has been said is sent. */
  #endSocket(): void {
    this.#sender.flush();
    this.socket.end();
  }

  check(nowMs: number): void {
    const { requestMs, responseMs, lingerMs, sessionIdleMs, firstStreamMs } = this.#options.limits;
    const seconds = (nowMs - this.#checkedMs) / 1000;
    this.#checkedMs = nowMs;
    this.#faults.refill(seconds);
    this.#asides.refill(seconds);
    if (this.#sender.takingMs(nowMs) > responseMs) this.socket.destroy();
    this.#streams.forEach((stream) => {
      const isRequestLate = !stream.isWhole && stream.bridge === undefined && nowMs - stream.startedMs > requestMs;
      const isResponseLate = stream.isAnswered && stream.waiting.length > 0 && nowMs - stream.answeredMs > responseMs;
      if (isRequestLate || isResponseLate) this.breakOff(stream, cancel);
    });
    if (this.#streams.size > 0 || this.socket.writableLength > 0) return;
    this.#reader.forget();
    this.#list = undefined;
    this.#fields = undefined;
    const patienceMs = this.#isRetired ? lingerMs : this.#lastId > 0 ? sessionIdleMs : firstStreamMs;
    if (nowMs - this.#idleMs <= patienceMs) return;
    if (this.#isRetired) this.socket.destroy();
    else this.retire();
  }
}
