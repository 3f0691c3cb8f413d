/**
 * The HTTP/2 side of the port: an unbound `node:http2` server that is handed its connections, and the limits Node does not have. Node never
 * times out a session, so each is tracked: one that opens no stream, or leaves a header block unfinished, is idle and is closed; a stream
 * whose request is not complete in time, or whose response is not taken, is reset; so is, without an error, one that has its answer and still
 * sends its request, RFC 9113 section 8.1.
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
import type { Arrival } from "../rest/index.ts";
import { ShortMap } from "../short-map.ts";
import { BridgeSocket } from "./http2-bridge.ts";
import { defaultWindow } from "./http2-frames.ts";
import { createHttp2Lane, type Http2LaneOptions } from "./http2-lane.ts";
import { SessionRequests } from "./http2-requests.ts";
import type { IncomingBodies } from "./incoming-bodies.ts";
import type { PortLimits } from "./port-limits.ts";
import { isMalformedRequest } from "./request-fields.ts";
import type { Share, SharedBytes } from "./shared-bytes.ts";
import type { Turns } from "./turns.ts";

/** What the HTTP/2 side is made from. */
export interface Http2Options {
  readonly limits: PortLimits;
  readonly turns: Turns;
  /** What may be there of answers that are not sent, over all connections. */
  readonly unsent: SharedBytes;
  /** What may be there of header lists of open streams, over all connections. */
  readonly headers: SharedBytes;
  readonly bodies: IncomingBodies;
  onRequest(request: Http2ServerRequest, response: Http2ServerResponse): void;
  /** Who will answer a plain request once it is whole, if not `onRequest`; see {@link Http2LaneOptions.takePlain}. Without it all streams are Node's. */
  readonly takePlain: Http2LaneOptions["takePlain"] | undefined;
  /** Told before the first stream that is opened by what was just read from a connection. */
  onRead(): void;
  /** The body, JSON text, of an answer that no handler will see. */
  refusalBody(httpStatus: number): string;
  onError(error: Error): void;
}

/** The HTTP/2 side of the port. */
export interface Http2Side {
  /** Serves HTTP/2 on a connection whose first bytes are still unread. */
  accept(socket: Socket): void;
  /** Enforces the limits; to be called every `checkIntervalMs`. */
  check(): void;
  /** Sends GOAWAY on every session; each ends with its last stream. */
  close(): void;
}

/** What a session runs over. */
type Connection = Socket | BridgeSocket;

/** One session as the limits see it. Instants are those of `performance.now()`. */
interface TrackedSession {
  readonly socket: Connection;
  /** Open streams: when their headers came, and when their response was first seen ended. */
  readonly streams: ShortMap<ServerHttp2Stream, { readonly started: number; ended?: number }>;
  readonly requests: SessionRequests;
  /** What its header lists take that are not also a lane's. */
  readonly headers: Share;
  /** Since when no stream is open. */
  idleSince: number;
  used: boolean;
  /** What the socket had read when a stream was last opened. */
  bytesRead: number;
}

/** Above what our own limits allow a session of Node's: at its own it refuses streams, and then ends the session. */
const ownLimitMegabytes = 4096;
const unlimited = 1_000_000;

