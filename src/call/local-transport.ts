/**
 * A Connect `Transport` between protocols and services, which calls the implementation in this process. Each protocol
 * decodes bytes into a message, makes the call, and encodes the response.
 *
 * It does what Connect's router transport does at a fraction of the cost. The interceptors of a method are composed
 * once. One object is both their request and the context of the handler. Headers and signal are created when first
 * read. A call that never waits is answered synchronously. It is stricter in two points:
 * - A call ends with its deadline or its caller's cancellation, even if the handler ignores them.
 * - Interceptors must pass on the request object that they received: a spread copy would lose its getters.
 *
 * A request that comes in pieces, that of a client stream, is a call with its first piece: interceptors and handler
 * take it for that of a unary method, and find the other pieces by `piecesOf`.
 *
 * Errors pass as they were thrown. A method with streams in both directions is not for this transport; an rpc without
 * an implementation is UNIMPLEMENTED.
 */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  type ContextValues,
  createContextValues,
  type HandlerContext,
  type StreamResponse,
  type Transport,
  type UnaryResponse,
} from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { type Awaitable, chain } from "../awaitable.ts";
import { isStored, MessageParts, type StoredMessage, wholeMessage } from "../codec/index.ts";
import { unimplemented } from "../errors.ts";
import type { CallFn, CallInterceptor, CallRequest, CallResponse, UnaryCallResponse } from "./interceptor.ts";
import {
  answerOf,
  type LocalAnswer,
  LocalCall,
  type LocalCallInit,
  LocalResponse,
  type Protocol,
  type Touched,
} from "./local-call.ts";

/** The implementation of one service: a function like Connect's `MethodImpl` by local name of the rpc (`listRoles`). */
export interface ServiceImplementation {
  readonly service: DescService;
  readonly methods: Readonly<Record<string, ((request: never, context: HandlerContext) => unknown) | undefined>>;
}

/** Options of a transport. */
export interface LocalTransportOptions {
  /** The longest that a call may take, for calls with a longer time-out or none. At most, and by default, 2³¹ - 1. */
  readonly maxTimeoutMs?: number;
  /**
   * Interceptors outside the deadline, outermost first: they see DEADLINE_EXCEEDED when the deadline passes, not when
   * the handler ends.
   */
  readonly observers?: readonly CallInterceptor[];
}

/** A `Transport` that also starts unary calls directly, for protocols that have decoded the message. */
export interface LocalTransport extends Transport {
  /** Starts a unary call. Handlers get `header` as it is: ours only call `get`. */
  begin(
    method: DescMethodUnary,
    message: Message,
    header: RequestHeader,
    timeoutMs: number | undefined,
    caller?: Caller,
    values?: ContextValues,
  ): BegunCall;
  /** The same for calls that come by a protocol. By default they come from this process. */
  for(protocol: Protocol): LocalTransport;
  /** Rejects with `error`, for a call that was refused before its message was read. Observers see it. */
  refuse(method: DescMethodUnary, header: RequestHeader, error: unknown, values?: ContextValues): Promise<never>;
}

/** Header fields by lower-case name. */
type RequestHeader = Pick<Headers, "get">;

/** What protocols that have them pass along with a call. */
export interface Caller {
  readonly signal?: AbortSignal;
  readonly values?: ContextValues;
  /** Whether the response may be {@link MessageParts}; the call then lasts until they are read. */
  readonly takesParts?: boolean;
}

/** A call under way. */
export interface BegunCall {
  /** Rejects, never throws: with what the handler or an interceptor threw, DEADLINE_EXCEEDED or CANCELED. */
  readonly answer: Awaitable<LocalAnswer>;
  /** The headers and trailers that the handler has set so far, for errors, which come without a response. */
  readonly touched: Touched;
  /** Ends the call as CANCELED and aborts its signal, because the caller has disconnected. */
  cancel(): void;
}

type Implementation = (request: Message, context: HandlerContext) => unknown;

const noTimeoutMs = 2 ** 31 - 1;

