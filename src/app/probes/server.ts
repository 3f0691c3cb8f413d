/** Probes of liveness and readiness at an address of their own (`--probe-listen`). */
import { createServer, type Server } from "node:http";

/** What the probes answer. */
export interface ProbeAnswers {
  /** Why the process should be restarted; undefined while it should not. */
  failure(): string | undefined;
  /** What `/readyz` answers. */
  readiness(): { readonly isReady: boolean; readonly document: object };
}

const limits = {
  maxHeaderSize: 4096,
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
};
const maxConnections = 100;

/** Creates the server. It takes GET and HEAD for `/livez` and `/readyz`. */
export function createProbeServer({ failure, readiness }: ProbeAnswers): Server {
  const answers: Readonly<Record<string, () => readonly [number, object]>> = {
    "/livez": () => {
      const status = failure();
      return status === undefined ? [200, { status: "ok" }] : [503, { status }];
    },
    "/readyz": () => {
      const { isReady, document } = readiness();
      return [isReady ? 200 : 503, document];
    },
  };
  const server = createServer(limits, (request, response) => {
    request.resume();
    const answer = answers[request.url?.split("?")[0] ?? ""];
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (answer !== undefined && !isRead) response.setHeader("allow", "GET, HEAD");
    const [status, document] =
      answer === undefined ? [404, { status: "not found" }] : isRead ? answer() : [405, { status: "not allowed" }];
    const body = JSON.stringify(document);
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
    });
    response.end(request.method === "HEAD" ? "" : body);
  });
  server.maxConnections = maxConnections;
  return server;
}

/** Without a report for this long, an event loop is taken for one that hangs. */
export const maxSilenceMs = 60_000;
