/**
 * One port for every protocol: HTTP/1.1 and HTTP/2, cleartext (prior knowledge) or TLS (ALPN).
 *
 * An http(s).Server listens. Its own connection listener is replaced by one that looks at the first bytes (cleartext)
 * or at the negotiated protocol (TLS) and passes the connection to the HTTP/1.1 or the HTTP/2 server. A net.Server in
 * front would be simpler, but Node runs its HTTP/1 time-outs only in a server that listens; `allowHTTP1` works only
 * under TLS.
 *
 * Promises: whatever a peer sends or fails to send, its connection is closed within the limits of {@link PortLimits},
 * nothing it does ends the process, and every refusal on HTTP/1 has a body.
 */
import type { ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  type BufferedRequest,
  type BufferedResponse,
  breakOff,
  type HttpRequest,
  type HttpResponse,
  type PortRequest,
  type PortResponse,
} from "../message/index.ts";
import type { Payer } from "./accounts.ts";
import { ConnectionShares } from "./addresses/connection-shares.ts";
import { originOf, peerAddressOf, setOrigin } from "./addresses/origin.ts";
import { type ProxiedAddress, readProxyHeader } from "./addresses/proxy-header.ts";
import { type ProxySettings, TrustedProxies } from "./addresses/trusted-proxies.ts";
import { fixedFields } from "./fixed-fields.ts";
import { createHttp1Server } from "./http1/node-server.ts";
import { createHttp2Server } from "./http2/node-server.ts";
import type { RequestHead } from "./http2/simple-fields.ts";
import type { ServeBuffered } from "./http2/stream.ts";
import { IncomingBodies } from "./incoming-bodies.ts";
import { defaultPortLimits, type PortLimits } from "./limits.ts";
import type { PayerSource } from "./payers.ts";
import { quietTurn } from "./quiet-turn.ts";
import { SharedBytes } from "./shared-bytes.ts";
import { Beginnings, type Opening, readFirstBytes, readOpening } from "./sniff-protocol.ts";
import { isVouchedFor, type TlsFiles } from "./tls.ts";
import { Turns } from "./turns.ts";

/** Connections that the system keeps until they are accepted, if it allows as many. Node's default is 511. */
const backlog = 4096;

/** A connection that is younger than this when the port closes may still send its first request. */
const newcomerMs = 1000;

/** What a port is made from. */
export interface OnePortOptions {
  /** Without it the port is cleartext. TLS 1.2 at least. */
  readonly tls?: TlsFiles | undefined;
  /** Whether clients must have a certificate, if {@link TlsFiles.clientCa} is set; by default they must. */
  readonly clientAuth?: "optional" | "required";
  /** Whether answers over TLS have `Strict-Transport-Security`; by default not. */
  readonly hsts?: boolean;
  readonly limits?: Partial<PortLimits>;
  /** The proxies that are believed; by default none. */
  readonly proxies?: ProxySettings | undefined;
  /** Which HTTP/2 implementation reads the frames of clients: this program's, by default, or Node's. */
  readonly http2?: "own" | "node";
  /** Counts request bodies that are being received; by default up to 64 MiB. */
  readonly bodies?: IncomingBodies;
  /** Answers a request. An error that it throws is reported and ends that request only. */
  onRequest(request: PortRequest, response: PortResponse): void;
  /**
   * Answers a simple HTTP/1.1 request, or has it fall back to `onRequest`. Absent: all HTTP/1.1 requests are for
   * `onRequest`.
   */
  onBufferedRequest?(request: BufferedRequest, response: BufferedResponse): void;
  /**
   * Answers a request at once, and at little cost, while the port is overloaded: see {@link PortLimits.maxWaitMs}. By
   * default with 503.
   */
  onOverload?(request: HttpRequest, response: HttpResponse): void;
  /**
   * Decides by its head how a simple HTTP/2 request is answered once it is buffered; undefined leaves it to
   * `onRequest`. Absent, or with Node's HTTP/2: all HTTP/2 requests are for `onRequest`.
   */
  planFastPath?(head: RequestHead): ServeBuffered | undefined;
  /** Whom a request counts against, see `turns.ts`. By default all count against one. */
  readonly payerOf?: PayerSource;
  /** Called before a request is answered that may have been sent after the last call. */
  onRead?(): void;
  /**
   * The body, JSON text, of a response by the port itself: 400, 408, 413, 417, 431, 503 and, for a handler that throws,
   * 500.
   */
  refusalBody(httpStatus: number): string;
  /** Answers a request on HTTP/2 whose header is too large, and not all known; false, and by default: with 431. */
  readonly onLargeHeader?: (request: HttpRequest, response: HttpResponse) => boolean;
  /** Reports a connection that is closed at once because of a limit. `address`: of the peer, if it is known. */
  onRefusal?(limit: ConnectionLimit, address: string | undefined): void;
  /** Reports failures of connections, which are common, and errors that handlers throw. */
  onError?(error: Error): void;
}

