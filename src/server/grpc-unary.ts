/**
 * The fast lane of gRPC: unary calls over HTTP/2, straight from the stream. One body read, one message decoded, one call, one answer; no request
 * and response objects, no iterables, no Headers. Answers are never compressed.
 *
 * Follows: gRPC over HTTP/2 (PROTOCOL-HTTP2.md).
 */
import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { respellGrpcMessage } from "./grpc-message.ts";
import { parseGrpcTimeout } from "./grpc-timeout.ts";
import { all, checkLength, endCall, type LaneOptions, readWhole } from "./lane.ts";
import type { Touched } from "./local-call.ts";
import { addFields, PlainHeaders } from "./plain-headers.ts";
import type { UnaryMethod } from "./unary-methods.ts";

/** What the lane is made from. */
export interface GrpcLaneOptions extends LaneOptions {
  /** The header fields that every answer has. May complete those of the request. */
  answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** Answers for a stream that this lane has begun to read; `body` gives all of its bytes. */
  handBack(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: AsyncIterable<Uint8Array>): void;
}

/** Takes the stream of a plain unary call; false for any other, untouched. */
export type GrpcLane = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;

/** Flags and length before a message. */
const prefixBytes = 5;
const contentTypes = new Set(["application/grpc", "application/grpc+proto"]);

/** Creates the lane. */
export function createGrpcLane(options: GrpcLaneOptions): GrpcLane {
  const { methods, readMaxBytes, maxTimeoutMs } = options;
  return (stream, headers) => {
    const method = methods.get(headers[":path"] ?? "");
    if (method === undefined || !isPlain(headers)) return false;
    const timeout = headers["grpc-timeout"];
    const timeoutMs = timeout === undefined ? undefined : parseGrpcTimeout(String(timeout));
    if (Number.isNaN(timeoutMs)) return false;
    const deadline = timeoutMs === undefined ? undefined : performance.now() + Math.min(timeoutMs, maxTimeoutMs);

    const handBack = (body: AsyncIterable<Uint8Array>) => options.handBack(stream, headers, body);
    const serveWhole = (bytes: Buffer) => {
      if (stream.closed) return; // Node also ends what the loss of a connection cuts off.
      const message = readMessage(method, bytes);
      if (message === undefined) handBack(all([bytes]));
      else serve(options, method, message, deadline, stream, headers);
    };
    readWhole(stream, prefixBytes + readMaxBytes, serveWhole, handBack);
    return true;
  };
}

function isPlain(headers: IncomingHttpHeaders): boolean {
  const encoding = headers["grpc-encoding"];
  return (
    headers[":method"] === "POST" &&
    contentTypes.has(headers["content-type"] ?? "") &&
    (encoding === undefined || encoding === "identity")
  );
}

/** The message of a body that is exactly one, uncompressed. */
function readMessage(method: UnaryMethod, bytes: Buffer) {
  if (bytes.length < prefixBytes || bytes[0] !== 0 || bytes.readUInt32BE(1) !== bytes.length - prefixBytes)
    return undefined;
  try {
    return method.readBinary(bytes.subarray(prefixBytes));
  } catch {
    return undefined; // the full door reads it again and says why not
  }
}

function serve(
  options: GrpcLaneOptions,
  { method, writeBinary }: UnaryMethod,
  message: Parameters<UnaryMethod["writeBinary"]>[0],
  deadline: number | undefined,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  const answerHeaders: OutgoingHttpHeaders = {
    ":status": 200,
    "content-type": headers["content-type"],
    ...options.answerHeaders(headers),
  };
  const timeoutMs = deadline === undefined ? undefined : deadline - performance.now();
  const call = options.transport.begin(method, message, new PlainHeaders(headers), timeoutMs);
  if (call.answer instanceof Promise) stream.once("close", call.cancel);
  endCall(options, method, call, {
    answer(response) {
      const frame = writeBinary(response.message, prefixBytes);
      checkLength(frame.length - prefixBytes, options);
      if (!stream.closed) answer(stream, answerHeaders, response, frame);
    },
    refuse(error) {
      if (!stream.closed) refuse(stream, answerHeaders, call.touched, error);
    },
    giveUp: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  });
}

function answer(
  stream: ServerHttp2Stream,
  headers: OutgoingHttpHeaders,
  { touchedHeader, touchedTrailer }: Touched,
  frame: Uint8Array,
): void {
  const trailers: OutgoingHttpHeaders = { "grpc-status": "0" };
  addFields(headers, touchedHeader);
  addFields(trailers, touchedTrailer);
  const length = frame.length - prefixBytes;
  frame.set([0, length >>> 24, length >>> 16, length >>> 8, length]);
  send(stream, headers, trailers, frame);
}

/** The error as status; in the headers alone ("Trailers-Only") unless the handler has set headers of its own. */
function refuse(
  stream: ServerHttp2Stream,
  headers: OutgoingHttpHeaders,
  { touchedHeader, touchedTrailer }: Touched,
  error: ConnectError,
): void {
  const status = setTrailerStatus(new Headers(touchedTrailer), error);
  respellGrpcMessage(status);
  const trailers: OutgoingHttpHeaders = {};
  addFields(trailers, status);
  if (touchedHeader === undefined) {
    stream.respond({ ...headers, ...trailers }, { endStream: true });
  } else {
    addFields(headers, touchedHeader);
    send(stream, headers, trailers);
  }
}

function send(
  stream: ServerHttp2Stream,
  headers: OutgoingHttpHeaders,
  trailers: OutgoingHttpHeaders,
  frame?: Uint8Array,
): void {
  stream.respond(fieldsOf(headers), { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(frame);
}

/** Fields that are hardly ever the same again: in the table of HPACK they would take the place of those that are. */
const unindexed = ["x-request-id", "etag"];

/** Names and values in turn. Node sends a list as it is; an object is first copied into one that is slow to read, and kept with the stream. */
function fieldsOf(headers: OutgoingHttpHeaders): string[] {
  const fields: string[] = [];
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (Array.isArray(value)) for (const one of value) fields.push(name, one);
    else fields.push(name, String(value));
  }
  return Object.assign(fields, { [sensitiveHeaders]: unindexed });
}
