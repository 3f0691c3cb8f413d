/**
 * A bridge from one client's connection to Node's HTTP/2 server: an in-process connection for the streams that fall
 * back.
 *
 * Frames are passed on with another stream id. Header lists are encoded anew for Node, since the client's HPACK table
 * is here. Node is configured to use no table, so that its header blocks can be passed to the client as they are.
 * `send-queue.ts` observes the client's windows, and the bridge credits Node for the content that was sent.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { originOf, setOrigin } from "../addresses/origin.ts";
import {
  dataFrames,
  defaultWindow,
  emptyBuffer,
  errors,
  flags,
  headBytes,
  listFrames,
  maxWindow,
  numbersFrame,
  preface,
  settings,
  settingsFrame,
  types,
} from "./frames.ts";
import type { FieldList } from "./hpack/hpack.ts";
import type { Http2Stream, StreamBridge, StreamConnection } from "./stream.ts";

/** The client's connection. */
export interface BridgedConnection extends StreamConnection {
  /** Whether the socket's buffer is full. */
  readonly isFull: boolean;
  readonly socket: Socket;
  /** Sends frames that are not flow-controlled. */
  control(frame: Buffer): void;
}

/** One bridge. */
export class Bridge implements StreamBridge {
  /** Node's end. */
  readonly socket: BridgeSocket;
  readonly #outer: BridgedConnection;
  readonly #streams = new Map<number, Http2Stream>();
  #nextId = 1;
  #unread = emptyBuffer;
  /** Frames of a header block that is not complete. */
  #block: Buffer[] = [];
  /** Bytes of content that have been sent and not credited. */
  #sentBytes = 0;
  /** Whether Node takes no more streams. */
  isOver = false;

  /** @param values the settings of the client. */
  constructor(outer: BridgedConnection, values: ReadonlyMap<number, number>) {
    this.#outer = outer;
    this.socket = new BridgeSocket(
      outer.socket,
      (bytes) => this.#read(bytes),
      (id) => this.#streams.get(id)?.startedMs,
    );
    this.socket.on("error", () => {}); // Node reports it as an error of the session
    this.socket.once("close", () => this.#end(0, errors.internal));
    this.socket.give(Buffer.from(preface));
    this.set(values);
  }

  /** Sends Node the client's settings, except for the table. */
  set(values: ReadonlyMap<number, number>): void {
    this.socket.give(settingsFrame(new Map(values).set(settings.headerTableSize, 0)));
  }

  /**
   * Opens a stream with what was received of its request. `grantedBytes`: what the client has added to its first
   * window.
   */
  open(stream: Http2Stream, grantedBytes: number): void {
    stream.bridge = this;
    stream.bridgedId = this.#nextId;
    this.#nextId += 2;
    this.#streams.set(stream.bridgedId, stream);
    const { content, isComplete } = stream;
    const endsWithList = isComplete && content.length === 0;
    this.socket.give(listFrames(stream.bridgedId, stream.list.fields, endsWithList ? flags.endStream : 0));
    if (content.length > 0) this.data(stream, content, stream.received, isComplete);
    else this.#creditPadding(stream, stream.received);
    if (grantedBytes > 0) this.windowUpdate(stream, grantedBytes);
  }

  data(stream: Http2Stream, content: Buffer, payloadBytes: number, endStream: boolean): void {
    if (stream.isAnswered) this.#ignoreRest(stream, endStream);
    else {
      this.socket.give(dataFrames(stream.bridgedId, content, endStream ? flags.endStream : 0));
      this.#creditPadding(stream, payloadBytes - content.length);
    }
  }

  trailers(stream: Http2Stream, fields: FieldList): void {
    if (stream.isAnswered) this.#ignoreRest(stream, true);
    else this.socket.give(listFrames(stream.bridgedId, fields, flags.endStream));
  }

  /**
   * Ignores what the client sends after the response: Node would widen its window. At the end the stream is reset, or
   * Node would find its content shorter than declared.
   */
  #ignoreRest(stream: Http2Stream, endStream: boolean): void {
    if (endStream) this.reset(stream, errors.none);
  }

