/** The request handler: finds the endpoint of an HTTP request, and writes errors. */

import type { OutgoingHttpHeaders } from "node:http";
import { createRegistry, type DescFile, type DescMethod, type DescService, type Registry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import type { Awaitable } from "../awaitable.ts";
import {
  breakOff,
  formatLimit,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isGone,
  Refusal,
} from "../message/index.ts";
import { type Binding, methodName, type RestMethod, readAllBindings } from "./binding.ts";
import { createCors } from "./cors.ts";
import { createEndpoint, type Endpoint, type Exchange } from "./endpoint.ts";
import type { FieldPath } from "./field-path.ts";
import type { CompleteOptions, RestOptions } from "./options.ts";
import { type RouteMatch, Router } from "./router.ts";
import { writeStatus } from "./status.ts";

/**
 * Responds to one request, synchronously when nothing has to be waited for. Never throws or rejects. With `next`, a
 * request that no method has path and HTTP method of is left to it, and its response is not touched.
 */
export type RestHandler = (request: HttpRequest, response: HttpResponse, next?: () => unknown) => Awaitable<void>;

const defaultMaxUrlBytes = 8 * 1024;
const unknownPath = { kind: "unknown path" } as const;

/**
 * Builds the handler for all annotated methods.
 * Errors: Error that names the methods, for annotations that cannot be served (see `index.ts`), unless they are
 * skipped.
 */
export function createRestHandler(given: RestOptions): RestHandler {
  const services = [...given.services];
  const options = { ...given, services, registry: given.registry ?? defaultRegistry(services) };
  const bindings = readAllBindings(services, { onSkipped: warn, ...options });
  const endpoints = new Map(bindings.map((binding) => [binding, createEndpoint(binding, options)]));
  const find = createFinder(bindings, options);
  const { onMatch } = options;
  const answersPreflight = options.cors && createCors(options.cors);

  return (request, response, next) => {
    if (next !== undefined && find(request, askedMethod(request, options)).match.kind !== "found") return void next();
    if (answersPreflight?.(request, response)) return;
    const exchange = new RestExchange(request, response, options);
    let served: Awaitable<void>;
    try {
      served = serve(exchange);
    } catch (reason) {
      return exchange.fail(reason);
    }
    return served instanceof Promise ? served.catch((reason) => exchange.fail(reason)) : undefined;
  };

  function serve(exchange: RestExchange): Awaitable<void> {
    const { request, response } = exchange;
    exchange.common = options.answerHeaders?.(request);
    checkUrl(request, options);
    const { match, query } = find(request, request.method ?? "");
    if (match.kind !== "found") throw refusalOf(match);
    const endpoint = endpoints.get(match.binding) as Endpoint;
    exchange.method = endpoint.method;
    exchange.segments = match.segments;
    exchange.query = query;
    onMatch?.(endpoint.match, request, response);
    return endpoint.serve(exchange);
  }
}

/** A request and its response, with what is known of it so far. */
class RestExchange implements Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly #options: CompleteOptions;
  common: OutgoingHttpHeaders | undefined;
  method: RestMethod | undefined;
  segments: readonly string[] = [];
  query = "";

  constructor(request: HttpRequest, response: HttpResponse, options: CompleteOptions) {
    this.request = request;
    this.response = response;
    this.#options = options;
  }

  describe(reason: unknown): Failure {
    return describeFailure(reason, this.method, this.#options);
  }

  /** Answers with an error. Never rejects. */
  fail(reason: unknown): Promise<void> {
    return answerError(this.response, this.common, this.describe(reason), this.#options);
  }
}

/** Finds the binding of a request, as it would be with this HTTP method. */
type Finder = (request: HttpRequest, httpMethod: string) => { readonly match: RouteMatch; readonly query: string };

function createFinder(bindings: readonly Binding[], { mayHaveColon, basePath }: RestOptions): Finder {
  const base = withoutTrailingSlash(basePath);
  const router = new Router(bindings, mayHaveColon && ((binding) => mayEndInColon(binding, mayHaveColon)));
  return (request, httpMethod) => {
    const { path, query } = splitTarget(request.url ?? "");
    const match = path.startsWith(base) ? router.match(httpMethod, path.slice(base.length)) : unknownPath;
    return { match, query };
  };
}

function withoutTrailingSlash(basePath = ""): string {
  if (basePath !== "" && !basePath.startsWith("/"))
    throw new Error(`basePath: ${basePath} does not begin with a slash`);
  return basePath.endsWith("/") ? basePath.slice(0, -1) : basePath;
}

/** The HTTP method that a request is about: for a preflight, that of the request to come. */
function askedMethod(request: HttpRequest, { cors }: RestOptions): string {
  const asked = cors && request.method === "OPTIONS" ? headerOf(request, "access-control-request-method") : undefined;
  return asked ?? request.method ?? "";
}

function checkUrl(request: HttpRequest, { limits }: RestOptions): void {
  const maxUrlBytes = limits?.maxUrlBytes ?? defaultMaxUrlBytes;
  if ((request.url ?? "").length <= maxUrlBytes) return;
  const limit = formatLimit(maxUrlBytes, limits?.settings?.url);
  throw new Refusal(414, Code.InvalidArgument, `Invalid argument: the URL is longer than ${limit}`);
}

function refusalOf(match: Exclude<RouteMatch, { kind: "found" }>): Error {
  if (match.kind === "unknown path") return new ConnectError("Not found: no method has this path", Code.NotFound);
  const allow = match.allow.join(", ");
  return new Refusal(405, Code.Unimplemented, `Method not allowed: this path takes ${allow}`, { allow });
}

/** Logs what is not served. */
function warn(method: DescMethod, reason: string, template?: string): void {
  const where = template === undefined ? "" : ` at ${template}`;
  console.warn(`REST: ${methodName(method)} is not served${where}: ${reason}`);
}

/** The types of the files of services and of all that these import, and those of error details. */
function defaultRegistry(services: Iterable<DescService>): Registry {
  const files = new Set<DescFile>([file_google_rpc_error_details]);
  const add = (file: DescFile) => {
    if (files.has(file)) return;
    files.add(file);
    file.dependencies.forEach(add);
  };
  for (const { file } of services) add(file);
  return createRegistry(...files);
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
  options: CompleteOptions,
): Promise<void> {
  if (isGone(response)) return;
  try {
    if (response.headersSent) {
      breakOff(response);
    } else {
      const { registry, errors, responseHeader } = options;
      await writeStatus(response, error, { registry, errors, responseHeader, httpStatus, headers });
    }
  } catch {
    // Not even the error can be sent.
    breakOff(response);
  }
}
