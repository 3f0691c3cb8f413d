/**
 * The fast lane of gRPC: unary calls, straight from the lane of HTTP/2. One message decoded, one call, one answer; no objects of Node's, no
 * iterables, no Headers. Answers are never compressed.
 *
 * Follows: gRPC over HTTP/2 (PROTOCOL-HTTP2.md).
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { Deadline } from "../rest/index.ts";
import { respellGrpcMessage } from "./grpc-message.ts";
import { parseGrpcTimeout } from "./grpc-timeout.ts";
import { nothing } from "./http2-frames.ts";
import type { LaneStream, ServeWhole } from "./http2-stream.ts";
import { unverifiedBytes } from "./incoming-bodies.ts";
import { beginCall, checkLength, endCall, type LaneOptions, readMaxBytesOf, readOrRefuse } from "./lane.ts";
import type { Touched } from "./local-call.ts";
import type { PlainFields } from "./plain-fields.ts";
import { addFields, PlainHeaders } from "./plain-headers.ts";
import type { UnaryMethod } from "./unary-methods.ts";

/** What the lane is made from. */
export interface GrpcLaneOptions extends LaneOptions {
  /** The header fields that every answer has. May complete those of the request. */
  answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** Whether it is known that more may be read than anybody may send. */
  isVerified?(headers: IncomingHttpHeaders): boolean;
}

/** Who answers a plain unary call once it is whole; undefined for any other. */
export type GrpcLane = (fields: PlainFields) => ServeWhole | undefined;

/** Flags and length before a message. */
const prefixBytes = 5;
const contentTypes = new Set(["application/grpc", "application/grpc+proto"]);

/** Creates the lane. */
export function createGrpcLane(options: GrpcLaneOptions): GrpcLane {
  const { methods, maxTimeoutMs } = options;
  return (fields) => {
    const method = methods.get(fields.url);
    if (method === undefined || !isPlain(fields)) return undefined;
    const timeout = fields.headers["grpc-timeout"];
    const timeoutMs = timeout === undefined ? undefined : parseGrpcTimeout(String(timeout));
    if (Number.isNaN(timeoutMs)) return undefined;
    const deadline = timeoutMs === undefined ? undefined : new Deadline(fields, Math.min(timeoutMs, maxTimeoutMs));
    return ({ wholeBody: bytes }, stream) => {
      const isForFullDoor =
        bytes.length > prefixBytes + readMaxBytesOf(options, method.method) ||
        (bytes.length > unverifiedBytes && options.isVerified?.(fields.headers) === false);
      const content = isForFullDoor ? undefined : contentOf(bytes);
      if (content === undefined) stream.handBack();
      else serve(options, method, content, deadline, stream, fields.headers);
    };
  };
}

function isPlain({ method, headers }: PlainFields): boolean {
  const encoding = headers["grpc-encoding"];
  return (
    method === "POST" &&
    contentTypes.has(headers["content-type"] ?? "") &&
    (encoding === undefined || encoding === "identity")
  );
}

/** The bytes of the message of a body that is exactly one, uncompressed. */
function contentOf(bytes: Buffer): Buffer | undefined {
  const isOne = bytes.length >= prefixBytes && bytes[0] === 0 && bytes.readUInt32BE(1) === bytes.length - prefixBytes;
  return isOne ? bytes.subarray(prefixBytes) : undefined;
}

function serve(
  options: GrpcLaneOptions,
  { method, readBinary, writeBinary }: UnaryMethod,
  content: Buffer,
  deadline: Deadline | undefined,
  stream: LaneStream,
  headers: IncomingHttpHeaders,
): void {
  const answerHeaders: OutgoingHttpHeaders = {
    "content-type": headers["content-type"],
    ...options.answerHeaders(headers),
  };
  const call = beginCall(
    (message) => options.transport.begin(method, message, new PlainHeaders(headers), deadline?.leftMs()),
    readOrRefuse(() => readBinary(content)),
  );
  if (call.answer instanceof Promise) stream.once("close", call.cancel);
  endCall(options, method, call, {
    answer(response) {
      const frame = writeBinary(response.message, prefixBytes);
      checkLength(frame.length - prefixBytes, options);
      deadline?.check();
      if (!stream.destroyed) answer(stream, answerHeaders, response, frame);
    },
    refuse(error) {
      if (!stream.destroyed) refuse(stream, answerHeaders, call.touched, error);
    },
    giveUp: () => stream.destroy(),
  });
}

function answer(
  stream: LaneStream,
  headers: OutgoingHttpHeaders,
  { touchedHeader, touchedTrailer }: Touched,
  frame: Uint8Array,
): void {
  const trailers: OutgoingHttpHeaders = { "grpc-status": "0" };
  addFields(headers, touchedHeader);
  addFields(trailers, touchedTrailer);
  const length = frame.length - prefixBytes;
  frame.set([0, length >>> 24, length >>> 16, length >>> 8, length]);
  stream.sendCall(headers, frame, trailers);
}

/** The error as status; in the headers alone ("Trailers-Only") unless the handler has set headers of its own. */
function refuse(
  stream: LaneStream,
  headers: OutgoingHttpHeaders,
  { touchedHeader, touchedTrailer }: Touched,
  error: ConnectError,
): void {
  const status = setTrailerStatus(new Headers(touchedTrailer), error);
  respellGrpcMessage(status);
  const trailers: OutgoingHttpHeaders = {};
  addFields(trailers, status);
  if (touchedHeader === undefined) {
    stream.sendCall({ ...headers, ...trailers }, nothing, undefined);
  } else {
    addFields(headers, touchedHeader);
    stream.sendCall(headers, nothing, trailers);
  }
}
