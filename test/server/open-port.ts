/** What the tests of the port share: a port, in cleartext and under TLS, and connections that speak raw bytes. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import type { WholeRequest, WholeResponse } from "../../src/rest/index.ts";
import { createOnePort, type OnePort, type OnePortOptions } from "../../src/server/one-port.ts";
import { selfSigned } from "./self-signed.ts";

/** The certificate of every TLS port here. */
export const certificate = selfSigned();

/** The dresses of a port: what it wears, and whether plain requests have a lane of their own. */
export const dresses = [
  { dress: "cleartext", secure: false, hasLane: false },
  { dress: "cleartext with lanes", secure: false, hasLane: true },
  { dress: "TLS", secure: true, hasLane: false },
  { dress: "TLS with lanes", secure: true, hasLane: true },
];

/** What a port answers on its lanes: as {@link openPort} does, unless the test has an answer of its own. */
export function onLane({ onRequest }: Partial<OnePortOptions>): Pick<OnePortOptions, "onPlainRequest" | "takePlain"> {
  const onPlainRequest = ({ wholeBody }: WholeRequest, response: WholeResponse) => {
    if (onRequest !== undefined) response.handBack();
    else response.writeHead(200, { "content-length": wholeBody.length }).end(wholeBody, "utf8");
  };
  return { onPlainRequest, takePlain: () => onPlainRequest };
}

/** A port that is open, and what a test needs to reach it. */
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
  /** What came so far, as latin1. */
  received(): string;
  /** Resolves with all that came when the peer has closed the connection. */
  readonly closed: Promise<string>;
}

/**
 * Opens a port on 127.0.0.1. By default it answers each request with the body it was sent.
 * `limits`: only those that the test waits for; a machine that stands still for a moment exceeds any that is short.
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