/** A limit of connections. */
export type ConnectionLimit = "max-connections" | "max-connections-per-address" | "file-descriptors";

/** Where a port listens. */
export interface PortAddress {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of this user may listen at the same port (SO_REUSEPORT). By default not. */
  readonly isShared?: boolean;
  /** The descriptor of a socket that listens there already. */
  readonly socket?: number | undefined;
}

/** What a port counts, from when it was opened. */
export interface PortStats {
  /** Open connections; `unknown`: those whose first bytes have not come. */
  readonly connections: { readonly http1: number; readonly http2: number; readonly unknown: number };
  /** Connections whose requests wait for their turn, and how long the first of them has waited. */
  readonly waiting: number;
  readonly waitedMs: number;
  /** Of all connections, with TLS as it is on the wire. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** A port that can be opened once and closed. */
export interface OnePort {
  stats(): PortStats;
  /** Opens the port; 0 lets the system choose one. Rejects if the address is not available. */
  listen(address: PortAddress): Promise<AddressInfo>;
  /**
   * Uses other files for the connections that begin from now on, and ends those of clients for whose certificates no
   * authority vouches any more. Only with {@link OnePortOptions.tls}; `clientCa` must be in both or in none.
   */
  setTls(files: TlsFiles): void;
  /** In the middle of a long handler: lets others have their turns, if it has had the event loop for long. */
  pause(payer: Payer): Promise<void> | undefined;
  /** Changes {@link PortLimits.maxWaitMs}. */
  setMaxWait(ms: number): void;
  /**
   * From now on each response on HTTP/1.1 says `connection: close`, and ends its connection. New connections are
   * served: only of use where somebody else accepts them afterwards.
   */
  drain(): void;
  /**
   * Accepts the connections that the system has queued, and stops listening. Then drains, and asks clients on HTTP/2 to
   * open no more streams. Connections on HTTP/1.1 have `idleMs`, by default none, to send one more request; those that
   * are idle then are ended. Waits at most `graceMs` for everything, then destroys the connections that are left.
   * Resolves when the last connection is closed.
   */
  close(options: { readonly graceMs: number; readonly idleMs?: number }): Promise<void>;
}

/** Creates a port; it is opened by {@link OnePort.listen}. */
export function createOnePort(options: OnePortOptions): OnePort {
  const limits: PortLimits = { ...defaultPortLimits, ...options.limits };
  const { bodies = new IncomingBodies(64 * 2 ** 20, 8 * 2 ** 20) } = options;
  const onError = (error: Error) => options.onError?.(error);

  const refuse = (response: HttpResponse, status: number) => {
    const body = options.refusalBody(status);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    (response as ServerResponse).writeHead(status, headers).end(body);
  };

  const guarded =
    <Request, Response extends PortResponse | BufferedResponse>(
      serve: (request: Request, response: Response) => void,
    ) =>
    (request: Request, response: Response) => {
      try {
        serve(request, response);
      } catch (error) {
        onError(error as Error);
        if (response.headersSent) breakOff(response);
        else refuse(response, 500);
      }
    };
  const onRequest = guarded((request: PortRequest, response: PortResponse) => options.onRequest(request, response));
  const onOverload = guarded((request: HttpRequest, response: HttpResponse) => {
    if (options.onOverload === undefined) refuse(response, 503);
    else options.onOverload(request, response);
  });
  const onBufferedRequest =
    options.onBufferedRequest &&
    guarded((request: BufferedRequest, response: BufferedResponse) => options.onBufferedRequest?.(request, response));
  const planFastPath = (head: RequestHead) => {
    try {
      const serve = options.planFastPath?.(head);
      return serve && guarded(serve);
    } catch (error) {
      onError(error as Error);
      return undefined;
    }
  };

  const turns = new Turns(limits.maxWaitMs, options.payerOf);
  const unsent = new SharedBytes(limits.maxUnsentMegabytes * 2 ** 20, limits.maxSessionMegabytes * 2 ** 20);
  const headers = new SharedBytes(
    limits.maxHeaderMegabytes * 2 ** 20,
    limits.maxConcurrentStreams * limits.maxHeaderBytes,
  );
  const onRead = () => options.onRead?.();
  const refusalBody = (httpStatus: number) => options.refusalBody(httpStatus);
  const fixed = fixedFields(options.tls !== undefined && options.hsts === true);
  const shared = { limits, fixed, turns, unsent, onRequest, onOverload, onRead, refusalBody, onError };
  const http1 = createHttp1Server({
    ...shared,
    tls: options.tls,
    clientAuth: options.clientAuth ?? "required",
    onBufferedRequest,
  });
  const { http2: implementation = "own", onLargeHeader } = options;
  const http2 = createHttp2Server({ ...shared, implementation, headers, bodies, planFastPath, onLargeHeader });
  const servers = { http1, http2 };
  const { server } = http1;

  /**
   * Every connection, and those whose protocol is not known yet, by the peer's address: a TLSSocket does not give its
   * raw socket.
   */
  const connections = new Set<Socket>();
  const closed = { bytesRead: 0, bytesWritten: 0 };
  const open = { http1: 0, http2: 0 };
  const undecided = new Map<string, { readonly socket: Socket; readonly acceptedMs: number }>();
  let accepted = 0;

  const beginnings = new Beginnings();

  const accept = (socket: Socket, protocol: "http1" | "http2") => {
    undecided.delete(peerOf(socket));
    if (socket.destroyed) return;
    open[protocol]++;
    socket.once("close", () => {
      open[protocol]--;
    });
    servers[protocol].accept(socket);
  };

  const beginTls = (socket: Socket, opening: Opening) => {
    if (opening === "tls") http1.beginTls(socket);
    else http1.refuseCleartext(socket);
  };

  const { proxies: proxySettings } = options;
  const proxies = proxySettings && new TrustedProxies(proxySettings);
  const shares = new ConnectionShares(limits.maxConnectionsPerAddress);

  /** Closes a connection whose address has too many. Returns whether it may stay. */
  const takeShare = (socket: Socket, address: string | undefined): boolean => {
    if (address === undefined || proxies?.includes(address)) return true;
    const release = shares.take(address);
    if (release !== undefined) socket.once("close", release);
    else {
      options.onRefusal?.("max-connections-per-address", address);
      socket.destroy();
    }
    return release !== undefined;
  };

  const begin = (socket: Socket) => {
    const limitMs = options.tls ? limits.handshakeMs : limits.firstBytesMs;
    readFirstBytes(socket, limitMs, beginnings, readOpening, (opening) => {
      if (options.tls) beginTls(socket, opening);
      else accept(socket, opening === "tls" ? "http1" : opening);
    });
  };

  /** Begins a connection of a proxy that names its client first. */
  const beginProxied = (socket: Socket, proxy: string) => {
    const decided = (client: ProxiedAddress) => {
      setOrigin(socket, { address: client ?? proxy, proxies: undefined });
      if (takeShare(socket, client)) begin(socket);
    };
    readFirstBytes(socket, limits.firstBytesMs, beginnings, readProxyHeader, decided);
  };

  server.on("drop", (data) => options.onRefusal?.("max-connections", data && peerAddressOf(data)));
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    const address = peerAddressOf(socket);
    if (descriptorOf(socket) >= limits.maxDescriptor) {
      options.onRefusal?.("file-descriptors", address);
      socket.destroy();
      return;
    }
    const isProxy = address !== undefined && proxies?.includes(address) === true;
    setOrigin(socket, { address, proxies: isProxy ? proxies : undefined });
    if (!isProxy && !takeShare(socket, address)) return;
    connections.add(socket);
    undecided.set(peer, { socket, acceptedMs: performance.now() });
    accepted++;
    socket.on("error", onError);
    socket.once("close", () => {
      connections.delete(socket);
      closed.bytesRead += socket.bytesRead;
      closed.bytesWritten += socket.bytesWritten;
      if (undecided.get(peer)?.socket === socket) undecided.delete(peer);
    });
    if (isProxy && proxies?.usesProxyProtocol) beginProxied(socket, address);
    else begin(socket);
  });
  /** The connections of clients with a verified certificate. */
  const identified = new Set<TLSSocket>();

  /** Keeps the certificate of a client. One without a certificate may go on, if the handshake has let it. */
  const identify = (socket: TLSSocket) => {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return;
    if (!socket.authorized) {
      onError(new Error(`the certificate of the client is not valid: ${socket.authorizationError}`));
      socket.destroy();
      return;
    }
    setOrigin(socket, { ...originOf(socket), certificate });
    identified.add(socket);
    socket.once("close", () => identified.delete(socket));
  };

  server.on("secureConnection", (socket: TLSSocket) => {
    const raw = undecided.get(peerOf(socket))?.socket;
    if (raw !== undefined) setOrigin(socket, originOf(raw));
    if (options.tls?.clientCa !== undefined) identify(socket);
    accept(socket, socket.alpnProtocol === "h2" ? "http2" : "http1");
  });

  let checking: NodeJS.Timeout;
  const check = () => {
    http1.check();
    http2.check();
    unsent.check();
    headers.check();
  };

  return {
    stats() {
      const bytes = { ...closed };
      for (const { bytesRead, bytesWritten } of connections) {
        bytes.bytesRead += bytesRead;
        bytes.bytesWritten += bytesWritten;
      }
      const unknown = connections.size - open.http1 - open.http2;
      const waitedMs = turns.waitedMs(performance.now());
      return { connections: { ...open, unknown }, waiting: turns.waiting, waitedMs, ...bytes };
    },
    listen({ host, port, isShared = false, socket }) {
      return new Promise((resolve, reject) => {
        server.once("error", reject);
        const at = socket === undefined ? { port, host, reusePort: isShared } : { fd: socket };
        server.listen({ ...at, backlog }, () => {
          server.off("error", reject).on("error", onError);
          checking = setInterval(check, limits.checkIntervalMs).unref();
          resolve(server.address() as AddressInfo);
        });
      });
    },
    setTls(files) {
      http1.setTls(files);
      const { clientCa } = files;
      if (clientCa === undefined) return;
      for (const socket of identified) if (!isVouchedFor(socket, clientCa)) socket.destroy();
    },
    pause: (payer) => turns.pause(payer),
    setMaxWait(ms) {
      turns.maxWaitMs = ms;
    },
    drain: http1.drain,
    // The listener is closed while connections are still kept open: a client that has some opens few new ones, and the
    // system resets those that it has queued and nobody has accepted.
    async close({ graceMs, idleMs = 0 }) {
      const quiet = () => quietTurn(() => accepted, backlog);
      await quiet();
      const closed = new Promise((resolve) => server.close(resolve));
      http1.drain();
      http2.close();
      const endsIdleMs = performance.now() + idleMs;
      const timers = [...undecided.values()].map(({ socket, acceptedMs }) => {
        const destroy = () => {
          if (undecided.get(peerOf(socket))?.socket === socket) socket.destroy();
        };
        return setTimeout(destroy, Math.max(acceptedMs + newcomerMs, endsIdleMs) - performance.now());
      });
      const endIdle = () => void quiet().then(http1.close);
      const destroyAll = () => {
        for (const socket of connections) socket.destroy();
      };
      timers.push(setTimeout(endIdle, idleMs), setTimeout(destroyAll, graceMs));
      await closed;
      for (const timer of timers) clearTimeout(timer);
      clearInterval(checking);
    },
  };
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

/** The number of a socket's file descriptor; -1 where the system has none. */
function descriptorOf(socket: Socket & { readonly _handle?: { readonly fd?: number } | null }): number {
  return socket._handle?.fd ?? -1; // Node has no public name for it
}
