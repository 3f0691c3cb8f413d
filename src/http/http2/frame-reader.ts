/**
 * Reads the frames of a client, RFC 9113. It detects the errors that do not depend on the state of streams, joins and
 * decodes header blocks, and removes padding and priorities.
 */
import {
  emptyBuffer,
  errors,
  flags,
  headBytes,
  maxPayloadBytes,
  maxWindow,
  preface,
  settings,
  types,
} from "./frames.ts";
import { type HeaderList, HeaderReader, HpackError } from "./hpack/hpack.ts";

/** Receives frames. Each method may throw {@link Http2Error}. */
export interface FrameHandler {
  /** @param payloadBytes the bytes that count for flow control, padding included. */
  onData(stream: number, content: Buffer, payloadBytes: number, endStream: boolean): void;
  onHeaders(stream: number, list: HeaderList, endStream: boolean): void;
  onReset(stream: number, code: number): void;
  /** @param stream 0 for the connection. */
  onWindowUpdate(stream: number, increment: number): void;
  /** @param values the settings that RFC 9113 defines, by identifier. */
  onSettings(values: ReadonlyMap<number, number>): void;
  onPing(payload: Buffer): void;
  /** The answer to a PING of this side. */
  onPong(): void;
  /**
   * Called for every frame of a type that is limited by a rate only: PING, PRIORITY, WINDOW_UPDATE, GOAWAY,
   * acknowledgements, unknown types.
   */
  onControlFrame(): void;
  /** Whether reading has to stop for now. */
  readonly isFull: boolean;
  /** Called for a stream error. */
  onStreamError(stream: number, code: number): void;
}

/** A connection error. `code`: of RFC 9113 section 7. */
export class Http2Error extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`HTTP/2 error ${code}`);
    this.code = code;
  }
}

/** Errors: {@link Http2Error} unless `isSo`. */
export function demand(isSo: boolean, code: number): void {
  if (!isSo) throw new Http2Error(code);
}

/**
 * The maximum size of a header block, as a multiple of that of its list. A longer one ends the connection without being
 * decoded.
 */
const maxBlockRatio = 4;
/** The maximum number of frames of a header block (CVE-2024-27316). Honest clients fill their frames. */
const maxBlockFrames = 16;

/** A header block that is not complete. */
interface Block {
  readonly stream: number;
  readonly endStream: boolean;
  readonly parts: Buffer[];
  length: number;
}