/** Creates the transport. Interceptors come outermost first. Errors: a plain Error when a service is given twice. */
export function createLocalTransport(
  implementations: Iterable<ServiceImplementation>,
  interceptors: readonly CallInterceptor[],
  { maxTimeoutMs = noTimeoutMs, observers = [] }: LocalTransportOptions = {},
): LocalTransport {
  const chains = new Map<DescMethod, CallFn>();
  for (const { service, methods } of implementations) {
    for (const method of service.methods) {
      if (chains.has(method)) throw new Error(`${service.typeName} is implemented twice`);
      const implementation = methods[method.localName] as Implementation | undefined;
      if (implementation === undefined) continue;
      const inner = compose(interceptors, method, invocation(method, implementation));
      const work = method.methodKind === "client_streaming" ? afterFirstPiece(inner) : inner;
      const limited: CallFn = (request) => callOf(request).limit(work, request);
      chains.set(method, compose(observers, method, limited));
    }
  }

  const limitOf = (timeoutMs: number | undefined) => {
    const limitMs = Math.min(timeoutMs ?? noTimeoutMs, maxTimeoutMs);
    return limitMs < noTimeoutMs ? limitMs : undefined;
  };

  const chainOf = (method: DescMethod) => {
    const chain = chains.get(method);
    if (chain === undefined) throw unimplemented(`${method.parent.typeName}.${method.name} is not served here`);
    return chain;
  };

  /** Starts a call, which lasts until its `end` is called. */
  const start = async (init: LocalCallInit) => {
    const chain = chainOf(init.method);
    const call = new LocalCall({ ...init, timeoutMs: limitOf(init.timeoutMs) });
    try {
      return { call, response: await chain(requestOf(call)) };
    } catch (error) {
      call.end();
      throw error;
    }
  };

  const transports = new Map<Protocol, LocalTransport>();
  const transportFor = (protocol: Protocol): LocalTransport => {
    const transport = transports.get(protocol) ?? newTransport(protocol);
    transports.set(protocol, transport);
    return transport;
  };
  const newTransport = (protocol: Protocol): LocalTransport => ({
    for: transportFor,
    begin(method, message, header, timeoutMs, caller, values = caller?.values ?? createContextValues()) {
      const call = new LocalCall({
        method,
        message,
        header: header as Headers,
        values,
        signal: caller?.signal,
        timeoutMs: limitOf(timeoutMs),
        takesParts: caller?.takesParts,
        protocol,
      });
      call.answer = answerTo(call, chainOf);
      return call;
    },
    async refuse(method, header, error, values = createContextValues()) {
      const call = new LocalCall({
        method,
        message: create(method.input),
        header: header as Headers,
        values,
        protocol,
      });
      try {
        await compose(observers, method, () => Promise.reject(error))(requestOf(call));
      } finally {
        call.end();
      }
      throw error;
    },
    async unary(method, signal, timeoutMs, header, input, values = createContextValues()) {
      const message = create(method.input, input);
      const { call, response } = await start({ method, message, header, values, signal, timeoutMs, protocol });
      call.end();
      const { message: answer } = response as UnaryCallResponse;
      const whole = isStored(answer) ? new LocalResponse(call, wholeMessage(answer)) : response;
      return whole as UnaryResponse<typeof method.input, typeof method.output>;
    },
    async stream(method, signal, timeoutMs, header, input, values = createContextValues()) {
      const message = createEach(method.input, input);
      const { call, response } = await start({ method, message, header, values, signal, timeoutMs, protocol });
      if (method.methodKind === "client_streaming") {
        call.end();
        const answer = answerOf(response as UnaryCallResponse);
        const whole = createAsyncIterable([wholeMessage(answer.message)]);
        const { header, trailer } = response;
        return { stream: true, service: method.parent, method, header, trailer, message: whole } as never;
      }
      const messages = limitEach(call, response.message as AsyncIterable<Message>);
      return { ...response, message: messages } as unknown as StreamResponse<typeof method.input, typeof method.output>;
    },
  });
  return transportFor("local");
}

/** Carries a call out. Rejects, never throws. */
function answerTo(call: LocalCall, chainOf: (method: DescMethod) => CallFn): Awaitable<LocalAnswer> {
  let response: Awaitable<CallResponse>;
  try {
    response = chainOf(call.method)(requestOf(call));
  } catch (error) {
    return failed(call, error);
  }
  if (!(response instanceof Promise)) return ended(call, response);
  return response.then(
    (response) => ended(call, response),
    (error) => failed(call, error),
  );
}

