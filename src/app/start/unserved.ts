/** The answers of a port whose server takes no calls: before it has started, and once it cannot work any more. */
import { completeError, unavailable } from "../../errors.ts";
import { isGone, type PortRequest, type PortResponse } from "../../message/index.ts";
import { refuseGrpc, setHeaders } from "../../rpc/index.ts";
import type { Readiness } from "../admin/readiness.ts";

type OnRequest = (request: PortRequest, response: PortResponse) => void;

/** What {@link answerUnserved} needs. */
export interface UnservedOptions {
  readonly readiness: Readiness;
  readonly serviceHost: string;
  /** Why calls are refused. */
  readonly reason: string;
  /** The JSON text of the refusal. */
  readonly body: string;
}

/** Answers probes, and refuses everything else as UNAVAILABLE. */
export function answerUnserved({ readiness, serviceHost, reason, body }: UnservedOptions): OnRequest {
  return (request, response) => {
    const contentType = String(request.headers["content-type"] ?? "");
    request.resume();
    if (contentType.startsWith("application/grpc"))
      return refuseGrpc(response, contentType, completeError(unavailable(reason), serviceHost, undefined));
    setHeaders(response, { "content-type": "application/json", "cache-control": "no-store" });
    const path = pathOf(request);
    if (path === "/livez") {
      response.statusCode = 200;
      response.end('{"status":"ok"}');
      return;
    }
    response.statusCode = 503;
    response.setHeader("retry-after", "1");
    response.end(path === "/readyz" ? JSON.stringify(readiness.document()) : body);
  };
}

/** The paths of probes, which are answered at once: they are asked whether the server has started. */
const probes: ReadonlySet<string> = new Set([
  "/livez",
  "/readyz",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
]);

/** How long a call waits for a server that starts, and how many wait. */
const holdMs = 5000;
const maxHeld = 1000;

/** Answers probes, and holds calls for a few seconds until `started`; then `refuse` answers them. */
export function holdUntil(started: Promise<OnRequest>, refuse: OnRequest): OnRequest {
  let held = 0;
  return (request, response) => {
    const path = pathOf(request);
    if (probes.has(path ?? "") || held >= maxHeld) return refuse(request, response);
    held++;
    const late = Promise.withResolvers<OnRequest>();
    const timer = setTimeout(late.resolve, holdMs, refuse);
    void Promise.race([started, late.promise]).then((answer) => {
      held--;
      clearTimeout(timer);
      if (!isGone(response)) answer(request, response);
    });
  };
}

function pathOf({ url }: PortRequest): string | undefined {
  return url?.split("?")[0];
}
