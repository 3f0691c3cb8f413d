/**
 * The fast lane of Connect: unary calls by POST, straight from request and response. As with gRPC (`grpc-unary.ts`), headers alone decide, and what
 * cannot be read after all is handed back with its bytes.
 *
 * Follows: the Connect protocol, https://connectrpc.com/docs/protocol#unary-request.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { Registry } from "@bufbuild/protobuf";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { breakOff, Deadline, send, type WholeRequest, type WholeResponse, watchPiece } from "../rest/index.ts";
import { type ConnectHandlerOptions, jsonOptionsOf, restOf } from "./connect-adapter.ts";
import type { IncomingBody } from "./incoming-bodies.ts";
import { beginCall, checkLength, endCall, type LaneOptions, readMaxBytesOf, readOrRefuse } from "./lane.ts";
import type { Touched } from "./local-call.ts";
import type { PortRequest, PortResponse } from "./one-port.ts";
import { addFields, PlainHeaders } from "./plain-headers.ts";
import type { UnaryMethod } from "./unary-methods.ts";

/** What the lane is made from. */
export interface ConnectLaneOptions extends LaneOptions {
  /** Finds the types of error details. */
  readonly registry: Registry;
  /** The header fields that every answer has. May complete those of the request. */
  answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** As the full door's: {@link ConnectHandlerOptions.watchBody}. */
  readonly watchBody: ConnectHandlerOptions["watchBody"];
  /** Answers a request that this lane has begun to read; `body` gives all of its bytes. */
  handBack(request: PortRequest, response: PortResponse, body: AsyncIterable<Uint8Array>): void;
}

/** Takes plain unary calls to `path`; both ways in are false for any other, untouched. */
export interface ConnectLane {
  take(path: string, request: PortRequest, response: PortResponse): boolean;
  /** Takes what has come whole. */
  takeWhole(path: string, request: WholeRequest, response: WholeResponse): boolean;
}

/** How a call is read and answered. */
interface Plan {
  readonly method: UnaryMethod;
  readonly isJson: boolean;
  readonly deadline: Deadline | undefined;
  /** Of the request. */
  readonly maxBytes: number;
}

/** Creates the lane. */
export function createConnectLane(options: ConnectLaneOptions): ConnectLane {
  const { methods, maxTimeoutMs } = options;

  function planOf(path: string, request: PortRequest | WholeRequest): Plan | undefined {
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
    take(path, request, response) {
      const plan = planOf(path, request);
      const watch = plan && options.watchBody?.(request, response, plan.method.method);
      if (plan === undefined || watch?.beginNow() === false) return false;
      const handBack = (body: AsyncIterable<Uint8Array>) => options.handBack(request, response, body);
      const serveWhole = (bytes: Buffer) => {
        if (request.aborted) return;
        serve(options, plan, bytes, request, response);
      };
      readWhole(request, plan.maxBytes, watch, serveWhole, handBack);
      return true;
    },
    takeWhole(path, request, response) {
      const { wholeBody } = request;
      const plan = planOf(path, request);
      if (plan === undefined || wholeBody.length > plan.maxBytes) return false;
      if (options.watchBody?.(request, response, plan.method.method)?.beginNow() === false) return false;
      serve(options, plan, wholeBody, request, response);
      return true;
    },
  };
}

/** Whether the content is JSON or else binary; undefined for anything that is no unary message. */
function isJsonType(contentType: string | undefined): boolean | undefined {
  if (contentType === "application/json") return true;
  if (contentType === "application/proto") return false;
  return contentType !== undefined && /^application\/json; ?charset=utf-?8$/i.test(contentType) ? true : undefined;
}

function serve(
  options: ConnectLaneOptions,
  { method: { method, readBinary, readJson, writeBinary, writeJson }, isJson, deadline }: Plan,
  bytes: Buffer,
  request: PortRequest | WholeRequest,
  response: PortResponse | WholeResponse,
): void {
  const common = options.answerHeaders(request.headers);
  const call = beginCall(
    (message) => options.transport.begin(method, message, new PlainHeaders(request.headers), deadline?.leftMs()),
    readOrRefuse(() => (isJson ? readJson(bytes) : readBinary(bytes))),
  );
  if (call.answer instanceof Promise)
    (response as WholeResponse).once("close", () => {
      if (!response.writableEnded) call.cancel();
    });
  endCall(options, method, call, {
    answer(answer) {
      const body = isJson ? writeJson(answer.message) : writeBinary(answer.message);
      // A character has three bytes at most: only what may be too long is measured.
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

/** Reads a body whole, unless it is longer than `maxBytes` or its watch stops it: then what was read and what is left is handed back. */
function readWhole(
  body: PortRequest,
  maxBytes: number,
  watch: IncomingBody | undefined,
  onWhole: (bytes: Buffer) => void,
  handBack: (body: AsyncIterable<Uint8Array>) => void,
): void {
  if (body.readableEnded) return void onWhole(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  let length = 0;
  const end = () => {
    // Node keeps a stream of HTTP/2 for some time after its end; it must not keep what was read from it.
    body.off("data", take);
    onWhole(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
  };
  const leave = (rest: AsyncIterable<Uint8Array>) => {
    body.off("data", take).off("end", end);
    body.pause();
    handBack(all(chunks, rest));
  };
  const take = (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) leave(restOf(body, watch));
    else watchPiece(body, chunk.length, watch, (reason) => leave(failing(reason)));
  };
  body.on("data", take).once("end", end);
}

/** What is left of a body that must not be read. */
function failing(reason: unknown): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) };
}

/** A body that has been read, as one that is still to be read. */
async function* all(read: readonly Uint8Array[], rest: AsyncIterable<Uint8Array> | readonly Uint8Array[] = []) {
  yield* read;
  yield* rest;
}
