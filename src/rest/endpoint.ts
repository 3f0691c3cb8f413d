/** One method over HTTP: reads the request message, makes the call, writes the response. */

import type { OutgoingHttpHeaders } from "node:http";
import type {
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
  MessageInitShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { type Awaitable, chain } from "../awaitable.ts";
import { MessageParts } from "../codec/index.ts";
import {
  type Deadline,
  type HttpRequest,
  httpStatusOf,
  isBuffered,
  onGone,
  type PortResponse,
  Refusal,
  readDeadline,
  send,
} from "../message/index.ts";
import { sendMessage } from "./answer/answer.ts";
import { isNotModified } from "./answer/conditional.ts";
import { isPastEnd } from "./answer/events.ts";
import type { StreamPayload } from "./answer/payload.ts";
import { createRepresentations, type Representation } from "./answer/representation.ts";
import { type StreamType, writeParts, writeStream } from "./answer/stream.ts";
import { type Binding, isServed } from "./binding.ts";
import { abortedWith, beginThrough, onlyOf, timeoutOf } from "./call.ts";
import { CallHeader, callHeaders, responseHeaders } from "./headers.ts";
import type { CompleteOptions, DirectAnswer, RestAnswer, RestMatch } from "./options.ts";
import { type Incoming, receiveMessage, receiveStream } from "./request/receive.ts";
import { createRequestReader } from "./request/request.ts";
import { formatError, wrapError } from "./status.ts";

const defaultMaxBodyBytes = 1024 * 1024;
const defaultStallMs = 60_000;

/** One request and its response. */
export interface Exchange extends Incoming {
  /** The header fields of every response to the request. */
  readonly common: OutgoingHttpHeaders | undefined;
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

function refuseStreams(): never {
  const text = "Unimplemented: a method with streams in both directions is not served over REST; call it over gRPC";
  throw new ConnectError(text, Code.Unimplemented);
}

/** Builds the endpoint of a binding. */
export function createEndpoint(binding: Binding, options: CompleteOptions): Endpoint {
  const { method } = binding;
  const match = { method, httpMethod: binding.httpMethod, template: binding.template.text };
  if (!isServed(method)) return { method, match, serve: refuseStreams };
  const { transport, registry } = options;
  const reader = createRequestReader(binding, options);
  const choose = createRepresentations(binding, options);
  const {
    maxBodyBytes = defaultMaxBodyBytes,
    maxStreamBytes = Number.POSITIVE_INFINITY,
    stallMs = defaultStallMs,
  } = options.limits ?? {};
  const limitOf = (limit: number | ((method: Binding["method"]) => number)) =>
    typeof limit === "number" ? limit : limit(method);
  const limits = { maxBodyBytes: limitOf(maxBodyBytes), maxStreamBytes: limitOf(maxStreamBytes) };
  const reading = { method, reader, ...limits, options };
  const isEmpty =
    options.emptyAnswer === "nothing" &&
    binding.responseBody === undefined &&
    method.output.typeName === "google.protobuf.Empty";
  const maxCallMs = typeof options.timeoutMs === "function" ? options.timeoutMs(method) : options.timeoutMs;

  const listField = method.output.fields[0];
  const { json: format = {}, requestHeader, responseHeader, rewriteAnswer } = options;
  const begin = transport.begin ?? beginThrough(transport);

  const rewriteOf = (request: HttpRequest) =>
    rewriteAnswer && ((answer: RestAnswer, message: Message) => rewriteAnswer(answer, { method, request, message }));

  function serveUnary(message: Message, exchange: Exchange, deadline: Deadline | undefined, form: Representation) {
    const { request, response } = exchange;
    const inParts = options.mayAnswerInParts?.(method, message) === true && form.payload.kind !== "protobuf";
    if (inParts && isBuffered(response)) return response.fallBack();
    const caller = inParts ? { takesParts: true } : undefined;
    const header = new CallHeader(request, requestHeader);
    const values = options.contextValues?.(request, response);
    const timeoutMs = transport.begin === undefined ? timeoutOf(deadline) : deadline?.leftMs();
    const call = begin(method as DescMethodUnary, message, header, timeoutMs, caller, values);
    if (call.answer instanceof Promise) onGone(response, () => call.cancel());
    return chain(call.answer, answerUnary, exchange, deadline, form, rewriteOf(request));
  }

  function answerUnary(
    answer: DirectAnswer,
    { request, response, common }: Exchange,
    deadline: Deadline | undefined,
    form: Representation,
    rewrite?: ReturnType<typeof rewriteOf>,
  ) {
    const headers = responseHeaders(common, answer.touchedHeader, answer.touchedTrailer, responseHeader);
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
  }

  function serveStream(message: Message, exchange: Exchange, deadline: Deadline | undefined, form: Representation) {
    const { request, response, common } = exchange;
    const input = message as MessageInitShape<typeof method.input>;
    const started = transport.stream(
      method as DescMethodServerStreaming,
      abortedWith(response),
      timeoutOf(deadline),
      callHeaders(request, requestHeader),
      createAsyncIterable([input]),
      options.contextValues?.(request, response),
    );
    return writeStream(response as PortResponse, started, {
      method,
      type: form.type as StreamType,
      payload: form.payload as StreamPayload,
      events: options.events,
      headers: (header) => responseHeaders(common, header, undefined, responseHeader),
      stallMs,
      describe(reason) {
        const { error } = exchange.describe(reason);
        const bare = formatError(error, httpStatusOf(error.code), options);
        return { bare, wrapped: wrapError(bare, options.errors) };
      },
    });
  }

  async function serveClientStream(
    messages: AsyncIterable<Message>,
    exchange: Exchange,
    deadline: Deadline | undefined,
    form: Representation,
  ) {
    const { request, response, common } = exchange;
    let failure: unknown;
    async function* watched() {
      try {
        yield* messages;
      } catch (error) {
        failure = error;
        throw error instanceof Refusal ? error.error : error;
      }
    }
    try {
      const answer = await transport.stream(
        method as DescMethodClientStreaming,
        abortedWith(response),
        timeoutOf(deadline),
        callHeaders(request, requestHeader),
        watched() as AsyncIterable<MessageInitShape<typeof method.input>>,
        options.contextValues?.(request, response),
      );
      const message = await onlyOf(answer.message);
      const headers = responseHeaders(common, answer.header, answer.trailer, responseHeader);
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
      if (form.type === "text/event-stream" && form.payload.kind === "json" && isPastEnd(request))
        return send(response, { httpStatus: 204, headers: { ...exchange.common }, body: "" });
      const deadline = readDeadline(request, maxCallMs);
      if (method.methodKind === "client_streaming" && binding.body !== undefined)
        return serveClientStream(receiveStream(exchange, reading), exchange, deadline, form);
      return chain(receiveMessage(exchange, reading), serveMessage, exchange, deadline, form);
    },
  };

  function serveMessage(message: Message, exchange: Exchange, deadline: Deadline | undefined, form: Representation) {
    switch (method.methodKind) {
      case "unary":
        return serveUnary(message, exchange, deadline, form);
      case "server_streaming":
        return serveStream(message, exchange, deadline, form);
      default:
        return serveClientStream(createAsyncIterable([message]), exchange, deadline, form);
    }
  }
}
