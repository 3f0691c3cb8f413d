/**
 * The seam between protocols and services: a Connect `Transport` that calls the implementation in this process. Every door decodes bytes
 * into a message, calls this, and encodes what comes back.
 *
 * It means what Connect's router transport means at a fraction of the cost: the layers of a method are composed once, one object is both the
 * layers' request and the handler's context, headers and signal are made when first read, and a call that never waits is answered without a
 * promise. Two things are stricter. A call ends with its deadline or its caller's cancellation even if the handler pays no attention. And
 * layers must hand on the request they were given: a spread copy would lose what is made on reading.
 *
 * Errors pass as they were thrown. Unary and server-streaming methods only; an rpc without an implementation is UNIMPLEMENTED.
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
import { wholeMessage } from "../codec/index.ts";
import { unimplemented } from "../errors.ts";
import { andThen, type Eventually, settle } from "../eventually.ts";
import type { CallFn, CallRequest, Layer } from "../layer.ts";
import {
  answerOf,
  type LocalAnswer,
  LocalCall,
  type LocalCallInit,
  LocalResponse,
  type Touched,
} from "./local-call.ts";

/** The functions behind one service, by the local name of the rpc (`listRoles`). Each is what Connect's `MethodImpl` says. */
export interface ServiceImplementation {
  readonly service: DescService;
  readonly methods: Readonly<Record<string, ((request: never, context: HandlerContext) => unknown) | undefined>>;
}

/** What a transport may be told besides its services. */
export interface LocalTransportOptions {
  /** The longest a call may take; a longer or absent time-out becomes this. At most, and by default, 2³¹ - 1. */
  readonly maxTimeoutMs?: number;
  /** Layers around the deadline, outermost first: they see DEADLINE_EXCEEDED when it happens, not when the handler gives up. */
  readonly observers?: readonly Layer[];
}

/** A `Transport` with a shorter way in for doors that have the message in hand. */
export interface LocalTransport extends Transport {
  /** Starts a unary call. `header`: handlers see no more of it than it has; all of ours are content with `get`. */
  begin(
    method: DescMethodUnary,
    message: Message,
    header: RequestHeader,
    timeoutMs: number | undefined,
    caller?: Caller,
  ): BegunCall;
  /** Rejects as a call that was refused before its message was read: observers see it. */
  refuse(method: DescMethodUnary, header: RequestHeader, error: unknown): Promise<never>;
}

/** Header fields by lower-case name. */
export type RequestHeader = Pick<Headers, "get">;

/** What a door that has them gives along with a call. */
export interface Caller {
  readonly signal: AbortSignal;
  readonly values: ContextValues;
}

/** A call under way. */
export interface BegunCall {
  /** Errors, only by rejection: as the call's handler or a layer threw them; DEADLINE_EXCEEDED, CANCELED. */
  readonly answer: Eventually<LocalAnswer>;
  /** The headers and trailers that the handler has set so far: an error has no response to carry them. */
  readonly touched: Touched;
  /** The caller has gone: the call ends as CANCELED and what works for it is told. */
  cancel(): void;
}

type Implementation = (request: Message, context: HandlerContext) => unknown;

const noTimeoutMs = 2 ** 31 - 1;

/** Creates the transport. `layers`: outermost first. Errors: a plain Error when a service is given twice. */
export function createLocalTransport(
  implementations: Iterable<ServiceImplementation>,
  layers: readonly Layer[],
  { maxTimeoutMs = noTimeoutMs, observers = [] }: LocalTransportOptions = {},
): LocalTransport {
  const chains = new Map<DescMethod, CallFn>();
  for (const { service, methods } of implementations) {
    for (const method of service.methods) {
      if (chains.has(method)) throw new Error(`${service.typeName} is implemented twice`);
      const implementation = methods[method.localName] as Implementation | undefined;
      if (implementation === undefined) continue;
      const inner = compose(layers, invocation(method, implementation));
      const limited: CallFn = (request) => callOf(request).limit(() => inner(request));
      chains.set(method, compose(observers, limited));
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

  /** Starts a call from outside; it goes on until `end`. */
  const start = async (init: LocalCallInit) => {
    const chain = chainOf(init.method);
    const call = new LocalCall(init);
    try {
      return { call, response: await chain(call as unknown as CallRequest) };
    } catch (error) {
      call.end();
      throw error;
    }
  };

  return {
    begin(method, message, header, timeoutMs, caller) {
      const call = new LocalCall({
        method,
        message,
        header: header as Headers,
        values: caller?.values ?? createContextValues(),
        signal: caller?.signal,
        timeoutMs: limitOf(timeoutMs),
      });
      const answer = settle(
        () => chainOf(method)(call as unknown as CallRequest),
        (response) => {
          call.end();
          return answerOf(response as UnaryResponse);
        },
        (error) => {
          call.end();
          return Promise.reject(error);
        },
      );
      return { answer, touched: call, cancel: () => call.cancel() };
    },
    async refuse(method, header, error) {
      const call = new LocalCall({
        method,
        message: create(method.input),
        header: header as Headers,
        values: createContextValues(),
        signal: undefined,
        timeoutMs: undefined,
      });
      try {
        await compose(observers, () => Promise.reject(error))(call as unknown as CallRequest);
      } finally {
        call.end();
      }
      throw error;
    },
    async unary(method, signal, timeoutMs, header, input, values = createContextValues()) {
      const message = create(method.input, input);
      const { call, response } = await start({
        method,
        message,
        header,
        values,
        signal,
        timeoutMs: limitOf(timeoutMs),
      });
      call.end();
      const { message: answer } = response as UnaryResponse;
      const whole = wholeMessage(answer);
      const given = whole === answer ? response : new LocalResponse(call, whole);
      return given as UnaryResponse<typeof method.input, typeof method.output>;
    },
    async stream(method, signal, timeoutMs, header, input, values = createContextValues()) {
      const message = createEach(method.input, input);
      const { call, response } = await start({
        method,
        message,
        header,
        values,
        signal,
        timeoutMs: limitOf(timeoutMs),
      });
      const messages = limitEach(call, response.message as AsyncIterable<Message>);
      return { ...response, message: messages } as unknown as StreamResponse<typeof method.input, typeof method.output>;
    },
  };
}

/** The innermost function of a method's chain: calls the implementation. */
function invocation(method: DescMethod, implementation: Implementation): CallFn {
  const { input, output, parent: service, methodKind } = method;
  switch (methodKind) {
    case "unary":
      return (request) => {
        const call = callOf(request);
        const message = implementation(call.message as Message, call) as Eventually<Message>;
        return andThen(message, (shape) => new LocalResponse(call, create(output, shape)));
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
      throw new Error(`${service.typeName}.${method.name}: client streams are not for this transport`);
  }
}

function compose(layers: readonly Layer[], innermost: CallFn): CallFn {
  return layers.reduceRight((next, layer) => layer(next), innermost);
}

function callOf(request: CallRequest): LocalCall {
  if (request instanceof LocalCall) return request;
  throw new Error("a layer has not handed on the request it was given");
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

/** The messages for as long as the call may last. What the implementation is still doing then is told to stop and not waited for. */
async function* limitEach(call: LocalCall, messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  const iterator = messages[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await call.limit(() => iterator.next());
      if (done === true) return;
      yield value;
    }
  } finally {
    call.end();
    iterator.return?.().catch(() => {});
  }
}
