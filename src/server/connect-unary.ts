/**
 * The fast lane of Connect: unary calls by POST, straight from request and response. As with gRPC (`grpc-unary.ts`), headers alone decide, and what
 * cannot be read after all is handed back with its bytes.
 *
 * Follows: the Connect protocol, https://connectrpc.com/docs/protocol#unary-request.
 */
import type { OutgoingHttpHeaders } from "node:http";
import type { DescMethod, Registry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { internal } from "../errors.ts";
import { send } from "../rest/index.ts";
import { jsonOptionsOf } from "./connect-adapter.ts";
import { type Touched, touchedBy } from "./local-call.ts";
import type { LocalTransport } from "./local-transport.ts";
import type { PortRequest, PortResponse } from "./one-port.ts";
import { addFields, PlainHeaders } from "./plain-headers.ts";
import type { UnaryMethod } from "./unary-methods.ts";

/** What the lane is made from. */
export interface ConnectLaneOptions {
  readonly transport: LocalTransport;
  readonly methods: ReadonlyMap<string, UnaryMethod>;
  /** Finds the types of error details. */
  readonly registry: Registry;
  /** Bytes of one message that comes in, and of one that goes out. */
  readonly readMaxBytes: number;
  readonly writeMaxBytes: number;
  /** A longer time-out is shortened to this. */
  readonly maxTimeoutMs: number;
  /** Completes an error in place before it is sent. */
  describeError(error: ConnectError, method: DescMethod): void;
  /** Answers a request that this lane has begun to read; `body` gives all of its bytes. */
  handBack(request: PortRequest, response: PortResponse, body: AsyncIterable<Uint8Array>): void;
  /** Told what kept an answer from being made or sent. */
  onError(error: unknown): void;
}

/** Takes a plain unary call to `path`; false for any other, untouched. */
export type ConnectLane = (path: string, request: PortRequest, response: PortResponse) => boolean;

/** Creates the lane. */
export function createConnectLane(options: ConnectLaneOptions): ConnectLane {
  const { methods, readMaxBytes, maxTimeoutMs } = options;
  return (path, request, response) => {
    const method = methods.get(path);
    if (method === undefined || request.method !== "POST") return false;
    const { headers } = request;
    const isJson = formatOf(headers["content-type"]);
    const encoding = headers["content-encoding"];
    if (isJson === undefined || (encoding !== undefined && encoding !== "identity")) return false;
    const timeout = headers["connect-timeout-ms"];
    if (timeout !== undefined && !/^\d{1,10}$/.test(String(timeout))) return false;
    const deadline = timeout === undefined ? undefined : performance.now() + Math.min(Number(timeout), maxTimeoutMs);
    if (Number(headers["content-length"] ?? 0) > readMaxBytes) return false;

    const chunks: Buffer[] = [];
    let length = 0;
    const end = () => {
      if (request.aborted) return;
      const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
      const message = readMessage(method, isJson, bytes);
      if (message === undefined) options.handBack(request, response, all([bytes]));
      else serve(options, method, { message, isJson, deadline }, request, response);
    };
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= readMaxBytes) return;
      request.off("data", take).off("end", end);
      request.pause();
      options.handBack(request, response, all(chunks, request.iterator({ destroyOnReturn: false })));
    };
    request.on("data", take).once("end", end);
    return true;
  };
}

/** Whether the content is JSON or else binary; undefined for anything that is no unary message. */
function formatOf(contentType: string | undefined): boolean | undefined {
  if (contentType === "application/json") return true;
  if (contentType === "application/proto") return false;
  return contentType !== undefined && /^application\/json; ?charset=utf-?8$/i.test(contentType) ? true : undefined;
}

function readMessage(method: UnaryMethod, isJson: boolean, bytes: Buffer) {
  try {
    return isJson ? method.readJson(bytes) : method.readBinary(bytes);
  } catch {
    return undefined; // the full door reads it again and says why not
  }
}

async function* all(read: readonly Uint8Array[], rest: AsyncIterable<Uint8Array> | readonly Uint8Array[] = []) {
  yield* read;
  yield* rest;
}

interface Call {
  readonly message: Parameters<UnaryMethod["writeBinary"]>[0];
  readonly isJson: boolean;
  /** On the clock of `performance.now()`. */
  readonly deadline: number | undefined;
}

function serve(
  options: ConnectLaneOptions,
  { method, writeBinary, writeJson }: UnaryMethod,
  { message, isJson, deadline }: Call,
  request: PortRequest,
  response: PortResponse,
): void {
  const timeoutMs = deadline === undefined ? undefined : deadline - performance.now();
  const call = options.transport.begin(method, message, new PlainHeaders(request.headers), timeoutMs);
  response.once("close", () => {
    if (!response.writableEnded) call.cancel();
  });
  call.answer
    .then((answer) => {
      const body = isJson ? writeJson(answer.message) : writeBinary(answer.message);
      // A character has three bytes at most: only what may be too long is measured.
      const length = body.length * 3 > options.writeMaxBytes ? Buffer.byteLength(body) : body.length;
      if (length > options.writeMaxBytes)
        throw new ConnectError(
          `the answer has ${length} bytes, more than ${options.writeMaxBytes}`,
          Code.ResourceExhausted,
        );
      const headers = headersOf(isJson ? "application/json" : "application/proto", touchedBy(answer));
      return send(response, { httpStatus: 200, headers, body });
    })
    .catch((reason: unknown) => {
      if (!(reason instanceof ConnectError)) options.onError(reason);
      const error = reason instanceof ConnectError ? reason : internal(reason);
      options.describeError(error, method);
      const { touchedHeader, touchedTrailer } = call.touched;
      const header = new Headers(touchedHeader);
      mergeNonProtocolHeaders(header, error.metadata);
      header.delete("content-type");
      const headers = headersOf("application/json", { touchedHeader: header, touchedTrailer });
      const body = errorToJsonBytes(error, jsonOptionsOf(options.registry));
      return send(response, { httpStatus: codeToHttpStatus(error.code), headers, body });
    })
    .catch((error: unknown) => {
      options.onError(error);
      response.destroy();
    });
}

function headersOf(contentType: string, { touchedHeader, touchedTrailer }: Touched): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { "content-type": contentType };
  addFields(headers, touchedHeader);
  addFields(headers, touchedTrailer, "trailer-");
  return headers;
}
