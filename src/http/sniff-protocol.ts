/**
 * Detects the protocol of a connection by its first bytes. HTTP/2 begins with the preface `PRI` (RFC 9113 section 3.4),
 * TLS with the number of a handshake record (RFC 8446 section 5.1), which no text begins with.
 */
import type { Socket } from "node:net";

/** The protocol that a connection begins with. */
export type Opening = "http1" | "http2" | "tls";

const preface = Buffer.from("PRI");
const handshakeRecord = 22;

/**
 * Reads from the socket until the protocol is certain, puts back what it read, and calls `decided` once. A socket that
 * ends, fails or stays silent for `limitMs` is destroyed, without a call.
 *
 * A first chunk that is too short is kept here. If it were put back, the socket would be readable again at once, in a
 * loop.
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
