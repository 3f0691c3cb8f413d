/**
 * The HTTP/1.1 server of the port: a `node:http` or `node:https` server with its time-outs, a body on every refusal,
 * and an orderly end. It owns the listening socket, because Node runs the time-outs only in a server that listens. With
 * `onBufferedRequest`, connections begin on the fast path (`connection.ts`).
 */

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Arrival } from "../../message/index.ts";
import { fixedFields } from "../fixed-fields.ts";
import { isAuthority, repeatsField } from "../request-fields.ts";
import type { ConnectionServer, ServerParts } from "../server-parts.ts";
import { secureContextOf, type TlsFiles } from "../tls.ts";
import { createHttp1FastPath } from "./connection.ts";
import type { SimpleRequest } from "./parse-request.ts";
import { Pipeline } from "./pipeline.ts";
import type { Http1Response } from "./response.ts";

/** What the HTTP/1.1 server is made from. */
interface Http1Options extends ServerParts {
  readonly tls?: TlsFiles | undefined;
  readonly clientAuth: "optional" | "required";
  /** Answers a simple request, or has it fall back. Undefined: all requests are for `onRequest`. */
  readonly onBufferedRequest: ((request: SimpleRequest, response: Http1Response) => void) | undefined;
}

/** The HTTP/1.1 server of the port. */
interface Http1Server extends ConnectionServer {
  /**
   * Listens for the port. Its `connection` (TLS: `secureConnection` too) listener has been removed. Its `close()`
   * leaves all connections open.
   */
  readonly server: Server;
  /** Begins TLS on a connection; `server` emits `secureConnection` when the handshake is done. */
  beginTls(socket: Socket): void;
  /** Uses other files for the handshakes that begin from now on. Only with TLS. */
  setTls(files: TlsFiles): void;
  /** Refuses a connection without TLS to a port that speaks TLS. */
  refuseCleartext(socket: Socket): void;
  /** Ends each connection after its next response, which says `connection: close`. */
  drain(): void;
}

