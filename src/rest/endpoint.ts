/** One method over HTTP: reads the request message, makes the call, writes the response. */

import type { OutgoingHttpHeaders } from "node:http";
import type {
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
  MessageInitShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { type Awaitable, chain } from "../awaitable.ts";
import { MessageParts } from "../codec/index.ts";
import {
  checkBodyHeaders,
  type Deadline,
  declaredLength,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  httpStatusOf,
  isBuffered,
  isGone,
  type PortRequest,
  type PortResponse,
  readBody,
  send,
} from "../message/index.ts";
import { sendMessage } from "./answer/answer.ts";
import { isNotModified } from "./answer/conditional.ts";
import type { StreamPayload } from "./answer/payload.ts";
import { createRepresentations, type Representation } from "./answer/representation.ts";
import { type StreamType, writeParts, writeStream } from "./answer/stream.ts";
import type { Binding, RestMethod } from "./binding.ts";
import { readDeadline, timeoutOf } from "./deadline.ts";
import { CallHeader, callHeaders, responseHeaders } from "./headers.ts";
import type { CompleteOptions, DirectCalls, RestAnswer, RestMatch, RestOptions } from "./options.ts";
import { checkStreamHeaders, readClientStream } from "./request/client-stream.ts";
import { createRequestReader, type RequestReader } from "./request/request.ts";
import { formatError, wrapError } from "./status.ts";

const defaultMaxBodyBytes = 1024 * 1024;
const defaultStallMs = 60_000;

/** One request and its response. */
interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** The header fields of every response to the request. */
  readonly common: OutgoingHttpHeaders | undefined;
  readonly segments: readonly string[];
  readonly query: string;
  /** The error to be written for what was thrown. */
  describe(reason: unknown): { readonly error: ConnectError };
}

/** One method, reached by one binding. */
export interface Endpoint {
  readonly method: Binding["method"];
  readonly match: RestMatch;
  /** Responds to a request, or throws or rejects with the error to be described. */
  serve(exchange: Exchange): Awaitable<void>;
}

/** Builds the endpoint of a binding. */
export function createEndpoint(binding: Binding, options: CompleteOptions): Endpoint {
  const { method } = binding;
  const { transport, registry } = options;
  const reader = createRequestReader(binding, options);
  const choose = createRepresentations(binding, options);
  const { maxBodyBytes: limit = defaultMaxBodyBytes, stallMs = defaultStallMs } = options.limits ?? {};
  const maxBodyBytes = typeof limit === "number" ? limit : limit(method);
  const isEmpty =
    options.emptyAnswer === "nothing" &&
    binding.responseBody === undefined &&
    method.output.typeName === "google.protobuf.Empty";
  const maxCallMs = typeof options.timeoutMs === "function" ? options.timeoutMs(method) : options.timeoutMs;
  const match = { method, httpMethod: binding.httpMethod, template: binding.template.text };

  const listField = method.output.fields[0];
  const { json: format = {}, requestHeader, responseHeader, rewriteAnswer } = options;
  const begin = transport.begin ?? beginThrough(transport);

  const rewriteOf = (request: HttpRequest) =>
    rewriteAnswer && ((answer: RestAnswer, message: Message) => rewriteAnswer(answer, { method, request, message }));

  function serveUnary(exchange: Exchange, message: Message, deadline: Deadline | undefined, form: Representation) {
    const { request, response, common } = exchange;
    const inParts = options.mayAnswerInParts?.(method, message) === true && form.payload.kind !== "protobuf";
    if (inParts && isBuffered(response)) return response.fallBack();
    const caller = inParts ? { takesParts: true } : undefined;
    const header = new CallHeader(request, requestHeader);
    const values = options.contextValues?.(request);
    const timeoutMs = transport.begin === undefined ? timeoutOf(deadline) : deadline?.leftMs();
    const call = begin(method as DescMethodUnary, message, header, timeoutMs, caller, values);
    if (call.answer instanceof Promise) onGone(response, call.cancel);
    const rewrite = rewriteOf(request);
    return chain(call.answer, (answer) => {
      const headers = responseHeaders(common, [answer.touchedHeader, answer.touchedTrailer], responseHeader);
      if (answer.message instanceof MessageParts)
        return writeParts(response as PortResponse, answer.message, {
          field: listField,
          registry,
          format,
          headers,
          stallMs,
          onBroken: (error) => options.onBrokenAnswer?.(error, method),
        });
      return isNotModified(request, headers)
        ? send(response, { httpStatus: 304, headers, body: "", deadline })
        : sendMessage(response, answer.message, headers, isEmpty ? undefined : form, deadline, rewrite);
    });
  }

  async function serveStream(
    exchange: Exchange,
    message: Message,
    deadline: Deadline | undefined,
    form: Representation,
  ) {
    const { request, response, common } = exchange;
    const signal = abortedWith(response);
    const input = message as MessageInitShape<typeof method.input>;
    const answer = await transport.stream(
      method as DescMethodServerStreaming,
      signal,
      timeoutOf(deadline),
      callHeaders(request, requestHeader),
      only(input),
      options.contextValues?.(request),
    );
    await writeStream(response as PortResponse, answer.message, {
      type: form.type as StreamType,
      payload: form.payload as StreamPayload,
      headers: responseHeaders(common, [answer.header], responseHeader),
      stallMs,
      describe(reason) {
        const { error } = exchange.describe(reason);
        const bare = formatError(error, httpStatusOf(error.code), options);
        return { bare, wrapped: wrapError(bare, options.errors) };
      },
    });
  }

  async function serveClientStream(exchange: Exchange, deadline: Deadline | undefined, form: Representation) {
    const { request, response, common, segments, query } = exchange;
    const incoming = request as PortRequest;
    checkStreamHeaders(incoming, reader.kind);
    reader.begin(segments, query);
    const watch = options.watchBody?.(request, response, method);
    let failure: unknown;
    async function* messages() {
      try {
        yield* readClientStream(incoming, { reader, segments, query, maxBytes: maxBodyBytes, watch });
      } catch (error) {
        failure = error;
        throw error;
      }
    }
    try {
      const answer = await transport.stream(
        method as DescMethodClientStreaming,
        abortedWith(response),
        timeoutOf(deadline),
        callHeaders(request, requestHeader),
        messages() as AsyncIterable<MessageInitShape<typeof method.input>>,
        options.contextValues?.(request),
      );
      const message = await onlyOf(answer.message);
      const headers = responseHeaders(common, [answer.header, answer.trailer], responseHeader);
      await sendMessage(response, message, headers, isEmpty ? undefined : form, deadline, rewriteOf(request));
    } catch (error) {
      throw failure ?? error; // a transport may hide what was wrong with the body
    }
  }

  return {
    method,
    match,
    serve(exchange) {
      const { request, response } = exchange;
      if (method.methodKind !== "unary" && isBuffered(response)) return response.fallBack();
      const form = choose(request, response);
      const deadline = readDeadline(request, maxCallMs);
      if (method.methodKind === "client_streaming") return serveClientStream(exchange, deadline, form);
      return chain(readMessage(exchange, reader, maxBodyBytes, options, method), (message) =>
        method.methodKind === "unary"
          ? serveUnary(exchange, message, deadline, form)
          : serveStream(exchange, message, deadline, form),
      );
    },
  };
}

