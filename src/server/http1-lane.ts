/**
 * The fast lane of HTTP/1.1: plain requests (`plain-request.ts`), straight from the socket. Whatever else comes, the connection goes to Node's server
 * with all that was not answered yet, for good; so the lane refuses nothing, and never waits for the rest of a request.
 */
import type { Socket } from "node:net";
import { createPlainRequestReader, type PlainRequest, type PlainRequestReader } from "./plain-request.ts";
import { type PlainConnection, PlainResponse } from "./plain-response.ts";
import type { PortLimits } from "./port-limits.ts";
import type { Share, SharedBytes } from "./shared-bytes.ts";
import { Turn, type Turns } from "./turns.ts";

/** What the lane is made from. */
export interface Http1LaneOptions {
  readonly limits: PortLimits;
  readonly turns: Turns;
  /** What may be there of answers that are not sent, over all connections. */
  readonly unsent: SharedBytes;
  /** Answers one request, or hands it back. */
  onPlainRequest(request: PlainRequest, response: PlainResponse): void;
  /** Told before each request. `isQueued`: it may have been sent later than others of this turn of the event loop. */
  tellRead(isQueued: boolean): void;
  /** Serves a connection of which nothing is read that is not answered. `startedMs`: when the request came that has begun. */
  handOver(socket: Socket, startedMs: number | undefined): void;
}

/** The lane. */
export interface Http1Lane {
  /** Serves a connection until something comes that is not plain. */
  accept(socket: Socket): void;
  /** Enforces the limits; to be called every `checkIntervalMs`. */
  check(): void;
  /** Ends idle connections now and each other one after the response in flight, which says `connection: close`. */
  close(): void;
}

/** What may wait while a request is answered, before the connection is read no further. */
const maxUnreadBytes = 64 * 1024;

const nothing: Buffer = Buffer.alloc(0);

/** Creates the lane. */
export function createHttp1Lane(options: Http1LaneOptions): Http1Lane {
  const connections = new Set<Connection>();
  let isClosing = false;
  return {
    accept(socket) {
      const connection = new Connection(socket, options, (gone) => connections.delete(gone));
      connections.add(connection);
      if (isClosing) connection.finish();
    },
    check() {
      const nowMs = performance.now();
      for (const connection of connections) connection.check(nowMs);
    },
    close() {
      isClosing = true;
      for (const connection of connections) connection.finish();
    },
  };
}

/** One connection, in the lane. */
class Connection implements PlainConnection {
  readonly socket: Socket;
  readonly #options: Http1LaneOptions;
  readonly #forget: (connection: Connection) => void;
  readonly #reader: PlainRequestReader;
  readonly #keepAlive: string;
  readonly #turn: Turn;
  readonly #share: Share;
  /** What has come, from the request on that is being answered. */
  #unread = nothing;
  /** When its first byte came; where in it the pieces begin that came later, and when they did. */
  #firstMs = 0;
  #later: { at: number; readonly ms: number }[] = [];
  #response: PlainResponse | undefined;
  #isServing = false;
  #isLast = false;
  /** How many requests have been answered, how many had been when this was last looked at, and since when it is so. */
  #answered = 0;
  #seen = 0;
  #seenMs = performance.now();

  constructor(socket: Socket, options: Http1LaneOptions, forget: (connection: Connection) => void) {
    this.socket = socket;
    this.#options = options;
    this.#forget = forget;
    const { maxHeaderBytes, keepAliveMs } = options.limits;
    this.#reader = createPlainRequestReader(maxHeaderBytes);
    this.#turn = new Turn(options.turns, () => {
      if (this.#unread.length > 0) this.#resume(); // and it is still in the lane
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
    if (this.#response === undefined) this.#serve(false);
    if (this.#unread.length > maxUnreadBytes) this.socket.pause();
  };

  /** There may be room for an answer again, and it may be this connection's turn. */
  readonly #resume = () => {
    this.#count();
    if (this.#response === undefined) this.#serve(true);
  };

  readonly #end = () => {
    this.socket.end();
  };

  readonly #close = () => {
    this.#forget(this);
    this.#response?.close();
    this.#unread = nothing;
  };

  /** Counts what is not sent. */
  #count(): void {
    this.#share.set(this.socket.writableLength);
  }

  /** Serves what has come, until there is something to wait for. */
  #serve(isQueued: boolean): void {
    const { socket } = this;
    this.#isServing = true;
    for (let queued = isQueued; this.#unread.length > 0; queued = true) {
      if (this.#response !== undefined || socket.writableNeedDrain || socket.writableEnded || !this.#mayBegin()) break;
      const request = this.#reader.read(this.#unread);
      if (request === undefined) {
        this.handBack();
        break;
      }
      request.startedMs = this.#firstMs;
      this.#response = new PlainResponse(request, this);
      this.#options.tellRead(queued);
      this.#options.onPlainRequest(request, this.#response);
    }
    this.#isServing = false;
    if (socket.isPaused() && this.#unread.length <= maxUnreadBytes) socket.resume();
  }

  /** Whether there is room for an answer, and it is this connection's turn. */
  #mayBegin(): boolean {
    return this.#share.hasRoomOrWaits(0, this.#turn) && this.#turn.take();
  }

  get persistence(): string {
    return this.#isLast ? "Connection: close\r\n" : this.#keepAlive;
  }

  onAnswered(): void {
    const { length } = this.#response!.req;
    this.#unread = length === this.#unread.length ? nothing : this.#unread.subarray(length);
    if (this.#later.length > 0) this.#forgetTimes(length);
    this.#response = undefined;
    this.#answered++;
    this.#turn.answered();
    this.#count();
    if (this.#isLast) this.#endSocket();
    else if (!this.#isServing) this.#serve(true);
  }

  /** What came first has been served. */
  #forgetTimes(bytes: number): void {
    while (this.#later.length > 0 && this.#later[0]!.at <= bytes) this.#firstMs = this.#later.shift()!.ms;
    for (const piece of this.#later) piece.at -= bytes;
  }

  handBack(): void {
    const { socket } = this;
    if (socket.readableEnded || socket.destroyed) {
      socket.destroy();
      return;
    }
    this.#forget(this);
    socket.off("data", this.#take).off("drain", this.#resume).off("end", this.#end).off("close", this.#close);
    socket.pause(); // or what is put back would go to nobody
    socket.unshift(this.#unread);
    const startedMs = this.#unread.length > 0 ? this.#firstMs : undefined;
    this.#unread = nothing;
    this.#share.set(0);
    this.#options.handOver(socket, startedMs);
    socket.resume();
  }

  check(nowMs: number): void {
    if (this.#answered === 0 && this.#response === undefined) {
      this.handBack(); // Node has a time-out for who has asked nothing yet
      return;
    }
    if (this.#response !== undefined || this.#answered !== this.#seen) {
      this.#seen = this.#answered;
      this.#seenMs = nowMs;
    }
    const { responseMs, keepAliveMs } = this.#options.limits;
    if (nowMs - this.#seenMs > (this.socket.writableLength > 0 ? responseMs : keepAliveMs + 1_000))
      this.socket.destroy();
  }

  finish(): void {
    this.#isLast = true;
    if (this.#response === undefined && !this.#turn.isWaiting) this.#endSocket();
  }

  /** Once what has been answered is sent. */
  #endSocket(): void {
    this.socket.end(() => this.socket.destroy());
  }
}