function ended(call: LocalCall, response: CallResponse): LocalAnswer {
  const answer = answerOf(response as UnaryCallResponse);
  if (answer.message instanceof MessageParts) return inParts(call, answer, answer.message);
  call.end();
  return answer;
}

function failed(call: LocalCall, error: unknown): Promise<never> {
  call.end();
  return Promise.reject(error);
}

/** The innermost function of a method's chain: calls the implementation. */
function invocation(method: DescMethod, implementation: Implementation): CallFn {
  const { input, output, parent: service, methodKind } = method;
  switch (methodKind) {
    case "unary":
    case "client_streaming":
      return (request) => {
        const call = callOf(request);
        const message = implementation(call.message as Message, call) as Awaitable<Message | StoredMessage>;
        return chain(
          message,
          (shape) =>
            new LocalResponse(call, isStored(shape) || shape instanceof MessageParts ? shape : create(output, shape)),
        );
      };
    case "server_streaming":
      return async (request): Promise<StreamResponse> => {
        const call = callOf(request);
        const message = await single(input, call.message as AsyncIterable<Message>);
        const messages = createEach(output, implementation(message, call) as AsyncIterable<Message>);
        const { responseHeader: header, responseTrailer: trailer } = call;
        return { stream: true, service, method: method as DescMethodStreaming, header, trailer, message: messages };
      };
    default:
      throw new Error(`${service.typeName}.${method.name}: streams in both directions are not for this transport`);
  }
}

function compose(interceptors: readonly CallInterceptor[], method: DescMethod, innermost: CallFn): CallFn {
  return interceptors.reduceRight((next, interceptor) => interceptor(next, method), innermost);
}

/** A call as interceptors take it: it has every property of the request of its kind of method. */
function requestOf(call: LocalCall): CallRequest {
  return call as unknown as CallRequest;
}

function callOf(request: CallRequest): LocalCall {
  if (request instanceof LocalCall) return request;
  throw new Error("an interceptor has not handed on the request that it received");
}

/** Reads the first piece of a request that comes in pieces, and carries the call out with it. */
function afterFirstPiece(inner: CallFn): CallFn {
  return async (request) => {
    const call = callOf(request);
    const pieces = (call.message as AsyncIterable<Message>)[Symbol.asyncIterator]();
    call.message = create(call.method.input); // what a call without any has, for those who see it fail
    try {
      const first = await pieces.next();
      if (first.done === true) throw unimplemented(`at least one ${call.method.input.typeName} is expected`);
      call.message = first.value;
      call.pieces = { [Symbol.asyncIterator]: () => pieces };
      return await inner(request);
    } finally {
      pieces.return?.().catch(() => {});
    }
  };
}

async function single(desc: DescMessage, messages: AsyncIterable<Message>): Promise<Message> {
  const iterator = messages[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done !== true && (await iterator.next()).done === true) return first.value;
  throw unimplemented(`exactly one ${desc.typeName} is expected`);
}

async function* createEach(
  desc: DescMessage,
  messages: AsyncIterable<MessageInitShape<DescMessage>>,
): AsyncGenerator<Message> {
  for await (const message of messages) yield create(desc, message);
}

/** An answer whose parts are read while the call lasts. */
function inParts(call: LocalCall, { touchedHeader, touchedTrailer }: Touched, { parts }: MessageParts): LocalAnswer {
  const message = new MessageParts(limitEach(call, parts)) as unknown as Message;
  return { message, touchedHeader, touchedTrailer };
}

/** The messages until the call ends. The implementation is then aborted and not waited for. */
async function* limitEach(call: LocalCall, messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  const iterator = messages[Symbol.asyncIterator]();
  const next = () => iterator.next();
  try {
    for (;;) {
      const { done, value } = await call.limit(next, undefined);
      if (done === true) return;
      yield value;
    }
  } finally {
    call.end();
    iterator.return?.().catch(() => {});
  }
}
