/**
 * Sending one complete answer: coding, length, HEAD, and what becomes of a request body that nobody read.
 *
 * Closing a connection while the client still sends makes its kernel throw our answer away. So over HTTP/1.1 an answer
 * to a large unread body goes out at once with `Connection: close`, and the connection is held, its input thrown away,
 * until the client has finished or a short time has passed. Over HTTP/2 it is thrown away as well, for as long as the
 * host lets it come.
 */
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { andThen, type Eventually } from "../eventually.ts";
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
}

const SMALL_BODY = 1024;
const MAX_DISCARDED = 64 * 1024;
const LINGER_MS = 2_000;

/** Sends an answer; does nothing when the client has gone. */
export function send(response: HttpResponse, answer: Answer): Eventually<void> {
  if (isOver(response)) {
    return;
  }
  const { body, headers } = answer;
  const length = Buffer.byteLength(body);
  if (length === 0 || answer.isRaw === true) {
    return end(response, answer.httpStatus, headers, body, length);
  }
  headers.vary = varyBy(response.getHeader("vary"), headers.vary);
  const coding = chooseCoding(headerOf(response.req, "accept-encoding"), length <= SMALL_BODY);
  if (coding === undefined) {
    return end(response, answer.httpStatus, headers, body, length);
  }
  headers["content-encoding"] = coding;
  return andThen(compress[coding](body), (coded) =>
    isOver(response) ? undefined : end(response, answer.httpStatus, headers, coded, coded.length),
  );
}

function end(
  response: HttpResponse,
  httpStatus: number,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array,
  length: number,
): Eventually<void> {
  headers["content-length"] = length;
  if (isWhole(response)) {
    return response.writeHead(httpStatus, headers).end(body, encodingOf(body, length));
  }
  const request = response.req;
  const nodeResponse = response as ServerResponse; // that of HTTP/2 does the same
  const content = request.method === "HEAD" ? "" : body;
  const unreadBytes = request.complete ? 0 : declaredLength(request);
  if (isHttp2(request) || unreadBytes <= MAX_DISCARDED) {
    nodeResponse.writeHead(httpStatus, headers).end(content, encodingOf(content, length));
    if (unreadBytes > 0) {
      request.resume();
    }
    return;
  }
  nodeResponse.writeHead(httpStatus, { ...headers, connection: "close" });
  nodeResponse.flushHeaders();
  nodeResponse.write(content);
  return discard(request).then(() => void nodeResponse.end());
}

/** What has as many bytes as characters is ASCII, and copied in two thirds of the time of encoding it. */
function encodingOf(content: string | Uint8Array, length: OutgoingHttpHeader | undefined): "latin1" | "utf8" {
  return content.length === length ? "latin1" : "utf8";
}

/** Reads and forgets the rest of a request, for a short time at most. */
async function discard(request: StreamedRequest): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, LINGER_MS);
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