/** Creates the HTTP/1.1 server. */
export function createHttp1Server(parts: Http1Options): Http1Server {
  const { tls, clientAuth, limits, fixed, turns, unsent } = parts;
  const { onRequest, onOverload, onBufferedRequest, onRead, refusalBody, onError } = parts;
  const options: ServerOptions = {
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: limits.maxHeaderBytes,
    requireHostHeader: false, // Node would refuse without a body; see isWellFormed.
    optimizeEmptyRequests: true, // A request without a body is ended from the start, without events.
  };
  const server = tls
    ? createSecureServer({
        ...options,
        ...secureContextOf(tls),
        requestCert: tls.clientCa !== undefined,
        rejectUnauthorized: tls.clientCa !== undefined && clientAuth === "required",
        ALPNProtocols: ["h2", "http/1.1"],
        handshakeTimeout: limits.handshakeMs,
      })
    : createServer(options);
  server.maxConnections = limits.maxConnections;
  server.closeIdleConnections = () => {}; // Node's close() would call it; `close` below ends them

  type Listener = (this: Server, socket: Socket) => void;
  const removeListener = (event: string) => {
    const listener = server.listeners(event).at(-1) as Listener;
    server.off(event, listener);
    return listener;
  };
  const begin = removeListener("connection");
  const serve = tls ? removeListener("secureConnection") : begin;

  /** Every connection that Node serves, with its latest response. */
  const connections = new Map<Duplex, ServerResponse | undefined>();
  const pipelines = new Map<Duplex, Pipeline>();
  /** When the requests came whose first bytes the fast path has read. */
  const started = new WeakMap<Duplex, number>();
  /** Responses that have ended and are not sent yet, with the time when that was first seen. */
  const endedMs = new WeakMap<ServerResponse, number>();
  let isDraining = false;
  /** The round for which `onRead` was called: all requests that were ready in it had been sent by then. */
  let reportedRound = -1;

  const reportRead = (isQueued: boolean) => {
    if (reportedRound === turns.round && !isQueued) return;
    onRead();
    reportedRound = turns.round;
    turns.touch();
  };

  const finish = (socket: Duplex, response: ServerResponse | undefined) => {
    if (response === undefined || response.writableFinished) return socket.destroy();
    response.once("close", () => socket.end(() => socket.destroy()));
  };

  const announceEnd = (response: ServerResponse | undefined) => {
    if (response?.headersSent === false) response.setHeader("connection", "close");
  };

  const take = (request: IncomingMessage & Arrival, response: ServerResponse) => {
    const { socket } = request;
    request.startedMs = started.get(socket) ?? performance.now();
    started.delete(socket);
    connections.set(socket, response);
    for (const [name, value] of fixed.list) response.setHeader(name, value);
    if (isDraining) announceEnd(response);
    if (!isWellFormed(request) || !hasOriginForm(request)) return answer(response, 400);
    pipelines.get(socket)?.add(request, response, (isQueued, isRefused) => {
      reportRead(isQueued);
      if (isRefused) onOverload(request, response);
      else onRequest(request, response);
    });
  };
  server.on("request", take);
  server.on("checkContinue", take); // `100 Continue` is sent when the body is read
  server.on("checkExpectation", (_request, response: ServerResponse) => {
    for (const [name, value] of fixed.list) response.setHeader(name, value);
    answer(response, 417);
  });
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

  /**
   * Answers where Node has no response object. It reads on for a while, because a reset of a peer that still sends
   * would discard the response.
   */
  const refuse = (socket: Duplex, status: number, body = refusalBody(status), { lines } = fixed) => {
    const length = Buffer.byteLength(body);
    const head = `${lines}content-type: application/json\r\ncontent-length: ${length}\r\nconnection: close`;
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
  const fastPath =
    onBufferedRequest && createHttp1FastPath({ ...parts, onBufferedRequest, reportRead, serveByNode: acceptByNode });

  return {
    server,
    beginTls: (socket) => begin.call(server, socket),
    setTls: (files) => (server as SecureServer).setSecureContext(secureContextOf(files)),
    refuseCleartext(socket) {
      socket.resume();
      refuse(socket, 400, refusalBody(cleartextToTls), fixedFields(false));
    },
    accept: fastPath?.accept ?? ((socket) => acceptByNode(socket)),
    check() {
      fastPath?.check();
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
    drain() {
      isDraining = true;
      fastPath?.drain();
      for (const response of connections.values()) announceEnd(response);
    },
    close() {
      fastPath?.close();
      for (const [socket, response] of connections) finish(socket, response);
    },
  };
}

/**
 * The refusal of HTTP on a port that speaks TLS. It is sent with 400, since a client cannot upgrade the connection as
 * 426 suggests.
 */
const cleartextToTls = 426;

/**
 * Whether a request has a valid host, except with HTTP/1.0, repeats no field that must be unique (RFC 9112 section
 * 3.2), and has no transfer coding but `chunked`.
 */
function isWellFormed({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  const { host, "transfer-encoding": coding } = headers;
  const hasHost = host === undefined ? httpVersion !== "1.1" : isAuthority(host);
  return hasHost && !repeatsField(rawHeaders) && (coding === undefined || coding.toLowerCase() === "chunked");
}

/**
 * Whether a request target is in origin form, or is now: of the absolute form, which clients send to proxies, the
 * authority replaces the host (RFC 9112 section 3.2.2).
 */
function hasOriginForm(request: IncomingMessage): boolean {
  const target = request.url ?? "";
  const [start, authority] = /^https?:\/\/([^/?]*)/i.exec(target) ?? [];
  if (start === undefined || authority === undefined) return true;
  const rest = target.slice(start.length);
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  request.headers.host = authority;
  return isAuthority(authority);
}

/** The status that answers an error of the parser or a time-out; undefined if the connection itself has failed. */
function statusOf(code: string | undefined): number | undefined {
  if (code === "HPE_HEADER_OVERFLOW") return 431;
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return 413;
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return code?.startsWith("HPE_") ? 400 : undefined;
}
