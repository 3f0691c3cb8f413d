/**
 * The fast path of HTTP/1.1: simple requests (`parse-request.ts`), read from the socket. At the first request that is
 * not simple, or not complete, the connection falls back to Node's server for good, with all bytes that are not
 * answered yet. So the fast path refuses nothing, and never waits for the rest of a request.
 */
import type { Socket } from "node:net";
import { emptyBuffer } from "../http2/frames.ts";
import { Payers } from "../payers.ts";
import type { ConnectionServer, ServerParts } from "../server-parts.ts";
import type { Share } from "../shared-bytes.ts";
import { Turn } from "../turns.ts";
import { createSimpleRequestReader, type SimpleRequest, type SimpleRequestReader } from "./parse-request.ts";
import { Http1Response, type ResponseConnection } from "./response.ts";

/** What the fast path is made from. */
interface Http1FastPathOptions extends ServerParts {
  /** Answers a request, or has it fall back. */
  onBufferedRequest(request: SimpleRequest, response: Http1Response): void;
  /** Called before each request. `isQueued`: it may have been sent later than others of this turn of the event loop. */
  reportRead(isQueued: boolean): void;
  /**
   * Serves a connection of which all bytes that were read are answered. `startedMs`: when the first byte of the next
   * request came, if it came.
   */
  serveByNode(socket: Socket, startedMs: number | undefined): void;
}

/** The connections on the fast path, each until it falls back. */
interface Http1FastPath extends ConnectionServer {
  /** Ends each connection after its next response, which says `connection: close`. */
  drain(): void;
}

/** How many bytes may wait while a request is answered, before the connection is paused. */
const maxUnreadBytes = 64 * 1024;

/** Creates the fast path. */
export function createHttp1FastPath(options: Http1FastPathOptions): Http1FastPath {
  const connections = new Set<Http1Connection>();
  let isDraining = false;
  return {
    accept(socket) {
      const connection = new Http1Connection(socket, options, (gone) => connections.delete(gone));
      connections.add(connection);
      if (isDraining) connection.drain();
    },
    check() {
      const nowMs = performance.now();
      for (const connection of connections) connection.check(nowMs);
    },
    drain() {
      isDraining = true;
      for (const connection of connections) connection.drain();
    },
    close() {
      for (const connection of connections) connection.finish();
    },
  };
}

/** One connection on the fast path. */
class Http1Connection implements ResponseConnection {
  readonly socket: Socket;
  readonly #options: Http1FastPathOptions;
  readonly #forget: (connection: Http1Connection) => void;
  readonly #reader: SimpleRequestReader;
  readonly #keepAlive: string;
  readonly #turn: Turn;
  readonly #payers: Payers;
  readonly #share: Share;
  /** The bytes that came, from the beginning of the request that is being answered. */
  #unread = emptyBuffer;
  /** When its first byte came; the offsets of the pieces that came later, and when they came. */
  #firstMs = 0;
  #later: { at: number; readonly ms: number }[] = [];
  /** The first request of these bytes, if it waits for its turn. */
  #next: SimpleRequest | undefined;
  #response: Http1Response | undefined;
  #isServing = false;
  #isLast = false;
  /**
   * How many requests have been answered, how many had been at the last check, and since when that number is the same.
   */
  #answered = 0;
  #seen = 0;
  #seenMs = performance.now();

