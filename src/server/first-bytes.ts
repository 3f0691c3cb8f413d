/**
 * Tells by the first bytes of a connection what is spoken on it: only HTTP/2's preface (RFC 9113 section 3.4) begins with `PRI`, only TLS with the
 * number of a handshake record (RFC 8446 section 5.1), which is no text.
 */
import type { Socket } from "node:net";

/** What a connection begins with. */
export type Opening = "http1" | "http2" | "tls";

const preface = Buffer.from("PRI");
const handshakeRecord = 22;

/**
 * Reads from the socket until the protocol is certain, puts what it read back, and calls `decided` once. A socket that ends, fails or stays
 * silent for `limitMs` is destroyed and never decided.
 *
 * A short first chunk is kept aside rather than put back: unshifting makes the socket readable again at once, and waiting would spin.
 */
export function readFirstBytes(socket: Socket, limitMs: number, decided: (opening: Opening) => void): void {
  let head: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), limitMs);
  const abandon = () => socket.destroy();
  const forget = () => clearTimeout(timer);

  const onReadable = () => {
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

  socket.on("readable", onReadable).on("end", abandon).on("close", forget);
}
