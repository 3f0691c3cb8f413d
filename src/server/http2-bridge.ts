/**
 * The bridge from the lane of HTTP/2 to Node's server: a connection inside this process, over which the streams go on that the lane does not serve.
 *
 * Frames are handed on, under another id. Header lists are written anew for Node, since the lane has the client's table; Node is told to use no
 * table, so that the client can read its lists as they are. What is left is flow control of the connection: the lane minds the client's windows, and
 * Node is credited here for what the lane has sent.
 */
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { FieldList } from "./hpack.ts";
import {
  dataFrames,
  defaultWindow,
  flags,
  headBytes,
  listFrames,
  maxWindow,
  nothing,
  numbersFrame,
  preface,
  settings,
  settingsFrame,
  types,
} from "./http2-frames.ts";
import type { LaneStream, StreamConnection } from "./http2-stream.ts";

/** The client's connection, as the bridge sees it. */
export interface BridgedConnection extends StreamConnection {
  /** Whether what has been sent waits for the client to read it. */
  readonly isFull: boolean;
  readonly socket: Socket;
  /** Sends a frame that counts for no window. */
  control(frame: Buffer): void;
}

/** One connection to Node's server. */
export class Bridge {
  /** Node's end of it. */
  readonly socket: BridgeSocket;
  readonly #outer: BridgedConnection;
  readonly #streams = new Map<number, LaneStream>();
  #nextId = 1;
  #unread = nothing;
  /** Frames of a header list whose last frame is to come. */
  #block: Buffer[] = [];
  /** Content that has been sent and not been credited. */
  #sentBytes = 0;
  /** Whether Node takes no more streams. */
  isOver = false;

  /** @param values what the client has set. */
  constructor(outer: BridgedConnection, values: ReadonlyMap<number, number>) {
    this.#outer = outer;
    this.socket = new BridgeSocket(
      outer.socket,
      (bytes) => this.#read(bytes),
      (id) => this.#streams.get(id)?.startedMs,
    );
    this.socket.on("error", () => {}); // Node tells of it as the session's
    this.socket.once("close", () => this.#end(0, constants.NGHTTP2_INTERNAL_ERROR));
    this.socket.give(Buffer.from(preface));
    this.set(values);
  }

  /** Tells Node the client's settings, but for the table. */
  set(values: ReadonlyMap<number, number>): void {
    this.socket.give(settingsFrame(new Map(values).set(settings.headerTableSize, 0)));
  }

  /** Opens a stream with what has come of its request. `grantedBytes`: what the client has granted it beyond the first window. */
  open(stream: LaneStream, grantedBytes: number): void {
    stream.bridge = this;
    stream.bridgedId = this.#nextId;
    this.#nextId += 2;
    this.#streams.set(stream.bridgedId, stream);
    const { content, isWhole } = stream;
    this.headers(stream, stream.list.fields, isWhole && content.length === 0);
    if (content.length > 0) this.data(stream, content, isWhole);
    if (grantedBytes > 0) this.windowUpdate(stream, grantedBytes);
  }

  headers({ bridgedId }: LaneStream, fields: FieldList, endStream: boolean): void {
    this.socket.give(listFrames(bridgedId, fields, endStream ? flags.endStream : 0));
  }

  data({ bridgedId }: LaneStream, content: Buffer, endStream: boolean): void {
    this.socket.give(dataFrames(bridgedId, content, endStream ? flags.endStream : 0));
  }

  windowUpdate({ bridgedId }: LaneStream, increment: number): void {
    this.socket.give(numbersFrame(types.windowUpdate, bridgedId, increment));
  }

  /** Resets a stream, unless Node has. */
  reset({ bridgedId }: LaneStream, code: number): void {
    if (this.#streams.has(bridgedId)) this.socket.give(numbersFrame(types.reset, bridgedId, code));
  }

  /** The stream is over. */
  forget({ bridgedId }: LaneStream): void {
    this.#streams.delete(bridgedId);
    if (this.isOver && this.#streams.size === 0) this.destroy();
  }

  /** Content has been sent to the client, or is no longer wanted. */
  sent(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#sentBytes > defaultWindow / 2 && !this.#outer.isFull) this.credit();
  }

  /** Lets Node send as much again as the client has been sent. */
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
    this.#unread = at === bytes.length ? nothing : Buffer.from(bytes.subarray(at));
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

  /** Sends a header list once all of its frames are there: another stream's must not come between. */
  #sendList(stream: LaneStream, bytes: Buffer): void {
    this.#block.push(bytes);
    if ((bytes[4]! & flags.endHeaders) !== 0) this.#send(stream, Buffer.concat(this.#block.splice(0)), 0);
  }

  /** Sends frames, of which the first says whether they are the last. */
  #send(stream: LaneStream, frames: Buffer, contentBytes: number): void {
    stream.isAnswered = (frames[4]! & flags.endStream) !== 0;
    this.#outer.send(stream, frames, contentBytes);
  }

  #sendReset(stream: LaneStream, bytes: Buffer): void {
    const code = bytes.readUInt32BE(headBytes);
    this.#streams.delete(stream.bridgedId);
    if (code !== constants.NGHTTP2_NO_ERROR) this.#outer.breakOff(stream, code);
    // Node says NO_ERROR also of an answer that was cut off, which must not pass for a whole one.
    else if (!stream.isAnswered) this.#outer.breakOff(stream, constants.NGHTTP2_INTERNAL_ERROR);
    else {
      stream.isWhole = true;
      stream.isReset = true;
      this.#outer.send(stream, bytes, 0);
    }
  }

  /** Node has said GOAWAY. */
  #leave(lastId: number, code: number): void {
    if (code === constants.NGHTTP2_NO_ERROR) this.#end(lastId, constants.NGHTTP2_REFUSED_STREAM);
    else this.#end(0, code);
  }

  /** Node serves no stream after this one. */
  #end(lastId: number, code: number): void {
    this.isOver = true;
    for (const [id, stream] of this.#streams) if (id > lastId) this.#outer.breakOff(stream, code);
  }
}

/** Node's end of a bridge. */
export class BridgeSocket extends Duplex {
  readonly #outer: Socket;
  readonly #onBytes: (bytes: Buffer) => void;
  /** When the headers of a stream came, by Node's id of it. */
  readonly startedMsOf: (id: number) => number | undefined;
  bytesRead = 0;

  constructor(outer: Socket, onBytes: (bytes: Buffer) => void, startedMsOf: (id: number) => number | undefined) {
    super();
    this.#outer = outer;
    this.#onBytes = onBytes;
    this.startedMsOf = startedMsOf;
  }

  /** What the client has been sent, by whomever. */
  get bytesWritten(): number {
    return this.#outer.bytesWritten;
  }

  /** Has Node read bytes. */
  give(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.push(bytes);
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, callback: () => void): void {
    this.#onBytes(bytes);
    callback();
  }
}
