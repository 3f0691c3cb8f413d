/** The port of a program that stands before, or instead of, a server. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Option } from "commander";
import { CommandFailure, stopSignal } from "../../command/index.ts";

/** `--listen`. */
export const listenOption = new Option("--listen <HOST:PORT>", "address to listen on; port 0 is any free one").default(
  "127.0.0.1:0",
);

/** Answers a request, or fails, which is answered as UNAVAILABLE. */
export type Answering = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Answers requests until SIGINT or SIGTERM. @param started called with the base URL. Errors: CommandFailure. */
export async function answerUntilStopped(
  address: string,
  answering: Answering,
  started: (baseUrl: string) => void,
): Promise<void> {
  const [, host = "", port = ""] = /^(?:\[?([^\]]*)\]?:)?(\d{1,5})$/.exec(address) ?? [];
  if (port === "") throw new CommandFailure(`--listen must be HOST:PORT, not ${JSON.stringify(address)}`, 2);
  const server = createServer((request, response) => {
    answering(request, response).catch((error: Error) =>
      writeStatus(response, 503, 14, `Unavailable: ${error.message}`),
    );
  });
  server.listen(Number(port), host || "127.0.0.1");
  await once(server, "listening").catch((error: Error) => {
    throw new CommandFailure(`cannot listen on ${address}: ${error.message}`);
  });
  const { address: at, port: chosen, family } = server.address() as AddressInfo;
  started(`http://${family === "IPv6" ? `[${at}]` : at}:${chosen}`);
  const { signal, release } = stopSignal();
  await once(signal, "abort");
  release();
  server.close();
  server.closeAllConnections();
}

/** Answers with a `google.rpc.Status`. */
export function writeStatus(response: ServerResponse, httpStatus: number, code: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(httpStatus, { "content-type": "application/json" });
  response.end(JSON.stringify({ code, message, details: [] }));
}
