/**
 * The HTTP/1.1 side of the port: a `node:http` or `node:https` server with its time-outs, a body on every refusal, and an orderly end. It owns the
 * listening socket, because its time-outs run only in a server that listens. Where plain requests have somebody to answer them, connections are
 * first in a lane of their own (`http1-lane.ts`).
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Arrival } from "../rest/index.ts";
import { createHttp1Lane } from "./http1-lane.ts";
import { Pipeline } from "./http1-pipeline.ts";
import type { PlainRequest } from "./plain-request.ts";
import type { PlainResponse } from "./plain-response.ts";
import type { PortLimits } from "./port-limits.ts";
import { isAuthority, repeatsField } from "./request-fields.ts";
import type { SharedBytes } from "./shared-bytes.ts";
import type { Turns } from "./turns.ts";

/** What the HTTP/1.1 side is made from. */
export interface Http1Options {
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  readonly limits: PortLimits;
  readonly turns: Turns;
  /** What may be there of answers that are not sent, over all connections. */
  readonly unsent: SharedBytes;
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a plain request or hands it back. Without it all requests come through Node's server. */
  readonly onPlainRequest: ((request: PlainRequest, response: PlainResponse) => void) | undefined;
  /** Told before the requests that one look at the connections brings, and before each that came while another on its connection was answered. */
  onRead(): void;
  /** The body, JSON text, of an answer that no handler will see. */
  refusalBody(httpStatus: number): string;
  onError(error: Error): void;
}

/** The HTTP/1.1 side of the port. */
export interface Http1Side {
  /** Listens for the whole port. Its `connection` (TLS: `secureConnection` too) listener has been taken off. */
  readonly server: Server;
  /** Begins TLS on a connection; `secureConnection` tells of its end. */
  beginTls(socket: Socket): void;
  /** Answers what is no TLS on a port that speaks it. */
  refuseCleartext(socket: Socket): void;
  /** Serves HTTP/1.1 on a connection. */
  accept(socket: Socket): void;
  /** Enforces the limits Node does not know; to be called every `checkIntervalMs`. */
  check(): void;
  /** Ends idle connections now and each other one after the response in flight, which says `connection: close`. */
  close(): void;
}

