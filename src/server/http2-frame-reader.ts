/**
 * Reads the frames of a client, RFC 9113: what can be told to be wrong from a frame and those before it, whatever streams there are, is told here.
 * Header blocks are put together and decoded; padding and priorities are left out.
 */
import { constants } from "node:http2";
import { type HeaderList, HeaderReader, HpackError } from "./hpack.ts";
import { flags, headBytes, maxPayloadBytes, maxWindow, nothing, preface, settings, types } from "./http2-frames.ts";

/** Who is told what comes. Each may throw {@link Http2Error}. */
export interface FrameHandler {
  /** @param payloadBytes what the frame counts for flow control. */
  onData(stream: number, content: Buffer, payloadBytes: number, endStream: boolean): void;
  onHeaders(stream: number, list: HeaderList, endStream: boolean): void;
  onReset(stream: number, code: number): void;
  /** @param stream 0 for the connection. */
  onWindowUpdate(stream: number, increment: number): void;
  /** @param values those that RFC 9113 defines, by identifier. */
  onSettings(values: ReadonlyMap<number, number>): void;
  onPing(payload: Buffer): void;
  /** Told of every frame that asks for nothing by itself, PING too. */
  onAside(): void;
  /** Whether it can take no more for now. */
  readonly isFull: boolean;
  /** Told of a frame that its stream does not survive. */
  onStreamError(stream: number, code: number): void;
}

/** Ends a connection. `code`: of RFC 9113 section 7. */
export class Http2Error extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`HTTP/2 error ${code}`);
    this.code = code;
  }
}

/** Throws unless something is as it has to be. Errors: {@link Http2Error}. */
export function demand(isSo: boolean, code: number): void {
  if (!isSo) throw new Http2Error(code);
}

const {
  NGHTTP2_PROTOCOL_ERROR: protocolError,
  NGHTTP2_FLOW_CONTROL_ERROR: flowControlError,
  NGHTTP2_FRAME_SIZE_ERROR: frameSizeError,
  NGHTTP2_COMPRESSION_ERROR: compressionError,
  NGHTTP2_ENHANCE_YOUR_CALM: enhanceYourCalm,
} = constants;

/** A header block may have this many times the bytes that its list may have: what is longer is not worth decoding to refuse it politely. */
const maxBlockRatio = 4;
/** An honest client fills its frames (CVE-2024-27316). */
const maxBlockFrames = 16;

