/** What the admin listener answers, over HTTP/1.1: probes, metrics, and files for finding faults. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { refusalOfPage } from "./browser-check.ts";
import { type DebugFiles, serveDebug } from "./debug.ts";
import { type Check, documentOf, failureOf, formatChecks } from "./readiness.ts";
import { type Answer, respond } from "./respond.ts";

/** What the answers are made from. */
export interface AdminSource {
  /** Why the process should be restarted; undefined while it should not. */
  failure(): string | undefined;
  readiness(): ReadinessReport;
  /** The metrics in the Prometheus format. Absent: they are off. */
  metrics?: (() => Promise<string>) | undefined;
  readonly debug: DebugFiles;
  /** Names by which the listener is reached, besides addresses and names without a dot. */
  readonly hosts: readonly string[];
}

/** What `/readyz` answers. */
export interface ReadinessReport {
  readonly isReady: boolean;
  /** The JSON document. */
  readonly document: object;
  /** With `?verbose`. */
  readonly checks: readonly Check[];
}

const limits = {
  maxHeaderSize: 4096,
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
};
const noSniffing = ["x-content-type-options", "nosniff"] as const;
const maxConnections = 100;
/** How long a client may leave an answer unread. */
const unreadMs = 60_000;

/** Without a report for this long, an event loop is considered hung. */
export const maxSilenceMs = 60_000;
/** The report of one process: its status is the first failure. */
export function reportOf(checks: readonly Check[]): ReadinessReport {
  return { isReady: failureOf(checks) === undefined, document: documentOf(checks), checks };
}

/** What contains no secret: probes may use any host name. */
const forAnyPage = new Set(["/livez", "/readyz"]);

/** The status of a request that cannot be read. */
function statusOf(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return "431 Request Header Fields Too Large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "408 Request Timeout" : "400 Bad Request";
}

type Serve = (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>;

/** Creates the server. It takes GET and HEAD. */
export function createAdminServer({ failure, readiness, metrics, debug, hosts }: AdminSource): Server {
  const page =
    (answer: (url: URL) => Answer | Promise<Answer>): Serve =>
    async (_request, response, url) =>
      respond(response, await answer(url));
  const debugging = serveDebug(debug, () => server.address());
  const pages: Readonly<Record<string, Serve>> = {
    "/livez": page(() => {
      const status = failure();
      return status === undefined ? [200, { status: "ok" }] : [503, { status }];
    }),
    "/readyz": page(({ searchParams }) => {
      const { isReady, document, checks } = readiness();
      return [isReady ? 200 : 503, searchParams.has("verbose") ? formatChecks(checks, isReady) : document];
    }),
    "/metrics": page(async () =>
      metrics === undefined ? [404, { status: "metrics are off (--metrics)" }] : [200, await metrics()],
    ),
    "/debug/heap": debugging.heap,
    "/debug/profile": debugging.profile,
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? "", "http://admin");
    const page = url === null ? undefined : pages[url.pathname];
    if (url === null || page === undefined) return respond(response, [404, { status: "not found" }]);
    const refusal = forAnyPage.has(url.pathname) ? undefined : refusalOfPage(request, hosts);
    if (refusal !== undefined) return respond(response, [403, { status: refusal }]);
    if (request.method === "GET" || request.method === "HEAD") return page(request, response, url);
    response.setHeader("allow", "GET, HEAD");
    respond(response, [405, { status: "not allowed" }]);
  }

  const server = createServer(limits, (request, response) => {
    request.resume();
    response.setHeader(...noSniffing);
    response.setTimeout(unreadMs, () => response.destroy());
    serve(request, response).catch((error: Error) => {
      if (response.headersSent) response.destroy();
      else respond(response, [500, { status: error.message }]);
    });
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === "ECONNRESET") socket.destroy();
    else socket.end(`HTTP/1.1 ${statusOf(error.code)}\r\n${noSniffing.join(": ")}\r\nconnection: close\r\n\r\n`);
  });
  server.maxConnections = maxConnections;
  return server;
}
