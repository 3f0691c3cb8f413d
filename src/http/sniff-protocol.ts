/**
 * Detects the protocol of a connection by its first bytes. HTTP/2 begins with the preface `PRI` (RFC 9113 section 3.4),
 * TLS with the number of a handshake record (RFC 8446 section 5.1), which no text begins with.
 */
import type { Socket } from "node:net";
import type { Beginning } from "./addresses/proxy-header.ts";

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

/** The protocol of a connection by its first bytes, which are left unread. */
export function readOpening(bytes: Buffer): Beginning<Opening> {
  const length = Math.min(bytes.length, preface.length);
  const mayBeHttp2 = bytes.compare(preface, 0, length, 0, length) === 0;
  if (mayBeHttp2 && length < preface.length) return { kind: "incomplete" };
  const value = mayBeHttp2 ? "http2" : bytes[0] === handshakeRecord ? "tls" : "http1";
  return { kind: "complete", value, length: 0 };
}

/**
 * Reads from the socket until `read` is certain, puts back what it has left unread, and calls `decided` once. A socket
 * that ends, fails, stays silent for `limitMs` or is malformed is destroyed, without a call.
 *
 * A first chunk that is too short is kept here. If it were put back, the socket would be readable again at once, in a
 * loop.
 */
export function readFirstBytes<T>(
  socket: Socket,
  limitMs: number,
  beginnings: Beginnings,
  read: (bytes: Buffer) => Beginning<T>,
  decided: (value: T) => void,
): void {
  let head: Buffer = Buffer.alloc(0);
  let isWaiting = false;
  const timer = setTimeout(() => socket.destroy(), limitMs);
  const abandon = () => socket.destroy();
  const forget = () => clearTimeout(timer);

  const readMore = () => {
    isWaiting = false;
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const beginning = read(head);
    if (beginning.kind === "incomplete") return;
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", abandon).off("close", forget);
    if (beginning.kind === "malformed") {
      socket.destroy();
      return;
    }
    if (beginning.length < head.length) socket.unshift(head.subarray(beginning.length));
    decided(beginning.value);
  };

  const onReadable = () => {
    if (isWaiting) return;
    isWaiting = true;
    beginnings.add(readMore);
  };
  socket.on("readable", onReadable).on("end", abandon).on("close", forget);
}
