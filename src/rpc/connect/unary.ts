/**
 * The fast path of Connect: unary calls by POST, uncompressed. As with gRPC (`grpc/unary.ts`), the header fields decide
 * whether it takes a call, and a body that it cannot read falls back with the bytes that were read.
 *
 * Follows: the Connect protocol, https://connectrpc.com/docs/protocol#unary-request.
 */

import type { OutgoingHttpHeaders } from "node:http";
import type { Registry } from "@bufbuild/protobuf";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { addFields, type Touched } from "../../call/index.ts";
import type { IncomingBody } from "../../http/index.ts";
import {
  type BufferedRequest,
  type BufferedResponse,
  breakOff,
  Deadline,
  type PortRequest,
  type PortResponse,
  send,
  watchPiece,
} from "../../message/index.ts";
import { beginCall, checkLength, endCall, type FastPathOptions, readMaxBytesOf } from "../unary/fast-path.ts";
import type { UnaryMethod } from "../unary/methods.ts";
import { type ConnectHandlerOptions, jsonOptionsOf, restOf } from "./adapter.ts";

/** What the fast path is made from. */
interface ConnectFastPathOptions extends FastPathOptions {
  /** Finds the types of error details. */
  readonly registry: Registry;
  /** See {@link ConnectHandlerOptions.watchBody}. */
  readonly watchBody: ConnectHandlerOptions["watchBody"];
  /** Answers a request of which the fast path has read some; `body` gives all of its bytes. */
  fallBack(request: PortRequest, response: PortResponse, body: AsyncIterable<Uint8Array>): void;
}

/**
 * Answers simple unary calls to `path`. Both methods return false for any other request, of which they have read
 * nothing.
 */
interface ConnectFastPath {
  handle(path: string, request: PortRequest, response: PortResponse): boolean;
  handleBuffered(path: string, request: BufferedRequest, response: BufferedResponse): boolean;
}

/** How a call is read and answered. */
interface Plan {
  readonly method: UnaryMethod;
  readonly isJson: boolean;
  readonly deadline: Deadline | undefined;
  /** Maximum size of the request message, in bytes. */
  readonly maxBytes: number;
}

/** Creates the fast path. */
export function createConnectFastPath(options: ConnectFastPathOptions): ConnectFastPath {
  const { methods, maxTimeoutMs } = options;

  function planOf(path: string, request: PortRequest | BufferedRequest): Plan | undefined {
    const { method: httpMethod, headers } = request;
    if (httpMethod !== "POST") return undefined;
    const method = methods.get(path);
    if (method === undefined) return undefined;
    const isJson = isJsonType(headers["content-type"]);
    const encoding = headers["content-encoding"];
    if (isJson === undefined || (encoding !== undefined && encoding !== "identity")) return undefined;
    const timeout = headers["connect-timeout-ms"];
    if (timeout !== undefined && !/^\d{1,10}$/.test(String(timeout))) return undefined;
    const deadline = timeout === undefined ? undefined : new Deadline(request, Math.min(Number(timeout), maxTimeoutMs));
    const maxBytes = readMaxBytesOf(options, method.method);
    return Number(headers["content-length"] ?? 0) > maxBytes ? undefined : { method, isJson, deadline, maxBytes };
  }

  return {
    handle(path, request, response) {
      const plan = planOf(path, request);
      const watch = plan && options.watchBody?.(request, response, plan.method.method);
      if (plan === undefined || watch?.beginNow() === false) return false;
      const fallBack = (body: AsyncIterable<Uint8Array>) => options.fallBack(request, response, body);
      const serveBuffered = (bytes: Buffer) => {
        if (!request.aborted) serve(options, plan, bytes, request, response);
      };
      readBody(request, plan.maxBytes, watch, serveBuffered, fallBack);
      return true;
    },
    handleBuffered(path, request, response) {
      const { bufferedBody } = request;
      const plan = planOf(path, request);
      if (plan === undefined || bufferedBody.length > plan.maxBytes) return false;
      if (options.watchBody?.(request, response, plan.method.method)?.beginNow() === false) return false;
      serve(options, plan, bufferedBody, request, response);
      return true;
    },
  };
}