/** A header block whose last frame is to come. */
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
  #unread = nothing;
  #hasPreface = false;
  #hasSettings = false;
  #block: Block | undefined;

  constructor(handler: FrameHandler, maxHeaderBytes: number) {
    this.#handler = handler;
    this.#headers = new HeaderReader(maxHeaderBytes);
    this.#maxBlockBytes = maxHeaderBytes * maxBlockRatio;
  }

  /** Reads what has come, until the handler is full; what is left is kept until more comes, or nothing. Errors: {@link Http2Error}; whatever the handler throws. */
  read(chunk: Buffer): void {
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    let at = this.#hasPreface ? 0 : this.#readPreface(bytes);
    while (this.#hasPreface && !this.#handler.isFull && bytes.length - at >= headBytes) {
      const length = bytes.readUIntBE(at, 3);
      demand(length <= maxPayloadBytes, frameSizeError);
      const end = at + headBytes + length;
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5) & maxWindow;
      this.#readFrame(bytes[at + 3]!, bytes[at + 4]!, stream, bytes.subarray(at + headBytes, end));
      at = end;
    }
    this.#unread = at === bytes.length ? nothing : Buffer.from(bytes.subarray(at));
  }

  /** What is kept of a header block whose last frame is to come, in bytes. */
  get blockBytes(): number {
    return this.#block?.length ?? 0;
  }

  /** Forgets what only makes reading faster. */
  forget(): void {
    this.#headers.forget();
  }

  /** Gives where it ends if it is there. */
  #readPreface(bytes: Buffer): number {
    const length = Math.min(preface.length, bytes.length);
    demand(bytes.toString("latin1", 0, length) === preface.slice(0, length), protocolError);
    this.#hasPreface = length === preface.length;
    return this.#hasPreface ? length : 0;
  }

  #readFrame(type: number, flag: number, stream: number, payload: Buffer): void {
    demand(this.#block === undefined || type === types.continuation, protocolError);
    demand(this.#hasSettings || (type === types.settings && (flag & flags.ack) === 0), protocolError);
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
      demand(type !== types.pushPromise, protocolError);
      this.#handler.onAside(); // types nobody has defined are passed over
    }
  }

  #readData(flag: number, stream: number, payload: Buffer): void {
    demand(stream > 0, protocolError);
    this.#handler.onData(stream, unpad(flag, payload), payload.length, (flag & flags.endStream) !== 0);
  }

  #readHeaders(flag: number, stream: number, payload: Buffer): void {
    demand(stream % 2 === 1, protocolError);
    const fragment = unpad(flag, payload);
    const hasPriority = (flag & flags.priority) !== 0;
    demand(!hasPriority || fragment.length >= 5, frameSizeError);
    demand(!hasPriority || !dependsOn(stream, fragment), protocolError);
    this.#block = { stream, endStream: (flag & flags.endStream) !== 0, parts: [], length: 0 };
    this.#readFragment(this.#block, flag, hasPriority ? fragment.subarray(5) : fragment);
  }

  #readContinuation(flag: number, stream: number, payload: Buffer): void {
    if (this.#block?.stream !== stream) throw new Http2Error(protocolError);
    this.#readFragment(this.#block, flag, payload);
  }

  #readFragment(block: Block, flag: number, fragment: Buffer): void {
    block.parts.push(fragment);
    block.length += fragment.length;
    demand(block.length <= this.#maxBlockBytes && block.parts.length <= maxBlockFrames, enhanceYourCalm);
    if ((flag & flags.endHeaders) === 0) return;
    this.#block = undefined;
    const bytes = block.parts.length === 1 ? fragment : Buffer.concat(block.parts);
    this.#handler.onHeaders(block.stream, this.#listOf(bytes), block.endStream);
  }

  #listOf(block: Buffer): HeaderList {
    try {
      return this.#headers.read(block);
    } catch (error) {
      throw error instanceof HpackError ? new Http2Error(compressionError) : error;
    }
  }

  #readPriority(stream: number, payload: Buffer): void {
    demand(stream > 0, protocolError);
    this.#handler.onAside();
    if (payload.length !== 5) this.#handler.onStreamError(stream, frameSizeError);
    else if (dependsOn(stream, payload)) this.#handler.onStreamError(stream, protocolError);
  }

  #readReset(stream: number, payload: Buffer): void {
    demand(stream > 0, protocolError);
    demand(payload.length === 4, frameSizeError);
    this.#handler.onReset(stream, payload.readUInt32BE(0));
  }

  #readSettings(flag: number, stream: number, payload: Buffer): void {
    demand(stream === 0, protocolError);
    const isAck = (flag & flags.ack) !== 0;
    demand(isAck ? payload.length === 0 : payload.length % 6 === 0, frameSizeError);
    this.#hasSettings = true;
    if (isAck) this.#handler.onAside();
    else this.#readValues(payload);
  }

  #readValues(payload: Buffer): void {
    const values = new Map<number, number>();
    for (let at = 0; at < payload.length; at += 6) {
      const id = payload.readUInt16BE(at);
      if (id <= settings.maxHeaderListSize) values.set(id, payload.readUInt32BE(at + 2));
    }
    demand((values.get(settings.enablePush) ?? 0) <= 1, protocolError);
    demand((values.get(settings.initialWindowSize) ?? 0) <= maxWindow, flowControlError);
    const maxFrameSize = values.get(settings.maxFrameSize) ?? maxPayloadBytes;
    demand(maxFrameSize >= maxPayloadBytes && maxFrameSize < 2 ** 24, protocolError);
    this.#handler.onSettings(values);
  }

  #readPing(flag: number, stream: number, payload: Buffer): void {
    demand(stream === 0, protocolError);
    demand(payload.length === 8, frameSizeError);
    this.#handler.onAside();
    if ((flag & flags.ack) === 0) this.#handler.onPing(payload);
  }

  #readGoAway(stream: number, payload: Buffer): void {
    demand(stream === 0, protocolError);
    demand(payload.length >= 8, frameSizeError);
    this.#handler.onAside();
  }

  #readWindowUpdate(stream: number, payload: Buffer): void {
    demand(payload.length === 4, frameSizeError);
    this.#handler.onAside();
    const increment = payload.readUInt32BE(0) & maxWindow;
    if (increment > 0) this.#handler.onWindowUpdate(stream, increment);
    else if (stream > 0) this.#handler.onStreamError(stream, protocolError);
    else throw new Http2Error(protocolError);
  }
}

/** What a frame carries without its padding. */
function unpad(flag: number, payload: Buffer): Buffer {
  if ((flag & flags.padded) === 0) return payload;
  demand(payload.length > 0, frameSizeError);
  const paddingBytes = payload[0]!;
  demand(paddingBytes < payload.length, protocolError);
  return payload.subarray(1, payload.length - paddingBytes);
}

/** Whether a stream's priority, at the beginning of `bytes`, is to come after the stream itself. */
function dependsOn(stream: number, bytes: Buffer): boolean {
  return (bytes.readUInt32BE(0) & maxWindow) === stream;
}
