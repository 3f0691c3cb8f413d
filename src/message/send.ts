/**
 * Sends one complete response: coding, length, HEAD, and the rest of a request body that was not read.
 *
 * If a connection is closed while the client still sends, its kernel discards the response. So over HTTP/1.1 the
 * response to a large unread body is sent at once with `Connection: close`. The connection stays open, and a little of
 * its input is discarded, until the client has finished or a short time has passed. Over HTTP/2 the rest of the body is
 * discarded as long as the port lets it come.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { type Awaitable, chain } from "../awaitable.ts";
import type { Deadline } from "./deadline.ts";
import {
  declaredLength,
  type HttpResponse,
  headerOf,
  isBuffered,
  isHttp2,
  isOver,
  type PortRequest,
} from "./message.ts";
import { type Coding, chooseCoding } from "./negotiation.ts";

/** A complete response. */
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

/** Statuses of responses without content. 204 and 304 have no `Content-Length` either. */
const bodiless = new Set([204, 205, 304]);
const smallBodyBytes = 1024;
/** Maximum number of bytes of an unread body that are discarded; a longer one closes its connection. */
const maxDiscardedBytes = 16 * 1024;
const lingerMs = 2_000;

/** Sends a response, unless the client has gone. Errors: DEADLINE_EXCEEDED. */
export function send(response: HttpResponse, answer: Answer): Awaitable<void> {
  if (isOver(response)) return;
  const { httpStatus, headers } = answer;
  const body = bodiless.has(httpStatus) ? "" : answer.body;
  const length = Buffer.byteLength(body);
  answer.deadline?.check();
  const isUnmodified = httpStatus === 304;
  const isCodable = isUnmodified || (length > 0 && answer.isRaw !== true);
  const coded = isCodable ? "Accept-Encoding" : undefined;
  const set = response.getHeader("vary");
  const vary = set === undefined && headers.vary === undefined ? coded : joinVary(set, headers.vary, coded);
  if (vary !== undefined) headers.vary = vary;
  if (!isCodable || isUnmodified)
    return end(response, httpStatus, headers, body, isUnmodified || httpStatus === 204 ? undefined : length);
  const coding = chooseCoding(headerOf(response.req, "accept-encoding"), length <= smallBodyBytes);
  if (coding === undefined) return end(response, httpStatus, headers, body, length);
  headers["content-encoding"] = coding;
  return chain(compress[coding](body), (coded) => {
    answer.deadline?.check();
    return isOver(response) ? undefined : end(response, httpStatus, headers, coded, coded.length);
  });
}

function end(
  response: HttpResponse,
  httpStatus: number,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array,
  length: number | undefined,
): Awaitable<void> {
  if (length !== undefined) headers["content-length"] = length;
  if (isBuffered(response)) return response.writeHead(httpStatus, headers).end(body, encodingOf(body, length));
  const request = response.req;
  const nodeResponse = response as ServerResponse; // that of HTTP/2 has the same methods
  const content = request.method === "HEAD" ? "" : body;
  if (!isLongUnread(request)) {
    nodeResponse.writeHead(httpStatus, headers).end(content, encodingOf(content, length));
    if (!request.complete) request.resume();
    return;
  }
  nodeResponse.writeHead(httpStatus, { ...headers, connection: "close" });
  nodeResponse.flushHeaders();
  nodeResponse.write(content);
  return discardBody(request).then(() => void nodeResponse.end());
}

/** A text with as many bytes as characters is ASCII, and `latin1` writes it in two thirds of the time of `utf8`. */
function encodingOf(content: string | Uint8Array, length: OutgoingHttpHeader | undefined): "latin1" | "utf8" {
  return content.length === length ? "latin1" : "utf8";
}

/** Whether so much of an HTTP/1.1 request is still to come that its connection is closed after the response. */
export function isLongUnread(request: PortRequest): boolean {
  return !isHttp2(request) && !request.complete && declaredLength(request) > maxDiscardedBytes;
}

/**
 * Waits a short time for the end of a request and discards a little of it, enough for a client that sends everything
 * before it reads.
 */
export async function discardBody(request: PortRequest): Promise<void> {
  let resolve!: () => void;
  const promise = new Promise<void>((onEnd) => {
    resolve = onEnd;
  });
  const timer = setTimeout(resolve, lingerMs);
  let discarded = 0;
  request.on("data", (chunk: Uint8Array) => {
    discarded += chunk.length;
    if (discarded <= maxDiscardedBytes) return;
    request.pause();
    if (!isHttp2(request)) (request as IncomingMessage).socket.pause(); // or the next piece would be read and kept
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

/** Adds a name to the field `Vary` of a response whose head is not sent. */
export function addVary(response: HttpResponse, name: string): void {
  response.setHeader("vary", joinVary(response.getHeader("vary"), name) as string);
}

/** The field `Vary` of several values, each name once; undefined for none. */
export function joinVary(...values: (OutgoingHttpHeader | undefined)[]): string | undefined {
  const given = values.filter((value) => value !== undefined);
  if (given.length < 2) return given[0] === undefined ? undefined : String(given[0]);
  return [...new Set(String(given).split(/\s*,\s*/))].join(", ");
}