/** Creates the HTTP/2 side. */
export function createHttp2Side({
  limits,
  turns,
  unsent,
  headers: allHeaders,
  bodies,
  onRequest,
  takePlain,
  onRead,
  refusalBody,
  onError,
}: Http2Options): Http2Side {
  /** What streams may hold that come by the lane, which minds no window of all together; Node grants anew when half is used. */
  const laneWindow = 2 * limits.maxConcurrentStreams * defaultWindow;
  const sessions = new Map<ServerHttp2Session, TrackedSession>();
  let accepting: Connection;

  const server = createServer({
    maxSessionMemory: ownLimitMegabytes,
    // More invalid frames, refused or reset streams than an honest client has cause for end the session (CVE-2023-44487).
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    streamResetBurst: takePlain === undefined ? 200 : unlimited, // the lane counts those of the client, not its own
    streamResetRate: takePlain === undefined ? 33 : unlimited,
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
      bytesRead: 0,
    });
    bodies.share(session, bodies.accountOf(socket));
    if (lane !== undefined) session.setLocalWindowSize(laneWindow);
    session.once("close", () => sessions.delete(session));
  });
  server.on("sessionError", onError);
  server.on("stream", (stream, headers, _flags, rawHeaders: string[]) => {
    stream.on("error", onError);
    const session = sessions.get(stream.session as ServerHttp2Session);
    if (session === undefined) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    session.used = true;
    const listBytes = headerListSize(rawHeaders);
    const keptBytes = lane === undefined ? listBytes : 0;
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

    const request: Http2ServerRequest & Arrival = new Http2ServerRequest(stream, headers, {}, rawHeaders); // before its response, which else does not know it
    request.startedMs = startOf(session.socket, stream);
    // What nobody will read is thrown away. Node would close a stream that nobody has begun to read, and may lose the end of the answer by that.
    stream.once("finish", () => {
      stream.resume();
      request.resume();
    });
    // Node enforces maxHeaderListSize only after the peer has acknowledged it.
    if (listBytes > limits.maxHeaderBytes) return refuse(stream, 431);
    if (lane === undefined && isMalformedRequest(rawHeaders)) return stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    if (headers[":path"] === undefined) return refuse(stream, 400); // CONNECT
    const response = new Http2ServerResponse(stream);
    session.requests.add(stream, () => onRequest(request, response));
  });

  /** GOAWAY; from now on the peer has `lingerMs` without a stream to close its side. */
  const retire = (session: ServerHttp2Session) => {
    sessions.get(session)!.idleSince = performance.now();
    session.close();
  };

  const refuse = (stream: ServerHttp2Stream, status: number) => {
    stream.respond({ ":status": status, "content-type": "application/json" });
    stream.end(refusalBody(status));
  };

  const acceptByNode = (socket: Connection) => {
    accepting = socket;
    server.emit("connection", socket);
  };
  const lane =
    takePlain &&
    createHttp2Lane({
      limits,
      turns,
      unsent,
      headers: allHeaders,
      bodies,
      takePlain,
      onRead,
      serveOthers: acceptByNode,
    });

  return {
    accept: lane?.accept ?? acceptByNode,
    check() {
      lane?.check();
      const now = performance.now();
      for (const [session, { socket, streams, idleSince, used }] of sessions) {
        streams.forEach((times, stream) => {
          if (stream.writableEnded) times.ended ??= now;
          const endedMs = now - (times.ended ?? now);
          const { localClose, remoteClose } = stream.state; // asked of nghttp2
          const isAnswered = localClose === 1;
          const isWhole = remoteClose === 1;
          const isLate = isWhole ? endedMs > limits.responseMs : now - times.started > limits.requestMs;
          if (isLate && !isAnswered) stream.close(constants.NGHTTP2_CANCEL);
          else if (isAnswered && endedMs > limits.lingerMs) stream.close(constants.NGHTTP2_NO_ERROR);
        });
        if (lane !== undefined || streams.size > 0) continue; // behind the lane sessions are never idle for themselves
        const patience = session.closed ? limits.lingerMs : used ? limits.sessionIdleMs : limits.firstStreamMs;
        if (now - idleSince <= patience) continue;
        if (session.closed) socket.destroy();
        else retire(session);
      }
    },
    close() {
      if (lane === undefined) for (const session of sessions.keys()) retire(session);
      else lane.close();
    },
  };
}

/** When the headers of a stream came. */
function startOf(socket: Connection, { id = 0 }: ServerHttp2Stream): number {
  return (socket instanceof BridgeSocket ? socket.startedMsOf(id) : undefined) ?? performance.now();
}

/** The size of a header list as RFC 9113 section 6.5.2 counts it. `rawHeaders`: names and values in turn. */
function headerListSize(rawHeaders: readonly string[]): number {
  let size = rawHeaders.length * 16;
  for (const text of rawHeaders) size += text.length;
  return size;
}
