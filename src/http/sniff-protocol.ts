/**
 * Detects the protocol of a connection by its first bytes. HTTP/2 begins with the preface `PRI` (RFC 9113 section 3.4),
 * TLS with the number of a handshake record (RFC 8446 section 5.1), which no text begins with.
 */
import type { Socket } from "node:net";

/** The protocol that a connection begins with. */
export type Opening = "http1" | "http2" | "tls";

const preface = Buffer.from("PRI");
const handshakeRecord = 22;

/** How many connections begin in one iteration of the event loop. Most of the work follows when they have begun. */
const perIteration = 16;

/**
 * Lets connections begin in the order of their first bytes, and only so many in one iteration of the event loop that a
 * burst does not keep those waiting that have begun earlier.
 */
export class Beginnings {
  readonly #waiting: (() => void)[] = [];
  #left = perIteration;
  #isDue = false;

  /** Calls `begin` now, or in a later iteration of the event loop. */
  add(begin: () => void): void {
    this.#waiting.push(begin);
    this.#run();
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#left = perIteration;
    this.#isDue = this.#waiting.length > 0;
    if (this.#isDue) setImmediate(this.#next);
    this.#run();
  };

  #run(): void {
    for (; this.#left > 0 && this.#waiting.length > 0; this.#left--) this.#waiting.shift()!();
  }
}

/**
 * Reads from the socket until the protocol is certain, puts back what it read, and calls `decided` once. A socket that
 * ends, fails or stays silent for `limitMs` is destroyed, without a call.
 *
 * A first chunk that is too short is kept here. If it were put back, the socket would be readable again at once, in a
 * loop.
 */
export function readFirstBytes(
  socket: Socket,
  limitMs: number,
  beginnings: Beginnings,
  decided: (opening: Opening) => void,
): void {
  let head: Buffer = Buffer.alloc(0);
  let isWaiting = false;
  const timer = setTimeout(() => socket.destroy(), limitMs);
  const abandon = () => socket.destroy();
  const forget = () => clearTimeout(timer);

  const read = () => {
    isWaiting = false;
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const length = Math.min(head.length, preface.length);
    const mayBeHttp2 = head.compare(preface, 0, length, 0, length) === 0;
    if (mayBeHttp2 && length < preface.length) return;

    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", abandon).off("close", forget);
    socket.unshift(head);
    decided(mayBeHttp2 ? "http2" : head[0] === handshakeRecord ? "tls" : "http1");
  };

  const onReadable = () => {
    if (isWaiting) return;
    isWaiting = true;
    beginnings.add(read);
  };
  socket.on("readable", onReadable).on("end", abandon).on("close", forget);
}
