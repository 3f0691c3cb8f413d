/** What the admin listener answers, over HTTP/1.1: probes, metrics, and files for finding faults. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
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
const maxConnections = 100;
/** How long a client may leave an answer unread. */
const unreadMs = 60_000;

/** Without a report for this long, an event loop is taken for one that hangs. */
export const maxSilenceMs = 60_000;
/** The report of one process: its status is the first failure. */
export function reportOf(checks: readonly Check[]): ReadinessReport {
  return { isReady: failureOf(checks) === undefined, document: documentOf(checks), checks };
}

type Serve = (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>;

/** Creates the server. It takes GET and HEAD. */
export function createAdminServer({ failure, readiness, metrics, debug }: AdminSource): Server {
  const answers: Readonly<Record<string, (url: URL) => Answer | Promise<Answer>>> = {
    "/livez": () => {
      const status = failure();
      return status === undefined ? [200, { status: "ok" }] : [503, { status }];
    },
    "/readyz": ({ searchParams }) => {
      const { isReady, document, checks } = readiness();
      return [isReady ? 200 : 503, searchParams.has("verbose") ? formatChecks(checks, isReady) : document];
    },
    "/metrics": async () =>
      metrics === undefined ? [404, { status: "metrics are off (--metrics)" }] : [200, await metrics()],
  };
  const debugging = serveDebug(debug, () => server.address());
  const pages: Readonly<Record<string, Serve>> = {
    ...Object.fromEntries(
      Object.entries(answers).map(([path, answer]): [string, Serve] => [
        path,
        async (_request, response, url) => respond(response, await answer(url)),
      ]),
    ),
    "/debug/heap": debugging.heap,
    "/debug/profile": debugging.profile,
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? "", "http://admin");
    const page = url === null ? undefined : pages[url.pathname];
    if (url === null || page === undefined) return respond(response, [404, { status: "not found" }]);
    if (request.method === "GET" || request.method === "HEAD") return page(request, response, url);
    response.setHeader("allow", "GET, HEAD");
    respond(response, [405, { status: "not allowed" }]);
  }

  const server = createServer(limits, (request, response) => {
    request.resume();
    response.setTimeout(unreadMs, () => response.destroy());
    serve(request, response).catch((error: Error) => {
      if (response.headersSent) response.destroy();
      else respond(response, [500, { status: error.message }]);
    });
  });
  server.maxConnections = maxConnections;
  return server;
}
