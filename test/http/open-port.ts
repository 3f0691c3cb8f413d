/** Fixtures of the tests of the port: a port, in cleartext and with TLS, and raw connections. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { createOnePort, type OnePort, type OnePortOptions } from "../../src/http/port.ts";
import type { BufferedRequest, BufferedResponse } from "../../src/message/index.ts";
import { selfSigned } from "./self-signed.ts";

/** The certificate of every TLS port here. */
export const certificate = selfSigned();

/** The variants of a port: cleartext or TLS, with the fast path and our own HTTP/2, or with Node's servers alone. */
export const variants = [
  { variant: "cleartext", secure: false, fastPath: false },
  { variant: "cleartext, with the fast path", secure: false, fastPath: true },
  { variant: "TLS", secure: true, fastPath: false },
  { variant: "TLS, with the fast path", secure: true, fastPath: true },
];

/** The fast path of a port: it answers as {@link openPort} does, or falls back to a test's own `onRequest`. */
export function onFastPath({
  onRequest,
}: Partial<OnePortOptions>): Pick<OnePortOptions, "onBufferedRequest" | "planFastPath"> {
  const onBufferedRequest = ({ bufferedBody }: BufferedRequest, response: BufferedResponse) => {
    if (onRequest !== undefined) response.fallBack();
    else response.writeHead(200, { "content-length": bufferedBody.length }).end(bufferedBody, "utf8");
  };
  return { onBufferedRequest, planFastPath: () => onBufferedRequest };
}

/** An open port, and what a test needs to reach it. */
export interface OpenPort {
  readonly port: OnePort;
  readonly number: number;
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  readonly errors: Error[];
  /** A raw connection. `alpn`: what to offer under TLS; null connects without TLS to a TLS port. */
  dial(alpn?: "h2" | "http/1.1" | null): Promise<RawConnection>;
}

/** Raw bytes out, raw bytes in. */
export interface RawConnection {
  readonly socket: Socket;
  /** The bytes received so far, in latin1. */
  received(): string;
  /** Resolves with all bytes once the peer has closed the connection. */
  readonly closed: Promise<string>;
}

/**
 * Opens a port on 127.0.0.1. By default it answers each request with the body it was sent.
 * `limits`: only those that the test waits for. A short one is exceeded if the machine is busy for a moment.
 */
export async function openPort(
  secure: boolean,
  { limits, ...options }: Partial<OnePortOptions> = {},
): Promise<OpenPort> {
  const errors: Error[] = [];
  const port = createOnePort({
    ...(secure ? { tls: certificate } : {}),
    limits: { checkIntervalMs: 20, ...limits },
    onRequest: (request, response) => void request.pipe(response),
    refusalBody: (status) => JSON.stringify({ code: status, message: "refused", details: [] }),
    onError: (error) => errors.push(error),
    ...options,
  });
  const { port: number } = await port.listen({ host: "127.0.0.1", port: 0 });
  return {
    port,
    number,
    origin: `${secure ? "https" : "http"}://127.0.0.1:${number}`,
    errors,
    async dial(alpn = "http/1.1") {
      const inTls = secure && alpn !== null;
      const socket = inTls
        ? connectSecurely({ host: "127.0.0.1", port: number, ca: certificate.cert, ALPNProtocols: [alpn] })
        : connect({ host: "127.0.0.1", port: number });
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
      });
      socket.on("error", () => {});
      const closed = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
      await once(socket, inTls ? "secureConnect" : "connect");
      return { socket, received: () => text, closed };
    },
  };
}
