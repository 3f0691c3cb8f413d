/** The request handler: from an HTTP request to a call on a Transport, and back. */
import type { OutgoingHttpHeaders } from "node:http";
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  Registry,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { andThen, type Eventually, settle } from "../eventually.ts";
import { type Binding, readBindings } from "./binding.ts";
import { type BodyWatch, checkBodyHeaders, readBody, toldLimit } from "./body.ts";
import { isNotModified } from "./conditional.ts";
import { Deadline } from "./deadline.ts";
import type { FieldPath } from "./field-path.ts";
import { CallHeader, callHeaders, responseHeaders } from "./headers.ts";
import {
  breakOff,
  declaredLength,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isGone,
  isWhole,
  type StreamedResponse,
} from "./http.ts";
import { chooseMediaType } from "./negotiation.ts";
import type { SlashInMultiSegment } from "./path.ts";
import { createPayloadWriter, type PayloadWriter } from "./payload.ts";
import { createRequestReader, type RequestReader } from "./request.ts";
import { Router } from "./router.ts";
import { send } from "./send.ts";
import { formatStatus, invalidArgument, Refusal, writeStatus } from "./status.ts";
import { STREAM_TYPES, type StreamType, writeStream } from "./stream.ts";

/** What a REST handler is built from. */
export interface RestOptions {
  /** Carries out the calls. One that also starts unary calls directly is spared headers and signals that nobody reads. */
  readonly transport: Transport & Partial<DirectCalls>;
  /** The services whose `google.api.http` annotations are served. */
  readonly services: Iterable<DescService>;
  /** Finds the types of google.protobuf.Any values and of error details. */
  readonly registry: Registry;
  /** Beyond these a request is refused with 413 or 414. */
  readonly limits?: {
    /** Size of a request body, before and after decompression; 1 MiB unless told. A function: of each method. */
    readonly maxBodyBytes?: number | ((method: RestMethod) => number) | undefined;
    /** Length of the request target; 8 KiB unless told. */
    readonly maxUrlBytes?: number | undefined;
    /** What an operator sets these by, for the errors that tell them: `--max-body`. */
    readonly settings?: { readonly body: string; readonly url: string } | undefined;
  };
  /** The header fields that every answer to a request has. Asked for before anything else is done with the request, once. */
  answerHeaders?(request: HttpRequest): OutgoingHttpHeaders;
  /**
   * Whether the value of a field that is captured from the path may have a colon; all may, unless told. Where it may
   * not, what follows a colon at the end of the path is a verb, and an unknown one makes an unknown path.
   */
  mayHaveColon?(field: FieldPath): boolean;
  /** Who decides about the body of a request while it comes; undefined: nobody. */
  watchBody?(request: HttpRequest, response: HttpResponse, method: RestMethod): BodyWatch | undefined;
  /**
   * Completes every error before it is written, for instance by an ErrorInfo. An error that was not a ConnectError
   * arrives as INTERNAL with a fixed message and the original as its cause. `method` is undefined when no route fits.
   */
  describeError?(error: ConnectError, method: RestMethod | undefined): ConnectError;
  /** Skip unknown keys of a body instead of refusing them. */
  readonly ignoreUnknownFields?: boolean | undefined;
  /** Skip unknown query parameters instead of refusing them. */
  readonly ignoreUnknownParameters?: boolean | undefined;
  /** Put errors into a member `error`, as AIP-193 shows them. */
  readonly wrapErrors?: boolean | undefined;
  /** What becomes of `%2F` in a capture of several segments; `keep`, as http.proto says, unless told. */
  readonly slashInMultiSegment?: SlashInMultiSegment | undefined;
  /**
   * The host passes requests with `Expect: 100-continue` here itself (the `checkContinue` event, or streams wrapped by
   * hand): send `100 Continue` once the headers are found acceptable.
   */
  readonly sendsContinue?: boolean | undefined;
}

/** A method that is served over REST. */
export type RestMethod = DescMethodUnary | DescMethodServerStreaming;

/** Starts unary calls in this process. */
export interface DirectCalls {
  begin(
    method: DescMethodUnary,
    message: Message,
    header: Pick<Headers, "get">,
    timeoutMs: number | undefined,
  ): {
    readonly answer: Eventually<DirectAnswer>;
    /** The client has gone. */
    cancel(): void;
  };
}

