/** Frames of HTTP/2, RFC 9113 sections 4, 6 and 7: their numbers, and how they are written. */
import { type FieldList, maxFieldBytes, noTable, writeField } from "./hpack/hpack.ts";

/** The client's connection preface. */
export const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** Bytes before the payload of a frame. */
export const headBytes = 9;
/** The longest payload that is read or written. Every peer accepts it, without SETTINGS. */
export const maxPayloadBytes = 16_384;
/** The initial window of a stream and of a connection, in bytes. */
export const defaultWindow = 65_535;
/** The largest window, and the highest id of a stream. */
export const maxWindow = 2 ** 31 - 1;

/** Types of frames. */
export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags of frames. Their meaning depends on the type. */
export const flags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Error codes. */
export const errors = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

/** Identifiers of settings. */
export const settings = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** A frame. */
export function frame(type: number, flag: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + payload.length);
  writeHead(bytes, 0, payload.length, type, flag, stream);
  bytes.set(payload, headBytes);
  return bytes;
}

/** A frame that consists of 32-bit numbers: RST_STREAM, WINDOW_UPDATE, GOAWAY. */
export function numbersFrame(type: number, stream: number, ...numbers: number[]): Buffer {
  const payload = Buffer.allocUnsafe(numbers.length * 4);
  for (const [i, number] of numbers.entries()) payload.writeUInt32BE(number, i * 4);
  return frame(type, 0, stream, payload);
}

/** A SETTINGS frame. `values`: by identifier. */
export function settingsFrame(values: ReadonlyMap<number, number>): Buffer {
  const payload = Buffer.allocUnsafe(values.size * 6);
  let at = 0;
  for (const [id, value] of values) {
    payload.writeUInt16BE(id, at);
    payload.writeUInt32BE(value, at + 2);
    at += 6;
  }
  return frame(types.settings, 0, 0, payload);
}

/** An empty payload. */
export const emptyBuffer: Buffer = Buffer.alloc(0);

/**
 * The frames of a complete response: a header list, content and trailers, if there are any. The last frame ends the
 * stream.
 */
export function messageFrames(
  stream: number,
  head: FieldList,
  content: Uint8Array,
  trailers: FieldList | undefined,
  fixed: Buffer,
): Buffer {
  const trailerBytes = trailers === undefined ? 0 : listBytes(trailers);
  reserve(fixed.length + listBytes(head) + partsBytes(content) + trailerBytes);
  const contentFlag = trailers === undefined ? flags.endStream : 0;
  let end = writeList(0, stream, head, content.length === 0 ? contentFlag : 0, fixed);
  end = writeParts(end, stream, content, types.data, contentFlag);
  if (trailers !== undefined) end = writeList(end, stream, trailers, flags.endStream);
  const frames = Buffer.allocUnsafe(end);
  scratch.copy(frames, 0, 0, end);
  return frames;
}

/** The frames of a header list. */
export function listFrames(stream: number, fields: FieldList, flag: number): Buffer {
  reserve(listBytes(fields));
  return Buffer.from(scratch.subarray(0, writeList(0, stream, fields, flag)));
}

/** The frames of content; one frame if it is empty. */
export function dataFrames(stream: number, content: Uint8Array, flag: number): Buffer {
  if (content.length <= maxPayloadBytes) return frame(types.data, flag, stream, content);
  reserve(partsBytes(content));
  return Buffer.from(scratch.subarray(0, writeParts(0, stream, content, types.data, flag)));
}

function partsBytes(content: Uint8Array): number {
  return content.length + Math.ceil(content.length / maxPayloadBytes) * headBytes;
}

const scratchBytes = 64 * 1024;
/** The buffer that frames are written to before their length is known. */
let scratch = Buffer.allocUnsafeSlow(scratchBytes);

function reserve(bytes: number): void {
  if (bytes > scratch.length || scratch.length > scratchBytes)
    scratch = Buffer.allocUnsafeSlow(Math.max(bytes, scratchBytes));
}

function writeHead(to: Buffer, at: number, length: number, type: number, flag: number, stream: number): void {
  to[at] = length >>> 16;
  to[at + 1] = length >>> 8;
  to[at + 2] = length;
  to[at + 3] = type;
  to[at + 4] = flag;
  to.writeUInt32BE(stream, at + 5);
}

/** The maximum number of bytes that {@link writeList} writes. */
function listBytes(fields: FieldList): number {
  let bytes = headBytes + 1;
  for (let i = 0; i < fields.length; i += 2) bytes += maxFieldBytes(fields[i]!, fields[i + 1]!);
  return bytes + Math.floor(bytes / maxPayloadBytes) * headBytes;
}

/** Writes HEADERS, and CONTINUATION if one frame is too short. Returns the end. */
function writeList(at: number, stream: number, fields: FieldList, flag: number, fixed = emptyBuffer): number {
  const start = at + headBytes;
  scratch[start] = noTable;
  let end = start + 1;
  for (let i = 0; i < fields.length; i += 2) end = writeField(scratch, end, fields[i]!, fields[i + 1]!);
  end += fixed.copy(scratch, end);
  const isOne = end - start <= maxPayloadBytes;
  writeHead(
    scratch,
    at,
    Math.min(end - start, maxPayloadBytes),
    types.headers,
    isOne ? flag | flags.endHeaders : flag,
    stream,
  );
  if (isOne) return end;
  const rest = Buffer.from(scratch.subarray(start + maxPayloadBytes, end));
  return writeParts(start + maxPayloadBytes, stream, rest, types.continuation, flags.endHeaders);
}

/** Writes frames of one type, the last with a flag. Returns the end. */
function writeParts(at: number, stream: number, bytes: Uint8Array, type: number, lastFlag: number): number {
  let end = at;
  for (let from = 0; from < bytes.length; from += maxPayloadBytes) {
    const part = bytes.length <= maxPayloadBytes ? bytes : bytes.subarray(from, from + maxPayloadBytes);
    writeHead(scratch, end, part.length, type, from + part.length === bytes.length ? lastFlag : 0, stream);
    scratch.set(part, end + headBytes);
    end += headBytes + part.length;
  }
  return end;
}