/** Whether the content is JSON rather than binary; undefined for anything that is not a unary message. */
function isJsonType(contentType: string | undefined): boolean | undefined {
  if (contentType === "application/json") return true;
  if (contentType === "application/proto") return false;
  return contentType !== undefined && /^application\/json; ?charset=utf-?8$/i.test(contentType) ? true : undefined;
}

function serve(
  options: ConnectFastPathOptions,
  { method: { method, readBinary, readJson, writeBinary, writeJson }, isJson, deadline }: Plan,
  bytes: Buffer,
  request: PortRequest | BufferedRequest,
  response: PortResponse | BufferedResponse,
): void {
  const common = options.answerHeaders(request.headers);
  const read = isJson ? readJson : readBinary;
  const call = beginCall(options, "connect", { method, request, response, deadline, read, content: bytes });
  if (call.answer instanceof Promise)
    (response as BufferedResponse).once("close", () => {
      if (!response.writableEnded) call.cancel();
    });
  endCall(options, method, call, {
    answer(answer) {
      const body = isJson ? writeJson(answer.message) : writeBinary(answer.message);
      // A character has at most three bytes, so only a text that may be too long is measured.
      checkLength(body.length * 3 > options.writeMaxBytes ? Buffer.byteLength(body) : body.length, options);
      const headers = headersOf(common, isJson ? "application/json" : "application/proto", answer);
      return send(response, { httpStatus: 200, headers, body, deadline });
    },
    refuse(error) {
      const { touchedHeader, touchedTrailer } = call.touched;
      const header = new Headers(touchedHeader);
      mergeNonProtocolHeaders(header, error.metadata);
      header.delete("content-type");
      const headers = headersOf(common, "application/json", { touchedHeader: header, touchedTrailer });
      const body = errorToJsonBytes(error, jsonOptionsOf(options.registry));
      return send(response, { httpStatus: codeToHttpStatus(error.code), headers, body });
    },
    giveUp: () => breakOff(response),
  });
}

function headersOf(
  common: OutgoingHttpHeaders,
  contentType: string,
  { touchedHeader, touchedTrailer }: Touched,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ...common, "content-type": contentType };
  addFields(headers, touchedHeader);
  addFields(headers, touchedTrailer, "trailer-");
  return headers;
}

/**
 * Reads all of a body. One that is longer than `maxBytes`, or that its watch stops, falls back: what was read, followed
 * by the rest.
 */
function readBody(
  body: PortRequest,
  maxBytes: number,
  watch: IncomingBody | undefined,
  onBody: (bytes: Buffer) => void,
  fallBack: (body: AsyncIterable<Uint8Array>) => void,
): void {
  if (body.readableEnded) return void onBody(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  let length = 0;
  const end = () => {
    // Node keeps an HTTP/2 stream for some time after its end; it must not keep the chunks alive.
    body.off("data", take);
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
    const completing = watch?.complete();
    if (completing instanceof Promise) void completing.then(() => onBody(bytes));
    else onBody(bytes);
  };
  const leave = (rest: AsyncIterable<Uint8Array>) => {
    body.off("data", take).off("end", end);
    body.pause();
    fallBack(all(chunks, rest));
  };
  const take = (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) leave(restOf(body, watch));
    else watchPiece(body, chunk.length, watch, (reason) => leave(failing(reason)));
  };
  body.on("data", take).once("end", end);
}

/** The rest of a body that must not be read. */
function failing(reason: unknown): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) };
}

/** What was read of a body, followed by the rest. */
async function* all(read: readonly Uint8Array[], rest: AsyncIterable<Uint8Array> | readonly Uint8Array[] = []) {
  yield* read;
  yield* rest;
}
