/** The request handler: finds the endpoint of an HTTP request, and writes errors. */

import type { OutgoingHttpHeaders } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Awaitable, tryChain } from "../awaitable.ts";
import { breakOff, formatLimit, type HttpRequest, type HttpResponse, isGone, Refusal } from "../message/index.ts";
import { type Binding, readBindings } from "./binding.ts";
import { createEndpoint, type Endpoint } from "./endpoint.ts";
import type { FieldPath } from "./field-path.ts";
import type { RestMethod, RestOptions } from "./options.ts";
import { Router } from "./router.ts";
import { writeStatus } from "./status.ts";

/** Responds to one request, synchronously when nothing has to be waited for. Never throws or rejects. */
export type RestHandler = (request: HttpRequest, response: HttpResponse) => Awaitable<void>;

const defaultMaxUrlBytes = 8 * 1024;

/**
 * Builds the handler for all annotated methods.
 * Errors: Error that names the method, for annotations that cannot be served (see `index.ts`).
 */
export function createRestHandler(options: RestOptions): RestHandler {
  const bindings = readBindings(options.services);
  const { mayHaveColon } = options;
  const router = new Router(bindings, mayHaveColon && ((binding) => mayEndInColon(binding, mayHaveColon)));
  const endpoints = new Map(bindings.map((binding) => [binding, createEndpoint(binding, options)]));
  const maxUrlBytes = options.limits?.maxUrlBytes ?? defaultMaxUrlBytes;

  function route(request: HttpRequest): { endpoint: Endpoint; segments: string[]; query: string } {
    const target = request.url ?? "";
    if (target.length > maxUrlBytes) {
      const limit = formatLimit(maxUrlBytes, options.limits?.settings?.url);
      throw new Refusal(414, Code.InvalidArgument, `Invalid argument: the URL is longer than ${limit}`);
    }
    const { path, query } = splitTarget(target);
    const match = router.match(request.method ?? "", path);
    switch (match.kind) {
      case "unknown path":
        throw new ConnectError("Not found: no method has this path", Code.NotFound);
      case "wrong method":
        throw new Refusal(405, Code.Unimplemented, `Method not allowed: this path takes ${match.allow.join(", ")}`, {
          allow: match.allow.join(", "),
        });
      case "found":
        return { endpoint: endpoints.get(match.binding) as Endpoint, segments: match.segments, query };
    }
  }

  return (request, response) => {
    const common = options.answerHeaders?.(request);
    let method: RestMethod | undefined;
    const describe = (reason: unknown): Failure => describeFailure(reason, method, options);
    return tryChain(
      () => {
        const { endpoint, segments, query } = route(request);
        method = endpoint.method;
        return endpoint.serve({ request, response, common, segments, query, describe });
      },
      () => {},
      (reason) => answerError(response, common, describe(reason), options),
    );
  };
}

/** Whether the value that a binding captures of the last segment may contain a colon. */
function mayEndInColon({ template, variables }: Binding, mayHaveColon: (path: FieldPath) => boolean): boolean {
  const last = variables.find(({ end }) => end === template.segments.length);
  return last === undefined || mayHaveColon(last.path);
}

/** Path and query of a request target, in origin form or, as proxies send it, in absolute form. */
function splitTarget(target: string): { path: string; query: string } {
  const origin = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = origin.indexOf("?");
  return mark < 0 ? { path: origin, query: "" } : { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/** An error ready to be written. */
interface Failure {
  readonly error: ConnectError;
  readonly httpStatus: number | undefined;
}

function describeFailure(reason: unknown, method: RestMethod | undefined, options: RestOptions): Failure {
  const httpStatus = reason instanceof Refusal ? reason.httpStatus : undefined;
  const error = reason instanceof Refusal ? reason.error : reason;
  const plain =
    error instanceof ConnectError
      ? error
      : new ConnectError("Internal error", Code.Internal, undefined, undefined, error);
  try {
    return { error: options.describeError?.(plain, method) ?? plain, httpStatus };
  } catch {
    return { error: plain, httpStatus };
  }
}

async function answerError(
  response: HttpResponse,
  headers: OutgoingHttpHeaders | undefined,
  { error, httpStatus }: Failure,
  options: RestOptions,
): Promise<void> {
  if (isGone(response)) return;
  try {
    if (response.headersSent) {
      breakOff(response);
    } else {
      const { registry, wrapErrors } = options;
      await writeStatus(response, error, { registry, wrapErrors, httpStatus, headers });
    }
  } catch {
    // Not even the error can be sent.
    breakOff(response);
  }
}
