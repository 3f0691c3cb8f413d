/** Connections of calls over gRPC. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";

/** What keeps connections for a transport. */
type SessionManager = NonNullable<GrpcTransportOptions["sessionManager"]>;

/** How long a server may take for its settings. */
const openingMs = 30_000;

/**
 * One connection to a server, opened when it is needed. It is used once the server has sent its settings: what speaks
 * HTTP/1.1 alone never does.
 *
 * Not the manager of Connect: it waits without end for a connection that is closed while it opens, and errors of one
 * that breaks early end the process.
 */
export class GrpcSessions implements SessionManager {
  readonly authority: string;
  #opening: Promise<ClientHttp2Session> | undefined;
  #session: ClientHttp2Session | undefined;
  readonly #calls = new WeakMap<ClientHttp2Session, number>();

  /** @param server its base URL. */
  constructor(server: string) {
    this.authority = server;
  }

  /** Begins a call. Errors: those of the connection. */
  async request(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    options: object,
  ): Promise<ClientHttp2Stream> {
    const session = await this.#open();
    const stream = session.request({ ...headers, ":method": method, ":path": path }, options);
    // A connection without calls does not keep the process running.
    this.#countCalls(session, 1);
    stream.once("close", () => this.#countCalls(session, -1));
    return stream;
  }

  /** Nothing depends on when a connection was used last. */
  notifyResponseByteRead(): void {}

  /** Closes the connection, and ends its calls. */
  abort(): void {
    this.#session?.destroy();
  }

  #countCalls(session: ClientHttp2Session, change: 1 | -1): void {
    const calls = (this.#calls.get(session) ?? 0) + change;
    this.#calls.set(session, calls);
    if (calls > 0) session.ref();
    else session.unref();
  }

  #open(): Promise<ClientHttp2Session> {
    if (this.#opening === undefined || this.#session?.closed || this.#session?.destroyed)
      this.#opening = this.#connect();
    return this.#opening;
  }

  #connect(): Promise<ClientHttp2Session> {
    const session = connect(this.authority);
    this.#session = session;
    session.setTimeout(openingMs, () => session.destroy());
    return new Promise((resolve, reject) => {
      // After it has opened, errors are those of its calls.
      session.on("error", reject);
      session.once("close", () =>
        reject(Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" })),
      );
      session.once("remoteSettings", () => {
        session.setTimeout(0);
        session.unref();
        resolve(session);
      });
    });
  }
}
