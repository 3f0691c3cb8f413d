/**
 * The HTTP/2 server of the port: a `node:http2` server that does not listen, and the limits that Node does not have. It
 * serves the streams that fall back (`connections.ts`), or with `--http2=node` all connections.
 *
 * Node never times out a session, so sessions are tracked. A session without an open stream, or with an unfinished
 * header block, is idle and is closed. A stream is reset if its request is not complete in time or its response is not
 * taken, and, without an error, if it still sends its request after its response, RFC 9113 section 8.1.
 */

import {
  constants,
  createServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { Arrival, HttpRequest, HttpResponse } from "../../message/index.ts";
import { setConnection } from "../peer.ts";
import { isMalformedRequest } from "../request-fields.ts";
import type { ConnectionServer } from "../server-parts.ts";
import type { Share } from "../shared-bytes.ts";
import type { Http2ConnectionOptions } from "./connection-options.ts";
import { createHttp2Connections } from "./connections.ts";
import { defaultWindow, maxWindow } from "./frames.ts";
import { BridgeSocket } from "./node-bridge.ts";
import { SessionRequests } from "./node-requests.ts";
import { ShortMap } from "./short-map.ts";

/** What the HTTP/2 server is made from. */
interface Http2Options extends Omit<Http2ConnectionOptions, "serveByNode"> {
  /** The implementation that reads the frames of clients. With `node` all requests are for `onRequest`. */
  readonly implementation: "own" | "node";
  /** See {@link OnePortOptions.onLargeHeader}. */
  readonly onLargeHeader: ((request: HttpRequest, response: HttpResponse) => boolean) | undefined;
}

/** The connection of a session: a client's, or a bridge. */
type Connection = Socket | BridgeSocket;

/** A session. Times are those of `performance.now()`. */
interface TrackedSession {
  readonly socket: Connection;
  /** Open streams: when their header list came, and when their response was first seen to have ended. */
  readonly streams: ShortMap<ServerHttp2Stream, { readonly started: number; ended?: number }>;
  readonly requests: SessionRequests;
  /** The memory of its header lists. A bridged connection counts them itself. */
  readonly headers: Share;
  /** When the last stream ended. */
  idleSince: number;
  used: boolean;
  /** Whether the client has been asked to open no more streams. */
  isRetiring: boolean;
  /** The bytes that the socket had read when a stream was last opened. */
  bytesRead: number;
}

/**
 * Node's limit for the memory of a session, above our own. At its limit Node refuses streams, and then ends the
 * session.
 */
const sessionMegabytes = 4096;
const unlimited = 1_000_000;

/**
 * Creates the HTTP/2 server. `close` asks every client to open no more streams. Once it knows, GOAWAY names the last
 * one that is served, with which the session ends.
 */
export function createHttp2Server(options: Http2Options): ConnectionServer {
  const { limits, fixed, turns, unsent, headers: allHeaders, bodies } = options;
  const { onRequest, onOverload, onRead, refusalBody, onLargeHeader, onError } = options;
  const isNodes = options.implementation === "node";
  /**
   * The window of a bridge, twice what its streams need, since Node refills it when half is used. The client's
   * connection has its own.
   */
  const bridgeWindow = 2 * limits.maxConcurrentStreams * defaultWindow;
  const sessions = new Map<ServerHttp2Session, TrackedSession>();
  let accepting: Connection;
  let isClosing = false;

  const server = createServer({
    maxSessionMemory: sessionMegabytes,
    // More invalid frames, refused or reset streams than an honest client causes end the session (CVE-2023-44487).
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    streamResetBurst: isNodes ? 200 : unlimited, // our connections count the resets of clients
    streamResetRate: isNodes ? 33 : unlimited,
    // nghttp2 would drop fields with blanks around their values and serve the rest; isMalformedRequest refuses them.
    strictFieldWhitespaceValidation: false,
    settings: { maxConcurrentStreams: limits.maxConcurrentStreams, maxHeaderListSize: limits.maxHeaderBytes },
  });

  server.on("session", (session) => {
    const idleSince = performance.now();
    const socket = accepting;
    sessions.set(session, {
      socket,
      streams: new ShortMap(),
      requests: new SessionRequests(socket, turns, unsent),
      headers: allHeaders.share(socket),
      idleSince,
      used: false,
      isRetiring: false,
      bytesRead: 0,
    });
    bodies.share(session, bodies.accountOf(socket));
    if (!isNodes) session.setLocalWindowSize(bridgeWindow);
    session.once("close", () => sessions.delete(session));
    if (isNodes && isClosing) retire(session);
  });
  server.on("sessionError", onError);
  server.on("stream", (stream, headers, _flags, rawHeaders: string[]) => {
    stream.on("error", onError);
    const session = sessions.get(stream.session as ServerHttp2Session);
    if (session === undefined) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    session.used = true;
    const listBytes = headerListSize(rawHeaders);
    const keptBytes = isNodes ? listBytes : 0;
    if (!session.headers.fits(keptBytes)) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    session.headers.set(session.headers.bytes + keptBytes);
    const { bytesRead } = session.socket;
    if (bytesRead !== session.bytesRead) onRead();
    session.bytesRead = bytesRead;
    session.streams.set(stream, { started: performance.now() });
    stream.once("close", () => {
      session.streams.delete(stream);
      session.requests.forget(stream);
      session.headers.set(session.headers.bytes - keptBytes);
      if (session.streams.size === 0) session.idleSince = performance.now();
    });

    // Before its response, which would not have it otherwise.
    const request: Http2ServerRequest & Arrival = new Http2ServerRequest(stream, headers, {}, rawHeaders);
    request.startedMs = startOf(session.socket, stream);
    setConnection(request, session.socket);
    // The rest of the request is discarded. Node would close a stream that is not read, and could lose the end of the
    // response.
    stream.once("finish", () => {
      stream.resume();
      request.resume();
    });
    // Node enforces maxHeaderListSize only after the peer has acknowledged it.
    if (listBytes > limits.maxHeaderBytes) {
      if (onLargeHeader?.(request, responseOf(stream)) !== true) refuse(stream, 431);
      return;
    }
    if (isNodes && isMalformedRequest(rawHeaders)) return stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    if (headers[":path"] === undefined) return refuse(stream, 400); // CONNECT
    const response = responseOf(stream);
    session.requests.add(headers.authorization, {
      stream,
      serve: () => onRequest(request, response),
      refuse: () => onOverload(request, response),
    });
  });

  /** See `Http2Connection.retire`. */
  const retire = (session: ServerHttp2Session) => {
    const tracked = sessions.get(session)!;
    if (tracked.isRetiring || session.destroyed) return;
    tracked.isRetiring = true;
    tracked.idleSince = performance.now();
    session.goaway(constants.NGHTTP2_NO_ERROR, maxWindow);
    session.ping((error) => {
      if (error === null) endRetirement(session);
    });
  };

  /** Sends the last GOAWAY. The peer has `lingerMs` without a stream to close its side. */
  const endRetirement = (session: ServerHttp2Session) => {
    const tracked = sessions.get(session);
    if (tracked === undefined || session.closed) return;
    tracked.idleSince = performance.now();
    session.close();
  };

  const responseOf = (stream: ServerHttp2Stream) => {
    const response = new Http2ServerResponse(stream);
    for (const [name, value] of fixed.list) response.setHeader(name, value);
    return response;
  };

  const refuse = (stream: ServerHttp2Stream, status: number) => {
    stream.respond({ ":status": status, "content-type": "application/json", ...Object.fromEntries(fixed.list) });
    stream.end(refusalBody(status));
  };

  const acceptByNode = (socket: Connection) => {
    accepting = socket;
    server.emit("connection", socket);
  };
  const connections = isNodes ? undefined : createHttp2Connections({ ...options, serveByNode: acceptByNode });

  return {
    accept: connections?.accept ?? acceptByNode,
    check() {
      connections?.check();
      const now = performance.now();
      for (const [session, { socket, streams, idleSince, used, isRetiring }] of sessions) {
        streams.forEach((times, stream) => {
          if (stream.writableEnded) times.ended ??= now;
          const endedMs = now - (times.ended ?? now);
          const { localClose, remoteClose } = stream.state; // asked of nghttp2
          const isAnswered = localClose === 1;
          const isComplete = remoteClose === 1;
          const isLate = isComplete ? endedMs > limits.responseMs : now - times.started > limits.requestMs;
          if (isLate && !isAnswered) stream.close(constants.NGHTTP2_CANCEL);
          else if (isAnswered && endedMs > limits.lingerMs) stream.close(constants.NGHTTP2_NO_ERROR);
        });
        if (!isNodes || streams.size > 0) continue; // a bridge lasts as long as its client's connection
        const isEnding = isRetiring || session.closed;
        const limitMs = isEnding ? limits.lingerMs : used ? limits.sessionIdleMs : limits.firstStreamMs;
        if (now - idleSince <= limitMs) continue;
        if (session.closed) socket.destroy();
        else if (isRetiring) endRetirement(session);
        else retire(session);
      }
    },
    close() {
      isClosing = true;
      if (isNodes) for (const session of sessions.keys()) retire(session);
      else connections?.close();
    },
  };
}

/** When the header list of a stream came. */
function startOf(socket: Connection, { id = 0 }: ServerHttp2Stream): number {
  return (socket instanceof BridgeSocket ? socket.startedMsOf(id) : undefined) ?? performance.now();
}

/** The size of a header list, RFC 9113 section 6.5.2. `rawHeaders`: names and values alternate. */
function headerListSize(rawHeaders: readonly string[]): number {
  let size = rawHeaders.length * 16;
  for (const text of rawHeaders) size += text.length;
  return size;
}
