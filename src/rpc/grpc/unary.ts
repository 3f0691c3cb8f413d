/**
 * The fast path of gRPC: unary calls over our own HTTP/2, without Node's request and response, iterables or Headers.
 * Answers are never compressed.
 *
 * Follows: gRPC over HTTP/2 (PROTOCOL-HTTP2.md).
 */

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { addFields, type BegunCall, type LocalAnswer, type Touched } from "../../call/index.ts";
import {
  emptyBuffer,
  type FieldList,
  fieldList,
  type Http2Stream,
  type RequestHead,
  type ServeBuffered,
  unverifiedBytes,
} from "../../http/index.ts";
import { type BufferedRequest, Deadline } from "../../message/index.ts";
import {
  beginCall,
  checkLength,
  type Ending,
  endCall,
  type FastPathOptions,
  readMaxBytesOf,
} from "../unary/fast-path.ts";
import type { UnaryMethod } from "../unary/methods.ts";
import { encodeGrpcMessage } from "./message.ts";
import { parseGrpcTimeout } from "./timeout.ts";

/** What the fast path is made from. */
interface GrpcFastPathOptions extends FastPathOptions {
  /**
   * Whether the bearer token in a header is known to be valid; without one a body has at most {@link unverifiedBytes}.
   * Absent: all are.
   */
  isVerified?(headers: IncomingHttpHeaders): boolean;
}

/** Decides by its head how a simple unary call is answered once it is buffered; undefined for any other request. */
type GrpcFastPath = (head: RequestHead) => ServeBuffered | undefined;

/** The flag and the length before a message. */
const prefixBytes = 5;
const contentTypes = new Set(["application/grpc", "application/grpc+proto"]);

/** Creates the fast path. */
export function createGrpcFastPath(options: GrpcFastPathOptions): GrpcFastPath {
  const { methods, maxTimeoutMs } = options;
  return (head) => {
    const method = methods.get(head.url);
    if (method === undefined || !isSimple(head)) return undefined;
    const timeout = head.headers["grpc-timeout"];
    const timeoutMs = timeout === undefined ? undefined : parseGrpcTimeout(String(timeout));
    if (Number.isNaN(timeoutMs)) return undefined;
    const deadline = timeoutMs === undefined ? undefined : new Deadline(head, Math.min(timeoutMs, maxTimeoutMs));
    return (request, stream) => {
      const { bufferedBody: bytes } = request;
      const mustFallBack =
        bytes.length > prefixBytes + readMaxBytesOf(options, method.method) ||
        (bytes.length > unverifiedBytes && options.isVerified?.(head.headers) === false);
      const content = mustFallBack ? undefined : contentOf(bytes);
      if (content === undefined) stream.fallBack();
      else serve(options, method, content, deadline, stream, request);
    };
  };
}

function isSimple({ method, headers }: RequestHead): boolean {
  const encoding = headers["grpc-encoding"];
  return (
    method === "POST" &&
    contentTypes.has(headers["content-type"] ?? "") &&
    (encoding === undefined || encoding === "identity")
  );
}

/** The message of a body that is exactly one, uncompressed; otherwise undefined. */
function contentOf(bytes: Buffer): Buffer | undefined {
  const isOne = bytes.length >= prefixBytes && bytes[0] === 0 && bytes.readUInt32BE(1) === bytes.length - prefixBytes;
  return isOne ? bytes.subarray(prefixBytes) : undefined;
}

function serve(
  options: GrpcFastPathOptions,
  { method, readBinary, writeBinary }: UnaryMethod,
  content: Buffer,
  deadline: Deadline | undefined,
  stream: Http2Stream,
  request: BufferedRequest,
): void {
  const { headers } = request;
  const answerHeaders: OutgoingHttpHeaders = {
    "content-type": headers["content-type"],
    ...options.answerHeaders(headers),
  };
  const call = beginCall(options, "grpc", {
    method,
    request,
    response: stream,
    deadline,
    read: readBinary,
    content,
  });
  if (call.answer instanceof Promise) stream.once("close", () => call.cancel());
  endCall(options, method, call, new GrpcEnding(stream, answerHeaders, call, writeBinary, deadline, options));
}

/** How a call of gRPC ends. */
class GrpcEnding implements Ending {
  readonly #stream: Http2Stream;
  readonly #headers: OutgoingHttpHeaders;
  readonly #call: BegunCall;
  readonly #write: UnaryMethod["writeBinary"];
  readonly #deadline: Deadline | undefined;
  readonly #limits: Pick<FastPathOptions, "writeMaxBytes">;

  constructor(
    stream: Http2Stream,
    headers: OutgoingHttpHeaders,
    call: BegunCall,
    write: UnaryMethod["writeBinary"],
    deadline: Deadline | undefined,
    limits: Pick<FastPathOptions, "writeMaxBytes">,
  ) {
    this.#stream = stream;
    this.#headers = headers;
    this.#call = call;
    this.#write = write;
    this.#deadline = deadline;
    this.#limits = limits;
  }

  answer(response: LocalAnswer): void {
    const frame = this.#write(response.message, prefixBytes);
    checkLength(frame.length - prefixBytes, this.#limits);
    this.#deadline?.check();
    if (!this.#stream.destroyed) answer(this.#stream, this.#headers, response, frame);
  }

  refuse(error: ConnectError): void {
    if (!this.#stream.destroyed) refuse(this.#stream, this.#headers, this.#call.touched, error);
  }

  giveUp(): void {
    this.#stream.destroy();
  }
}

function answer(
  stream: Http2Stream,
  headers: OutgoingHttpHeaders,
  { touchedHeader, touchedTrailer }: Touched,
  frame: Uint8Array,
): void {
  addFields(headers, touchedHeader);
  const length = frame.length - prefixBytes;
  frame[0] = 0;
  frame[1] = length >>> 24;
  frame[2] = length >>> 16;
  frame[3] = length >>> 8;
  frame[4] = length;
  stream.sendCall(headers, frame, touchedTrailer === undefined ? success : withFields(touchedTrailer));
}

const success = fieldList({ "grpc-status": "0" });

function withFields(touchedTrailer: Headers): FieldList {
  const trailers: OutgoingHttpHeaders = { "grpc-status": "0" };
  addFields(trailers, touchedTrailer);
  return fieldList(trailers);
}

/** Sends an error: with the headers alone ("Trailers-Only"), unless the handler has set headers of its own. */
function refuse(
  stream: Http2Stream,
  headers: OutgoingHttpHeaders,
  { touchedHeader, touchedTrailer }: Touched,
  error: ConnectError,
): void {
  const status = setTrailerStatus(new Headers(touchedTrailer), error);
  encodeGrpcMessage(status);
  const trailers: OutgoingHttpHeaders = {};
  addFields(trailers, status);
  if (touchedHeader === undefined) {
    stream.sendCall({ ...headers, ...trailers }, emptyBuffer, undefined);
  } else {
    addFields(headers, touchedHeader);
    stream.sendCall(headers, emptyBuffer, fieldList(trailers));
  }
}