/** Reads the frames of one connection. */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #headers: HeaderReader;
  readonly #maxBlockBytes: number;
  #unread = emptyBuffer;
  #hasPreface = false;
  #hasSettings = false;
  #block: Block | undefined;

  constructor(handler: FrameHandler, maxHeaderBytes: number) {
    this.#handler = handler;
    this.#headers = new HeaderReader(maxHeaderBytes);
    this.#maxBlockBytes = maxHeaderBytes * maxBlockRatio;
  }

  /**
   * Reads frames until the handler is full. The rest is kept for the next call. Errors: {@link Http2Error}; whatever
   * the handler throws.
   */
  read(chunk: Buffer): void {
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    let at = this.#hasPreface ? 0 : this.#readPreface(bytes);
    while (this.#hasPreface && !this.#handler.isFull && bytes.length - at >= headBytes) {
      const length = bytes.readUIntBE(at, 3);
      demand(length <= maxPayloadBytes, errors.frameSize);
      const end = at + headBytes + length;
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5) & maxWindow;
      this.#readFrame(bytes[at + 3]!, bytes[at + 4]!, stream, bytes.subarray(at + headBytes, end));
      at = end;
    }
    this.#unread = at === bytes.length ? emptyBuffer : Buffer.from(bytes.subarray(at));
  }

  /** The size of a header block that is not complete, in bytes. */
  get blockBytes(): number {
    return this.#block?.length ?? 0;
  }

  /** Drops caches. */
  forget(): void {
    this.#headers.forget();
  }

  /** Returns the end of the preface, or 0 if it is not complete. */
  #readPreface(bytes: Buffer): number {
    const length = Math.min(preface.length, bytes.length);
    demand(bytes.toString("latin1", 0, length) === preface.slice(0, length), errors.protocol);
    this.#hasPreface = length === preface.length;
    return this.#hasPreface ? length : 0;
  }

  #readFrame(type: number, flag: number, stream: number, payload: Buffer): void {
    demand(this.#block === undefined || type === types.continuation, errors.protocol);
    demand(this.#hasSettings || (type === types.settings && (flag & flags.ack) === 0), errors.protocol);
    if (type === types.data) this.#readData(flag, stream, payload);
    else if (type === types.headers) this.#readHeaders(flag, stream, payload);
    else if (type === types.priority) this.#readPriority(stream, payload);
    else if (type === types.reset) this.#readReset(stream, payload);
    else if (type === types.settings) this.#readSettings(flag, stream, payload);
    else if (type === types.ping) this.#readPing(flag, stream, payload);
    else if (type === types.goAway) this.#readGoAway(stream, payload);
    else if (type === types.windowUpdate) this.#readWindowUpdate(stream, payload);
    else if (type === types.continuation) this.#readContinuation(flag, stream, payload);
    else {
      demand(type !== types.pushPromise, errors.protocol);
      this.#handler.onControlFrame(); // unknown types are ignored
    }
  }

  #readData(flag: number, stream: number, payload: Buffer): void {
    demand(stream > 0, errors.protocol);
    this.#handler.onData(stream, unpad(flag, payload), payload.length, (flag & flags.endStream) !== 0);
  }

  #readHeaders(flag: number, stream: number, payload: Buffer): void {
    demand(stream % 2 === 1, errors.protocol);
    const fragment = unpad(flag, payload);
    const hasPriority = (flag & flags.priority) !== 0;
    demand(!hasPriority || fragment.length >= 5, errors.frameSize);
    demand(!hasPriority || !dependsOn(stream, fragment), errors.protocol);
    this.#block = { stream, endStream: (flag & flags.endStream) !== 0, parts: [], length: 0 };
    this.#readFragment(this.#block, flag, hasPriority ? fragment.subarray(5) : fragment);
  }

  #readContinuation(flag: number, stream: number, payload: Buffer): void {
    if (this.#block?.stream !== stream) throw new Http2Error(errors.protocol);
    this.#readFragment(this.#block, flag, payload);
  }

  #readFragment(block: Block, flag: number, fragment: Buffer): void {
    block.parts.push(fragment);
    block.length += fragment.length;
    demand(block.length <= this.#maxBlockBytes && block.parts.length <= maxBlockFrames, errors.enhanceYourCalm);
    if ((flag & flags.endHeaders) === 0) return;
    this.#block = undefined;
    const bytes = block.parts.length === 1 ? fragment : Buffer.concat(block.parts);
    this.#handler.onHeaders(block.stream, this.#listOf(bytes), block.endStream);
  }

  #listOf(block: Buffer): HeaderList {
    try {
      return this.#headers.read(block);
    } catch (error) {
      throw error instanceof HpackError ? new Http2Error(errors.compression) : error;
    }
  }

  #readPriority(stream: number, payload: Buffer): void {
    demand(stream > 0, errors.protocol);
    this.#handler.onControlFrame();
    if (payload.length !== 5) this.#handler.onStreamError(stream, errors.frameSize);
    else if (dependsOn(stream, payload)) this.#handler.onStreamError(stream, errors.protocol);
  }

  #readReset(stream: number, payload: Buffer): void {
    demand(stream > 0, errors.protocol);
    demand(payload.length === 4, errors.frameSize);
    this.#handler.onReset(stream, payload.readUInt32BE(0));
  }

  #readSettings(flag: number, stream: number, payload: Buffer): void {
    demand(stream === 0, errors.protocol);
    const isAck = (flag & flags.ack) !== 0;
    demand(isAck ? payload.length === 0 : payload.length % 6 === 0, errors.frameSize);
    this.#hasSettings = true;
    if (isAck) this.#handler.onControlFrame();
    else this.#readValues(payload);
  }

  #readValues(payload: Buffer): void {
    const values = new Map<number, number>();
    for (let at = 0; at < payload.length; at += 6) {
      const id = payload.readUInt16BE(at);
      if (id <= settings.maxHeaderListSize) values.set(id, payload.readUInt32BE(at + 2));
    }
    demand((values.get(settings.enablePush) ?? 0) <= 1, errors.protocol);
    demand((values.get(settings.initialWindowSize) ?? 0) <= maxWindow, errors.flowControl);
    const maxFrameSize = values.get(settings.maxFrameSize) ?? maxPayloadBytes;
    demand(maxFrameSize >= maxPayloadBytes && maxFrameSize < 2 ** 24, errors.protocol);
    this.#handler.onSettings(values);
  }

  #readPing(flag: number, stream: number, payload: Buffer): void {
    demand(stream === 0, errors.protocol);
    demand(payload.length === 8, errors.frameSize);
    this.#handler.onControlFrame();
    if ((flag & flags.ack) === 0) this.#handler.onPing(payload);
    else this.#handler.onPong();
  }

  #readGoAway(stream: number, payload: Buffer): void {
    demand(stream === 0, errors.protocol);
    demand(payload.length >= 8, errors.frameSize);
    this.#handler.onControlFrame();
  }

  #readWindowUpdate(stream: number, payload: Buffer): void {
    demand(payload.length === 4, errors.frameSize);
    this.#handler.onControlFrame();
    const increment = payload.readUInt32BE(0) & maxWindow;
    if (increment > 0) this.#handler.onWindowUpdate(stream, increment);
    else if (stream > 0) this.#handler.onStreamError(stream, errors.protocol);
    else throw new Http2Error(errors.protocol);
  }
}

/** The payload without padding. */
function unpad(flag: number, payload: Buffer): Buffer {
  if ((flag & flags.padded) === 0) return payload;
  demand(payload.length > 0, errors.frameSize);
  const paddingBytes = payload[0]!;
  demand(paddingBytes < payload.length, errors.protocol);
  return payload.subarray(1, payload.length - paddingBytes);
}

/** Whether the priority at the beginning of `bytes` makes a stream depend on itself. */
function dependsOn(stream: number, bytes: Buffer): boolean {
  return (bytes.readUInt32BE(0) & maxWindow) === stream;
}