/** Creates the HTTP/1.1 side. */
export function createHttp1Side({
  tls,
  limits,
  turns,
  unsent,
  onRequest,
  onPlainRequest,
  onRead,
  refusalBody,
  onError,
}: Http1Options): Http1Side {
  const options: ServerOptions = {
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: limits.maxHeaderBytes,
    requireHostHeader: false, // Node would refuse without a body; we look ourselves.
    optimizeEmptyRequests: true, // What has no body is ended from the start, and tells nobody.
  };
  const server = tls
    ? createSecureServer({
        ...options,
        ...tls,
        minVersion: "TLSv1.2",
        ALPNProtocols: ["h2", "http/1.1"],
        handshakeTimeout: limits.handshakeMs,
      })
    : createServer(options);
  server.maxConnections = limits.maxConnections;

  type Listener = (this: Server, socket: Socket) => void;
  const takeOff = (event: string) => {
    const listener = server.listeners(event).at(-1) as Listener;
    server.off(event, listener);
    return listener;
  };
  const begin = takeOff("connection");
  const serve = tls ? takeOff("secureConnection") : begin;

  /** Every connection that Node serves, with its latest response. */
  const connections = new Map<Duplex, ServerResponse | undefined>();
  const pipelines = new Map<Duplex, Pipeline>();
  /** When the requests came whose first bytes others have read. */
  const started = new WeakMap<Duplex, number>();
  /** Ended responses that are not yet sent, with the instant they were first seen so. */
  const endedMs = new WeakMap<ServerResponse, number>();
  let closing = false;
  /** The round whose requests have been told of: all that were ready at once were sent before the first is served. */
  let toldRound = -1;

  const tellRead = (isQueued: boolean) => {
    if (toldRound === turns.round && !isQueued) return;
    onRead();
    toldRound = turns.round;
    turns.touch();
  };

  const finish = (socket: Duplex, response: ServerResponse | undefined) => {
    if (response === undefined || response.writableFinished) return socket.destroy();
    if (!response.headersSent) response.setHeader("connection", "close");
    response.once("close", () => socket.end(() => socket.destroy()));
  };

  const take = (request: IncomingMessage & Arrival, response: ServerResponse) => {
    const { socket } = request;
    request.startedMs = started.get(socket) ?? performance.now();
    started.delete(socket);
    connections.set(socket, response);
    if (closing) finish(socket, response);
    if (!isWellFormed(request)) return answer(response, 400);
    pipelines.get(socket)?.add(response, (isQueued) => {
      tellRead(isQueued);
      onRequest(request, response);
    });
  };
  server.on("request", take);
  server.on("checkContinue", take); // whoever reads the body asks for it
  server.on("checkExpectation", (_request, response: ServerResponse) => answer(response, 417));
  server.on("connect", (_request, socket: Duplex) => refuse(socket, 400));
  server.on("clientError", (error: Error & { code?: string }, socket: Duplex) => {
    if (socket.writableEnded) return; // Already refused; the parser repeats its error for whatever else the peer sends.
    onError(error);
    const response = connections.get(socket);
    const isAnswering = response?.headersSent === true && !response.writableFinished;
    const status = statusOf(error.code);
    if (status === undefined || !socket.writable || isAnswering) socket.destroy();
    else refuse(socket, status);
  });

  const answer = (response: ServerResponse, status: number) => {
    response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(refusalBody(status));
  };

  /** Answers where Node has no response object. The peer may still be sending: we read on for a while, or a reset would eat the answer. */
  const refuse = (socket: Duplex, status: number, body = refusalBody(status)) => {
    const length = Buffer.byteLength(body);
    const head = `content-type: application/json\r\ncontent-length: ${length}\r\nconnection: close`;
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n\r\n${body}`);
    const timer = setTimeout(() => socket.destroy(), limits.lingerMs);
    socket.once("close", () => clearTimeout(timer)).once("end", () => socket.destroy());
  };

  const acceptByNode = (socket: Socket, startedMs?: number) => {
    if (startedMs !== undefined) started.set(socket, startedMs);
    connections.set(socket, undefined);
    pipelines.set(socket, new Pipeline(socket, turns, unsent));
    socket.once("close", () => {
      connections.delete(socket);
      pipelines.delete(socket);
    });
    serve.call(server, socket);
  };
  const lane =
    onPlainRequest && createHttp1Lane({ limits, turns, unsent, onPlainRequest, tellRead, handOver: acceptByNode });

  return {
    server,
    beginTls: (socket) => begin.call(server, socket),
    refuseCleartext(socket) {
      socket.resume();
      refuse(socket, 400, refusalBody(cleartextToTls));
    },
    accept: lane?.accept ?? ((socket) => acceptByNode(socket)),
    check() {
      lane?.check();
      const now = performance.now();
      for (const [socket, pipeline] of pipelines) {
        pipeline.count();
        const response = pipeline.current;
        if (!response?.writableEnded || response.writableFinished) continue;
        const since = endedMs.get(response);
        if (since === undefined) endedMs.set(response, now);
        else if (now - since > limits.responseMs) socket.destroy();
      }
    },
    close() {
      closing = true;
      lane?.close();
      for (const [socket, response] of connections) finish(socket, response);
    },
  };
}

/** The refusal of HTTP on a port that speaks TLS: answered with 400, since a client cannot upgrade there as 426 would have it. */
const cleartextToTls = 426;

/**
 * Whether a request names its host and no field twice that decides about it, RFC 9112 section 3.2, and its content has no transfer coding but `chunked`.
 * HTTP/1.0 need not name a host.
 */
function isWellFormed({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  const { host, "transfer-encoding": coding } = headers;
  const hasHost = host === undefined ? httpVersion !== "1.1" : isAuthority(host);
  return hasHost && !repeatsField(rawHeaders) && (coding === undefined || coding.toLowerCase() === "chunked");
}

/** The status that answers a failure of the parser or of its time-outs; undefined where the connection itself has failed. */
function statusOf(code: string | undefined): number | undefined {
  if (code === "HPE_HEADER_OVERFLOW") return 431;
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return 413;
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return code?.startsWith("HPE_") ? 400 : undefined;
}