  constructor(socket: Socket, options: Http1FastPathOptions, forget: (connection: Http1Connection) => void) {
    this.socket = socket;
    this.#options = options;
    this.#forget = forget;
    const { maxHeaderBytes, keepAliveMs } = options.limits;
    this.#reader = createSimpleRequestReader(maxHeaderBytes);
    this.#payers = new Payers(options.turns.payerOf, socket);
    this.#turn = new Turn(options.turns, this.#payers.of(undefined), () => {
      if (this.#unread.length > 0) this.#resume(); // otherwise it may have fallen back
    });
    this.#share = options.unsent.share(socket);
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`;
    socket.on("data", this.#take).on("drain", this.#resume).on("end", this.#end).on("close", this.#close);
  }

  readonly #take = (chunk: Buffer) => {
    const nowMs = performance.now();
    if (this.#unread.length === 0) {
      this.#unread = chunk;
      this.#firstMs = nowMs;
    } else {
      this.#later.push({ at: this.#unread.length, ms: nowMs });
      this.#unread = Buffer.concat([this.#unread, chunk]);
    }
    if (this.#response === undefined) this.#serve(false, nowMs);
    if (this.#unread.length > maxUnreadBytes) this.socket.pause();
  };

  /** Goes on when there may be room for a response, and it may be this connection's turn. */
  readonly #resume = () => {
    this.#count();
    if (this.#response === undefined) this.#serve(true);
  };

  readonly #end = () => {
    this.socket.end();
  };

  readonly #close = () => {
    this.#forget(this);
    this.#turn.end();
    this.#response?.close();
    this.#unread = emptyBuffer;
    this.#next = undefined;
  };

  /** Counts the bytes that are not sent. */
  #count(): void {
    this.#share.set(this.socket.writableLength);
  }

  /** Serves the requests that came, until it has to wait. `nowMs`: the time, if it has just been read. */
  #serve(isQueued: boolean, nowMs?: number): void {
    const { socket } = this;
    this.#isServing = true;
    for (let queued = isQueued; this.#unread.length > 0; queued = true) {
      if (this.#response !== undefined || socket.writableNeedDrain || socket.writableEnded) break;
      const request = this.#next ?? this.#reader.read(this.#unread);
      this.#next = request;
      if (request === undefined) {
        this.fallBack();
        break;
      }
      const { isRefused } = this.#turn;
      if (!isRefused && !this.#mayBegin(request, queued ? undefined : nowMs)) break;
      this.#next = undefined;
      request.startedMs = this.#firstMs;
      if (request.isLast) this.#isLast = true;
      this.#response = new Http1Response(request, this);
      this.#options.reportRead(queued);
      if (isRefused) this.#options.onOverload(request, this.#response);
      else this.#options.onBufferedRequest(request, this.#response);
    }
    this.#isServing = false;
    if (socket.isPaused() && this.#unread.length <= maxUnreadBytes) socket.resume();
  }

  /** Whether there is room for a response, and it is this connection's turn. */
  #mayBegin({ headers }: SimpleRequest, nowMs: number | undefined): boolean {
    this.#turn.payer = this.#payers.of(headers.authorization);
    return this.#share.hasRoomOrWaits(0, this.#turn) && this.#turn.take(nowMs);
  }

  get fixedLines(): string {
    return this.#options.fixed.lines;
  }

  get persistence(): string {
    return this.#isLast ? "Connection: close\r\n" : this.#keepAlive;
  }

  onAnswered(): void {
    const { length } = this.#response!.req;
    this.#unread = length === this.#unread.length ? emptyBuffer : this.#unread.subarray(length);
    if (this.#later.length > 0) this.#forgetTimes(length);
    this.#response = undefined;
    this.#answered++;
    this.#turn.answered();
    this.#count();
    if (this.#isLast) this.#endSocket();
    else if (!this.#isServing) this.#serve(true);
  }

  /** Drops the times of bytes that have been served. */
  #forgetTimes(bytes: number): void {
    while (this.#later.length > 0 && this.#later[0]!.at <= bytes) this.#firstMs = this.#later.shift()!.ms;
    for (const piece of this.#later) piece.at -= bytes;
  }

  fallBack(): void {
    const { socket } = this;
    if (socket.readableEnded || socket.destroyed) {
      socket.destroy();
      return;
    }
    this.#forget(this);
    this.#turn.end();
    socket.off("data", this.#take).off("drain", this.#resume).off("end", this.#end).off("close", this.#close);
    socket.pause(); // or the bytes that are put back would be emitted before Node listens
    // All in one piece: Node reads from the handle itself once it has had the first.
    const buffered: Buffer | null = socket.read();
    socket.unshift(buffered === null ? this.#unread : Buffer.concat([this.#unread, buffered]));
    const startedMs = this.#unread.length > 0 ? this.#firstMs : undefined;
    this.#unread = emptyBuffer;
    this.#next = undefined;
    this.#share.set(0);
    this.#options.serveByNode(socket, startedMs);
    socket.resume();
  }

  check(nowMs: number): void {
    if (this.#answered === 0 && this.#response === undefined && !this.#turn.isWaiting) {
      this.fallBack(); // Node has a time-out for the first request
      return;
    }
    if (this.#response !== undefined || this.#turn.isWaiting || this.#answered !== this.#seen) {
      this.#seen = this.#answered;
      this.#seenMs = nowMs;
    }
    const { responseMs, keepAliveMs } = this.#options.limits;
    if (nowMs - this.#seenMs > (this.socket.writableLength > 0 ? responseMs : keepAliveMs + 1_000))
      this.socket.destroy();
  }

  drain(): void {
    this.#isLast = true;
  }

  finish(): void {
    this.#isLast = true;
    if (this.#response === undefined && !this.#turn.isWaiting) this.#endSocket();
  }

  /** Closes the connection once all responses are sent. */
  #endSocket(): void {
    this.socket.end(() => this.socket.destroy());
  }
}