function readMessage(
  { request, response, segments, query }: Exchange,
  reader: RequestReader,
  maxBodyBytes: number,
  { sendsContinue = false, watchBody, limits }: RestOptions,
  method: RestMethod,
): Awaitable<Message> {
  const contentType = headerOf(request, "content-type") ?? "";
  const kind = reader.kindOf?.(contentType) ?? reader.kind;
  checkBodyHeaders(request, kind, maxBodyBytes, limits?.settings?.body, reader.moreTypes);
  const complete = reader.begin(segments, query);
  if (sendsContinue && declaredLength(request) > 0 && headerOf(request, "expect")?.toLowerCase() === "100-continue")
    (response as PortResponse).writeContinue();
  const watch = declaredLength(request) === 0 ? undefined : watchBody?.(request, response, method);
  return chain(readBody(request, kind, maxBodyBytes, watch, limits?.settings?.body), (bytes) =>
    complete({ bytes, contentType }),
  );
}

/** Starts unary calls through any transport. */
function beginThrough(transport: Transport): DirectCalls["begin"] {
  return (method, message, header, timeoutMs, _, contextValues) => {
    const controller = new AbortController();
    const input = message as MessageInitShape<typeof method.input>;
    return {
      answer: transport
        .unary(method, controller.signal, timeoutMs, (header as CallHeader).all(), input, contextValues)
        .then((answer) => ({ message: answer.message, touchedHeader: answer.header, touchedTrailer: answer.trailer })),
      cancel: () => controller.abort(),
    };
  };
}

/** Aborts when the client disconnects before its response is complete. */
function abortedWith(response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  onGone(response, () => controller.abort());
  return controller.signal;
}

/** Calls `notify` when the client disconnects before its response is complete. */
function onGone(response: HttpResponse, notify: () => void): void {
  if (isGone(response)) notify();
  response.once("close", () => {
    if (!response.writableEnded) notify();
  });
}

/** The only message of an answer, which is then complete. */
async function onlyOf<T>(messages: AsyncIterable<T>): Promise<T> {
  let only: T | undefined;
  for await (const message of messages) only ??= message;
  if (only === undefined) throw new ConnectError("Internal error", Code.Internal);
  return only;
}

async function* only<T>(message: T): AsyncIterable<T> {
  yield message;
}
