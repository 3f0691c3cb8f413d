/** Refusals while the server is overloaded: counted, logged now and then, and answered at little cost. */
import type { Registry } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { completeError, unavailable } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { type HttpRequest, type HttpResponse, isBuffered, send } from "../../message/index.ts";
import { formatStatus, writeStatus } from "../../rest/index.ts";
import { refuseRpc } from "../../rpc/index.ts";
import type { Api } from "../api.ts";
import { createCounter } from "../counter.ts";
import { answerHeaders } from "../request-id.ts";

/** The limit that was reached, by its setting. */
export type OverloadLimit = "max-queue-delay" | "max-calls";

/** The refusals of a server. */
export interface Overload {
  /** How many requests have been refused, by limit. */
  readonly refused: ReadonlyMap<string, number>;
  /** Counts one. */
  report(limit: OverloadLimit): void;
}

/** A line is logged at most this often. */
const logMs = 10_000;

/** Begins to count. */
export function createOverload(log: Logger): Overload {
  const { counts, report } = createCounter(["max-queue-delay", "max-calls"]);
  let unlogged = 0;
  let loggedMs = Number.NEGATIVE_INFINITY;
  return {
    refused: counts,
    report(limit) {
      report(limit);
      unlogged++;
      const nowMs = performance.now();
      if (nowMs - loggedMs < logMs) return;
      log.warn({ limit, refused: unlogged }, "overloaded");
      loggedMs = nowMs;
      unlogged = 0;
    },
  };
}

/**
 * The answer: UNAVAILABLE, in the protocol of the request. It is written in advance. Header fields that have been set
 * are kept.
 */
export function overloadAnswer(
  { registry }: Pick<Api, "registry">,
  serviceHost: string,
): (request: HttpRequest, response: HttpResponse) => void {
  const error = () => completeError(unavailable("the server is overloaded; try again"), serviceHost, undefined);
  const body = formatStatus(error(), registry);
  const headers = { "content-type": "application/json", "retry-after": "1" };
  const length = { "content-length": Buffer.byteLength(body) };
  return (request, response) => {
    const own = answerHeaders(request.headers);
    if (refuseRpc(request, response, error, { registry, headers: own })) return;
    if (isBuffered(response)) response.writeHead(503, { ...own, ...headers, ...length }).end(body, "latin1");
    else void send(response, { httpStatus: 503, headers: { ...own, ...headers }, body });
  };
}

/** Answers a request with an error, in its protocol, before a handler has seen it. */
export function refuse(request: HttpRequest, response: HttpResponse, error: ConnectError, registry: Registry): void {
  const options = { registry, headers: answerHeaders(request.headers) };
  if (!refuseRpc(request, response, () => error, options)) void writeStatus(response, error, options);
}
