/**
 * Sending one complete answer: coding, length, HEAD, and what becomes of a request body that nobody read.
 *
 * Closing a connection while the client still sends makes its kernel throw our answer away. So over HTTP/1.1 an answer
 * to a large unread body goes out at once with `Connection: close`, and the connection is held, a little of its input
 * thrown away, until the client has finished or a short time has passed. Over HTTP/2 it is thrown away as well, for as long as the
 * host lets it come.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { andThen, type Eventually } from "../eventually.ts";
import type { Deadline } from "./deadline.ts";
import { declaredLength, type HttpResponse, headerOf, isHttp2, isOver, isWhole, type StreamedRequest } from "./http.ts";
import { type Coding, chooseCoding } from "./negotiation.ts";

/** A complete answer. */
export interface Answer {
  readonly httpStatus: number;
  /** Completed in place. */
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | Uint8Array;
  /** Send the body as it is, never compressed. */
  readonly isRaw?: boolean | undefined;
  /** After it, DEADLINE_EXCEEDED is thrown instead. */
  readonly deadline?: Deadline | undefined;
}

const SMALL_BODY = 1024;
/** Of so much that is still to come of a request, the connection waits for the end. */
const MAX_DISCARDED = 16 * 1024;
const LINGER_MS = 2_000;

/** Sends an answer; does nothing when the client has gone. Errors: DEADLINE_EXCEEDED. */
export function send(response: HttpResponse, answer: Answer): Eventually<void> {
  if (isOver(response)) {
    return;
  }
  const { body, headers } = answer;
  const length = Buffer.byteLength(body);
  answer.deadline?.check();
  const isUnmodified = answer.httpStatus === 304;
  if (!isUnmodified && (length === 0 || answer.isRaw === true)) {
    return end(response, answer.httpStatus, headers, body, length);
  }
  headers.vary = varyBy(response.getHeader("vary"), headers.vary);
  if (isUnmodified) {
    return end(response, answer.httpStatus, headers, body, undefined);
  }
  const coding = chooseCoding(headerOf(response.req, "accept-encoding"), length <= SMALL_BODY);
  if (coding === undefined) {
    return end(response, answer.httpStatus, headers, body, length);
  }
  headers["content-encoding"] = coding;
  return andThen(compress[coding](body), (coded) => {
    answer.deadline?.check();
    return isOver(response) ? undefined : end(response, answer.httpStatus, headers, coded, coded.length);
  });
}

function end(
  response: HttpResponse,
  httpStatus: number,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array,
  length: number | undefined,
): Eventually<void> {
  if (length !== undefined) {
    headers["content-length"] = length;
  }
  if (isWhole(response)) {
    return response.writeHead(httpStatus, headers).end(body, encodingOf(body, length));
  }
  const request = response.req;
  const nodeResponse = response as ServerResponse; // that of HTTP/2 does the same
  const content = request.method === "HEAD" ? "" : body;
  if (!isLongUnread(request)) {
    nodeResponse.writeHead(httpStatus, headers).end(content, encodingOf(content, length));
    if (!request.complete) {
      request.resume();
    }
    return;
  }
  nodeResponse.writeHead(httpStatus, { ...headers, connection: "close" });
  nodeResponse.flushHeaders();
  nodeResponse.write(content);
  return discardBody(request).then(() => void nodeResponse.end());
}

/** What has as many bytes as characters is ASCII, and copied in two thirds of the time of encoding it. */
function encodingOf(content: string | Uint8Array, length: OutgoingHttpHeader | undefined): "latin1" | "utf8" {
  return content.length === length ? "latin1" : "utf8";
}

/** Whether so much is still to come of a request by HTTP/1.1 that its connection is closed after the answer. */
export function isLongUnread(request: StreamedRequest): boolean {
  return !isHttp2(request) && !request.complete && declaredLength(request) > MAX_DISCARDED;
}

/** Waits a short time for the end of a request, and reads and forgets a little of it: enough for a client that sends all before it reads. */
export async function discardBody(request: StreamedRequest): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, LINGER_MS);
  let discarded = 0;
  request.on("data", (chunk: Uint8Array) => {
    discarded += chunk.length;
    if (discarded <= MAX_DISCARDED) return;
    request.pause();
    if (!isHttp2(request)) (request as IncomingMessage).socket.pause(); // or the next piece would be read, and kept
  });
  request.once("end", resolve).once("close", resolve).once("error", resolve).resume();
  await promise;
  clearTimeout(timer);
}

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

const compress: Readonly<Record<Coding, (body: string | Uint8Array) => Promise<Buffer>>> = {
  gzip: (body) => gzipAsync(body),
  // The default, 11, is meant for files compressed once and costs a hundred times more.
  br: (body) => brotliAsync(body, { params: { [zlib.BROTLI_PARAM_QUALITY]: 4 } }),
};

/** `Vary` with what the host and the call have put there. */
function varyBy(...earlier: (number | string | readonly string[] | undefined)[]): string {
  return earlier.reduceRight<string>(
    (text, value) => (value === undefined ? text : `${value}, ${text}`),
    "Accept-Encoding",
  );
}