/** The answer to a call that was started directly. */
export interface DirectAnswer {
  readonly message: Message;
  /** The header and the trailer of the response, unless nobody has touched them. */
  readonly touchedHeader: Headers | undefined;
  readonly touchedTrailer: Headers | undefined;
}

/** Answers one request: at once when nothing has to be waited for. Never throws or rejects. */
export type RestHandler = (request: HttpRequest, response: HttpResponse) => Eventually<void>;

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_URL_BYTES = 8 * 1024;
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Builds the handler for all annotated methods.
 * Errors: Error that names the method, for annotations that cannot be served (see `index.ts`).
 */
export function createRestHandler(options: RestOptions): RestHandler {
  const bindings = readBindings(options.services);
  const { mayHaveColon } = options;
  const router = new Router(bindings, mayHaveColon && ((binding) => mayEndInColon(binding, mayHaveColon)));
  const endpoints = new Map(bindings.map((binding) => [binding, createEndpoint(binding, options)]));
  const maxUrlBytes = options.limits?.maxUrlBytes ?? MAX_URL_BYTES;

  function route(request: HttpRequest): { endpoint: Endpoint; segments: string[]; query: string } {
    const target = request.url ?? "";
    if (target.length > maxUrlBytes) {
      const limit = toldLimit(maxUrlBytes, options.limits?.settings?.url);
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
    let method: Binding["method"] | undefined;
    const describe = (reason: unknown): Failure => describeFailure(reason, method, options);
    return settle(
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

/** Whether the value that a binding captures of the last segment, if it does, may have a colon. */
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

function describeFailure(reason: unknown, method: Binding["method"] | undefined, options: RestOptions): Failure {
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
  try {
    if (response.headersSent) {
      breakOff(response);
    } else {
      const { registry, wrapErrors } = options;
      await writeStatus(response, error, { registry, wrapErrors, httpStatus, headers });
    }
  } catch {
    // Nothing can be said any more, not even why.
    breakOff(response);
  }
}

/** One request on its way through an endpoint. */
interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** The header fields that every answer to it has. */
  readonly common: OutgoingHttpHeaders | undefined;
  readonly segments: readonly string[];
  readonly query: string;
  describe(reason: unknown): Failure;
}

interface Endpoint {
  readonly method: Binding["method"];
  serve(exchange: Exchange): Eventually<void>;
}

function createEndpoint(binding: Binding, options: RestOptions): Endpoint {
  const { method } = binding;
  const { transport, registry } = options;
  const reader = createRequestReader(binding, options);
  const payload = createPayloadWriter(binding, registry);
  const { maxBodyBytes: limit = MAX_BODY_BYTES } = options.limits ?? {};
  const maxBodyBytes = typeof limit === "number" ? limit : limit(method);
  const offered = method.methodKind === "unary" ? STREAM_TYPES.slice(0, 1) : STREAM_TYPES;
  const isEmpty = binding.responseBody === undefined && method.output.typeName === "google.protobuf.Empty";

  const begin = transport.begin ?? beginThrough(transport);

  function serveUnary({ request, response, common }: Exchange, message: Message, deadline: Deadline | undefined) {
    const call = begin(method as DescMethodUnary, message, new CallHeader(request), deadline?.leftMs());
    if (call.answer instanceof Promise) onGone(response, call.cancel);
    return andThen(call.answer, (answer) => {
      const headers = responseHeaders(common, answer.touchedHeader, answer.touchedTrailer);
      return isNotModified(request, headers)
        ? send(response, { httpStatus: 304, headers, body: "", deadline })
        : sendMessage(response, answer.message, headers, isEmpty ? undefined : payload, deadline);
    });
  }

  async function serveStream(exchange: Exchange, message: Message, deadline: Deadline | undefined, type: StreamType) {
    const { request, response, common } = exchange;
    const signal = abortedWith(response);
    const input = message as MessageInitShape<typeof method.input>;
    const answer = await transport.stream(
      method as DescMethodServerStreaming,
      signal,
      deadline?.leftMs(),
      callHeaders(request),
      only(input),
    );
    await writeStream(response as StreamedResponse, answer.message, {
      type,
      payload,
      headers: responseHeaders(common, answer.header),
      describe: (reason) => formatStatus(exchange.describe(reason).error, registry),
    });
  }

  return {
    method,
    serve(exchange) {
      const { request, response } = exchange;
      if (method.methodKind !== "unary" && isWhole(response)) {
        return response.handBack();
      }
      const type = negotiate(request, payload, offered);
      const deadline = readDeadline(request);
      return andThen(readMessage(exchange, reader, maxBodyBytes, options, method), (message) =>
        method.methodKind === "unary"
          ? serveUnary(exchange, message, deadline)
          : serveStream(exchange, message, deadline, type),
      );
    },
  };
}

function negotiate(request: HttpRequest, payload: PayloadWriter, offered: readonly StreamType[]): StreamType {
  const type = chooseMediaType(headerOf(request, "accept"), offered);
  if (type === undefined && payload.kind === "json") {
    throw new Refusal(406, Code.InvalidArgument, `Invalid argument: this method answers with ${offered.join(", ")}`);
  }
  return type ?? "application/json";
}

/** `x-server-timeout`: decimal seconds, from when the request came. */
function readDeadline(request: HttpRequest): Deadline | undefined {
  const text = headerOf(request, "x-server-timeout");
  if (text === undefined) {
    return undefined;
  }
  if (!/^\d{1,12}(?:\.\d{1,9})?$/.test(text)) {
    throw invalidArgument([{ field: "x-server-timeout", description: "must be a decimal number of seconds" }]);
  }
  return new Deadline(request, Math.min(Number(text) * 1000, MAX_TIMEOUT_MS));
}

function readMessage(
  { request, response, segments, query }: Exchange,
  reader: RequestReader,
  maxBodyBytes: number,
  { sendsContinue = false, watchBody, limits }: RestOptions,
  method: RestMethod,
): Eventually<Message> {
  checkBodyHeaders(request, reader.bodyKind, maxBodyBytes, limits?.settings?.body);
  const complete = reader.begin(segments, query);
  if (sendsContinue && declaredLength(request) > 0 && headerOf(request, "expect")?.toLowerCase() === "100-continue") {
    (response as StreamedResponse).writeContinue();
  }
  const watch = declaredLength(request) === 0 ? undefined : watchBody?.(request, response, method);
  return andThen(readBody(request, reader.bodyKind, maxBodyBytes, watch, limits?.settings?.body), (bytes) =>
    complete({ bytes, contentType: headerOf(request, "content-type") ?? "" }),
  );
}

/** The same by any transport. */
function beginThrough(transport: Transport): DirectCalls["begin"] {
  return (method, message, header, timeoutMs) => {
    const controller = new AbortController();
    const input = message as MessageInitShape<typeof method.input>;
    return {
      answer: transport
        .unary(method, controller.signal, timeoutMs, (header as CallHeader).all(), input)
        .then((answer) => ({ message: answer.message, touchedHeader: answer.header, touchedTrailer: answer.trailer })),
      cancel: () => controller.abort(),
    };
  };
}

/** Aborts when the client goes away before its answer is complete. */
function abortedWith(response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  onGone(response, () => controller.abort());
  return controller.signal;
}

/** Tells when the client goes away before its answer is complete. */
function onGone(response: HttpResponse, tell: () => void): void {
  if (isGone(response)) {
    tell();
  }
  response.once("close", () => {
    if (!response.writableEnded) {
      tell();
    }
  });
}

async function* only<T>(message: T): AsyncIterable<T> {
  yield message;
}

function sendMessage(
  response: HttpResponse,
  message: Message,
  headers: ReturnType<typeof responseHeaders>,
  payload: PayloadWriter | undefined,
  deadline: Deadline | undefined,
): Eventually<void> {
  if (payload === undefined) {
    return send(response, { httpStatus: 200, headers, body: "", deadline });
  }
  if (payload.kind === "json") {
    headers["content-type"] = "application/json";
    return send(response, { httpStatus: 200, headers, body: payload.write(message), deadline });
  }
  const { contentType, data } = payload.write(message);
  if (contentType !== "") {
    headers["content-type"] = contentType;
  }
  return send(response, { httpStatus: 200, headers, body: data, isRaw: true, deadline });
}
