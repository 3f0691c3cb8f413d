/**
 * One port for every protocol: HTTP/1.1 and HTTP/2, cleartext (prior knowledge) or TLS (ALPN).
 *
 * The http(s).Server listens and has its own connection listener taken off; ours looks at the first bytes (cleartext) or at the negotiated
 * protocol (TLS) and hands the connection to one of two sides. A bare net.Server in front would be simpler, but then Node never runs the
 * HTTP/1 time-outs; `allowHTTP1` would be simpler still, but works only under TLS.
 *
 * Promises: whatever a peer sends or fails to send, its connection is closed within the limits of {@link PortLimits}, nothing it does ends
 * the process, and every refusal on HTTP/1 has a body.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type Arrival, breakOff, type WholeRequest, type WholeResponse } from "../rest/index.ts";
import { type Opening, readFirstBytes } from "./first-bytes.ts";
import { createHttp1Side } from "./http1.ts";
import { createHttp2Side } from "./http2.ts";
import type { ServeWhole } from "./http2-stream.ts";
import { IncomingBodies } from "./incoming-bodies.ts";
import type { PlainFields } from "./plain-fields.ts";
import { defaultPortLimits, type PortLimits } from "./port-limits.ts";
import { SharedBytes } from "./shared-bytes.ts";
import { Turns } from "./turns.ts";

/** A request of either HTTP version. */
export type PortRequest = (IncomingMessage | Http2ServerRequest) & Arrival;

/** The response to a {@link PortRequest}. */
export type PortResponse = ServerResponse | Http2ServerResponse;

/** What a port is made from. */
export interface OnePortOptions {
  /** Certificate chain and key in PEM. Without it the port is cleartext. TLS 1.2 at least. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  readonly limits?: Partial<PortLimits>;
  /** Counts what is held of requests that are under way; by default 64 MiB are. */
  readonly bodies?: IncomingBodies;
  /** Answers one request. What it throws is reported and ends that request only. */
  onRequest(request: PortRequest, response: PortResponse): void;
  /** Answers a plain request by HTTP/1.1, or hands it back, for `onRequest` to answer. No objects of Node's are made for it. */
  onPlainRequest?(request: WholeRequest, response: WholeResponse): void;
  /**
   * Who will answer a plain request by HTTP/2 once it is whole, of its headers; undefined if it is not to be waited for, and is `onRequest`'s. Without it
   * all are.
   */
  takePlain?(fields: PlainFields): ServeWhole | undefined;
  /** Told before requests that may have been sent since it was last told. */
  onRead?(): void;
  /** The body, JSON text, of an answer that no handler will see: 400, 408, 413, 417, 431 and, for a throwing handler, 500. */
  refusalBody(httpStatus: number): string;
  /** Told about failures of connections and about what handlers throw. The first kind is everyday noise. */
  onError?(error: Error): void;
}

/** A port that can be opened once and closed. */
export interface OnePort {
  /** Opens the port; 0 lets the system choose one. Rejects when the address cannot be had. */
  listen(address: { readonly host: string; readonly port: number }): Promise<AddressInfo>;
  /**
   * Stops listening, ends idle connections, lets calls in flight finish for `graceMs`, then destroys what is left. Resolves when the last
   * connection is gone.
   */
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** Creates a port; it is opened by {@link OnePort.listen}. */
export function createOnePort(options: OnePortOptions): OnePort {
  const limits: PortLimits = { ...defaultPortLimits, ...options.limits };
  const { bodies = new IncomingBodies(64 * 2 ** 20, 8 * 2 ** 20) } = options;
  const onError = (error: Error) => options.onError?.(error);

  const guarded =
    <Request, Response extends PortResponse | WholeResponse>(serve: (request: Request, response: Response) => void) =>
    (request: Request, response: Response) => {
      try {
        serve(request, response);
      } catch (error) {
        onError(error as Error);
        if (response.headersSent) return breakOff(response);
        const body = options.refusalBody(500);
        const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
        (response as ServerResponse).writeHead(500, headers).end(body);
      }
    };
  const onRequest = guarded((request: PortRequest, response: PortResponse) => options.onRequest(request, response));
  const onPlainRequest =
    options.onPlainRequest &&
    guarded((request: WholeRequest, response: WholeResponse) => options.onPlainRequest?.(request, response));
  const takePlain =
    options.takePlain &&
    ((fields: PlainFields) => {
      try {
        const serve = options.takePlain?.(fields);
        return serve && guarded(serve);
      } catch (error) {
        onError(error as Error);
        return undefined;
      }
    });

  const turns = new Turns();
  const unsent = new SharedBytes(limits.maxUnsentMegabytes * 2 ** 20, limits.maxSessionMegabytes * 2 ** 20);
  const headers = new SharedBytes(
    limits.maxHeaderMegabytes * 2 ** 20,
    limits.maxConcurrentStreams * limits.maxHeaderBytes,
  );
  const onRead = () => options.onRead?.();
  const refusalBody = (httpStatus: number) => options.refusalBody(httpStatus);
  const shared = { limits, turns, unsent, onRequest, onRead, refusalBody, onError };
  const http1 = createHttp1Side({ ...shared, tls: options.tls, onPlainRequest });
  const http2 = createHttp2Side({ ...shared, headers, bodies, takePlain });
  const sides = { http1, http2 };
  const { server } = http1;

  /** Every connection, and those that no side has accepted yet, by the peer's address: a TLSSocket does not tell its raw socket. */
  const connections = new Set<Socket>();
  const undecided = new Map<string, Socket>();

  const accept = (socket: Socket, protocol: "http1" | "http2") => {
    undecided.delete(peerOf(socket));
    if (!socket.destroyed) sides[protocol].accept(socket);
  };

  const beginTls = (socket: Socket, opening: Opening) => {
    if (opening === "tls") http1.beginTls(socket);
    else http1.refuseCleartext(socket);
  };

  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    connections.add(socket);
    undecided.set(peer, socket);
    socket.on("error", onError);
    socket.once("close", () => {
      connections.delete(socket);
      if (undecided.get(peer) === socket) undecided.delete(peer);
    });
    if (options.tls) readFirstBytes(socket, limits.handshakeMs, (opening) => beginTls(socket, opening));
    else
      readFirstBytes(socket, limits.firstBytesMs, (opening) => accept(socket, opening === "tls" ? "http1" : opening));
  });
  server.on("secureConnection", (socket: TLSSocket) => {
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
    listen({ host, port }) {
      return new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, () => {
          server.off("error", reject).on("error", onError);
          checking = setInterval(check, limits.checkIntervalMs).unref();
          resolve(server.address() as AddressInfo);
        });
      });
    },
    close({ graceMs }) {
      return new Promise((resolve) => {
        const destroyAll = setTimeout(() => {
          for (const socket of connections) socket.destroy();
        }, graceMs);
        server.close(() => {
          clearTimeout(destroyAll);
          clearInterval(checking);
          resolve();
        });
        for (const socket of undecided.values()) socket.destroy();
        http1.close();
        http2.close();
      });
    },
  };
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
