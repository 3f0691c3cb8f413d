/**
 * What answers at a port, also while its server takes no calls: before it has started, and once it cannot work any
 * more.
 */
import { completeError, unavailable } from "../../errors.ts";
import type { OnePortOptions } from "../../http/index.ts";
import { isGone, type PortRequest } from "../../message/index.ts";
import { formatStatus } from "../../rest/index.ts";
import { refuseGrpc, setHeaders } from "../../rpc/index.ts";
import type { Readiness } from "../admin/readiness.ts";
import type { Api } from "../api.ts";
import { overloadAnswer } from "./overload.ts";

/** What answers the requests of a port. */
export type RequestHandlers = Required<
  Pick<OnePortOptions, "onRequest" | "onBufferedRequest" | "onOverload" | "planFastPath" | "payerOf" | "onRead">
>;

type OnRequest = RequestHandlers["onRequest"];

/** What {@link PortHandlers} needs. */
interface UnservedOptions {
  readonly api: Pick<Api, "registry">;
  readonly readiness: Readiness;
  readonly serviceHost: string;
}

/** Whom requests count against before the server takes calls. */
const nobody = { account: "", caller: "" };

/** What answers at a port now: calls wait until there are handlers, and are refused while there is a reason. */
export class PortHandlers {
  readonly #options: UnservedOptions;
  readonly #started = Promise.withResolvers<OnRequest>();
  /** Those of the server. */
  #serving: RequestHandlers;
  #current: RequestHandlers;

  constructor(options: UnservedOptions) {
    this.#options = options;
    const starting = answerUnserved("the server is starting", options);
    this.#serving = this.#refusing(holdUntil(this.#started.promise, starting));
    this.#current = this.#serving;
  }

  /** Handlers that pass each request to those that answer now. */
  delegating(
    hasFastPath: boolean,
  ): Pick<RequestHandlers, "onRequest" | "onOverload" | "payerOf" | "onRead"> & Partial<RequestHandlers> {
    return {
      onRequest: (request, response) => this.#current.onRequest(request, response),
      onOverload: (request, response) => this.#current.onOverload(request, response),
      payerOf: (authorization, address) => this.#current.payerOf(authorization, address),
      onRead: () => this.#current.onRead(),
      ...(hasFastPath && {
        onBufferedRequest: (request, response) => this.#current.onBufferedRequest(request, response),
        planFastPath: (fields) => this.#current.planFastPath(fields),
      }),
    };
  }

  /** Lets these answer from now on. */
  serve(handlers: RequestHandlers): void {
    if (this.#current === this.#serving) this.#current = handlers;
    this.#serving = handlers;
    this.#started.resolve((request, response) => this.#current.onRequest(request, response));
  }

  /** Refuses calls as UNAVAILABLE for this reason; undefined: no longer. */
  refuse(reason: string | undefined): void {
    this.#current = reason === undefined ? this.#serving : this.#refusing(answerUnserved(reason, this.#options));
  }

  #refusing(onRequest: OnRequest): RequestHandlers {
    const { api, serviceHost } = this.#options;
    return {
      onRequest,
      onBufferedRequest: (_request, response) => response.fallBack(),
      onOverload: overloadAnswer(api, serviceHost),
      planFastPath: () => undefined,
      payerOf: () => nobody,
      onRead() {},
    };
  }
}

/** Answers probes, and refuses everything else as UNAVAILABLE. */
function answerUnserved(reason: string, { api, readiness, serviceHost }: UnservedOptions): OnRequest {
  const body = formatStatus(completeError(unavailable(reason), serviceHost, undefined), api.registry);
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
function holdUntil(started: Promise<OnRequest>, refuse: OnRequest): OnRequest {
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