  /** Widens the client's window for padding, which Node is not sent. */
  #creditPadding({ id }: Http2Stream, bytes: number): void {
    if (bytes > 0) this.#outer.control(numbersFrame(types.windowUpdate, id, bytes));
  }

  windowUpdate({ bridgedId }: Http2Stream, increment: number): void {
    this.socket.give(numbersFrame(types.windowUpdate, bridgedId, increment));
  }

  /** Resets a stream, unless Node has reset it. */
  reset({ bridgedId }: Http2Stream, code: number): void {
    if (this.#streams.has(bridgedId)) this.socket.give(numbersFrame(types.reset, bridgedId, code));
  }

  /** The stream is over. */
  forget({ bridgedId }: Http2Stream): void {
    this.#streams.delete(bridgedId);
    if (this.isOver && this.#streams.size === 0) this.destroy();
  }

  /** Counts content that has been sent to the client, or dropped. */
  sent(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#sentBytes > defaultWindow / 2 && !this.#outer.isFull) this.credit();
  }

  /** Widens Node's window by what has been sent. */
  credit(): void {
    if (this.#sentBytes > 0) this.socket.give(numbersFrame(types.windowUpdate, 0, this.#sentBytes));
    this.#sentBytes = 0;
  }

  destroy(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    let at = 0;
    while (bytes.length - at >= headBytes) {
      const end = at + headBytes + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      this.#readFrame(Buffer.from(bytes.subarray(at, end)));
      at = end;
    }
    this.#unread = at === bytes.length ? emptyBuffer : Buffer.from(bytes.subarray(at));
  }

  #readFrame(bytes: Buffer): void {
    const type = bytes[3]!;
    if (type === types.goAway)
      this.#leave(bytes.readUInt32BE(headBytes) & maxWindow, bytes.readUInt32BE(headBytes + 4));
    const stream = this.#streams.get(bytes.readUInt32BE(5) & maxWindow);
    if (stream === undefined) {
      if (type === types.data) this.sent(bytes.length - headBytes); // of a stream that is over
      return;
    }
    bytes.writeUInt32BE(stream.id, 5);
    if (type === types.windowUpdate) this.#outer.control(bytes);
    else if (type === types.data) this.#send(stream, bytes, bytes.length - headBytes);
    else if (type === types.reset) this.#sendReset(stream, bytes);
    else if (type === types.headers || type === types.continuation) this.#sendList(stream, bytes);
  }

  /** Sends a header block once all of its frames are there: they must follow each other. */
  #sendList(stream: Http2Stream, bytes: Buffer): void {
    this.#block.push(bytes);
    if ((bytes[4]! & flags.endHeaders) !== 0) this.#send(stream, Buffer.concat(this.#block.splice(0)), 0);
  }

  /** Sends frames. The first has the flag that says whether they end the stream. */
  #send(stream: Http2Stream, frames: Buffer, contentBytes: number): void {
    stream.isAnswered = (frames[4]! & flags.endStream) !== 0;
    this.#outer.send(stream, frames, contentBytes);
  }

  #sendReset(stream: Http2Stream, bytes: Buffer): void {
    const code = bytes.readUInt32BE(headBytes);
    this.#streams.delete(stream.bridgedId);
    if (code !== errors.none) this.#outer.breakOff(stream, code);
    // Node sends NO_ERROR also for a response that was cut off, which must not look complete.
    else if (!stream.isAnswered) this.#outer.breakOff(stream, errors.internal);
    else {
      stream.isComplete = true;
      stream.isReset = true;
      this.#outer.send(stream, bytes, 0);
    }
  }

  /** Node has sent GOAWAY. */
  #leave(lastId: number, code: number): void {
    if (code === errors.none) this.#end(lastId, errors.refusedStream);
    else this.#end(0, code);
  }

  /** Node serves no stream after `lastId`. */
  #end(lastId: number, code: number): void {
    this.isOver = true;
    for (const [id, stream] of this.#streams) if (id > lastId) this.#outer.breakOff(stream, code);
  }
}

/** Node's end of a bridge. */
export class BridgeSocket extends Duplex {
  readonly #outer: Socket;
  readonly #onBytes: (bytes: Buffer) => void;
  /** When the header list of a stream came, by Node's id of it. */
  readonly startedMsOf: (id: number) => number | undefined;
  bytesRead = 0;

  constructor(outer: Socket, onBytes: (bytes: Buffer) => void, startedMsOf: (id: number) => number | undefined) {
    super();
    this.#outer = outer;
    this.#onBytes = onBytes;
    this.startedMsOf = startedMsOf;
    setOrigin(this, originOf(outer));
  }

  /** The bytes that the client has been sent, by Node or not. */
  get bytesWritten(): number {
    return this.#outer.bytesWritten;
  }

  /** Passes bytes to Node. */
  give(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.push(bytes);
  }

  /** Closes the client's connection once what was written has been sent. */
  destroySoon(): void {
    this.#outer.destroySoon();
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, callback: () => void): void {
    this.#onBytes(bytes);
    callback();
  }
}
