/** One call inside this process, as interceptors and handlers see it, and its deadline and cancellation. */
import type { DescMethod, DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, type HandlerContext } from "@connectrpc/connect";
import type { Awaitable } from "../awaitable.ts";
import type { StoredMessage } from "../codec/index.ts";
import { deadlineExceeded } from "../errors.ts";
import type { TraceContext } from "../trace-context.ts";
import { CallTimes } from "./call-times.ts";
import { PlainHeaders } from "./headers.ts";
import type { CallRequest, UnaryCallResponse } from "./interceptor.ts";

/** What headers can be made from. */
type HeaderInit = ConstructorParameters<typeof Headers>[0];

/** What a call is made from. */
export interface LocalCallInit {
  readonly method: DescMethod;
  readonly message: Message | AsyncIterable<Message>;
  /** A `Headers`, or an object with its `get`, is used as it is. */
  readonly header: HeaderInit | undefined;
  readonly values: ContextValues;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** At most 2³¹ - 1: longer timers of Node fire at once. */
  readonly timeoutMs?: number | undefined;
  /** Whether the caller takes the response in parts. */
  readonly takesParts?: boolean | undefined;
  readonly protocol: Protocol;
}

/** How a call came: by a protocol, or from this process. */
export type Protocol = "rest" | "grpc" | "grpc-web" | "connect" | "local";

/** The reason of a signal that is aborted because its call has ended. A constant, because creating an error is slow. */
const ended = new ConnectError("the call has ended", Code.Canceled);

/**
 * Both the request that interceptors see (Connect's `UnaryRequest` or `StreamRequest`) and the context that handlers
 * see. Its signal and the headers of its response are created when first read. The signal is aborted by the deadline,
 * by the caller, and when the call has ended.
 */
export class LocalCall implements HandlerContext {
  readonly stream: boolean;
  readonly method: DescMethod;
  /** Of a method whose requests come in pieces, the first one, once it was read. */
  message: Message | AsyncIterable<Message>;
  /** The pieces after the first one of a request that comes in pieces; undefined for any other. */
  pieces: AsyncIterable<Message> | undefined;
  readonly values: ContextValues;
  readonly contextValues: ContextValues;
  readonly header: Headers;
  readonly requestHeader: Headers;
  /** Where its time goes; undefined if it is not measured. */
  times: CallTimes | undefined;
  /** What it is answered with, for a call that a protocol has begun. */
  answer!: Awaitable<LocalAnswer>;
  /** Whether the caller takes a response in parts. */
  readonly takesParts: boolean;
  readonly requestMethod = "POST";
  readonly protocolName: Protocol;

  readonly #callerSignal: AbortSignal | undefined;
  readonly #deadline: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #controller: AbortController | undefined;
  #stopReason: ConnectError | undefined;
  #stopWork: ((reason: ConnectError) => void) | undefined;

  constructor({ method, message, header, values, signal, timeoutMs, takesParts = false, protocol }: LocalCallInit) {
    this.protocolName = protocol;
    this.stream = method.methodKind !== "unary" && method.methodKind !== "client_streaming";
    this.method = method;
    this.message = message;
    this.pieces = undefined;
    this.values = values;
    this.contextValues = values;
    this.header = isHeaders(header) ? header : new Headers(header);
    this.requestHeader = this.header;
    this.times = undefined;
    this.takesParts = takesParts;
    this.#callerSignal = signal;
    if (timeoutMs !== undefined) {
      this.#deadline = performance.now() + timeoutMs;
      if (timeoutMs >= 1) this.#timer = setTimeout(this.#onDeadline, timeoutMs);
      else this.#onDeadline(); // timers have a resolution of 1 ms
    }
    if (signal?.aborted) this.#onCallerAbort();
    else signal?.addEventListener("abort", this.#onCallerAbort);
  }

  get service(): DescService {
    return this.method.parent;
  }

  get url(): string {
    return `local:/${this.method.parent.typeName}/${this.method.name}`;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new PlainHeaders();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new PlainHeaders();
    return this.#responseTrailer;
  }

  /** The response headers; undefined if nobody has read or set them. */
  get touchedHeader(): Headers | undefined {
    return this.#responseHeader;
  }

  /** The response trailers; undefined if nobody has read or set them. */
  get touchedTrailer(): Headers | undefined {
    return this.#responseTrailer;
  }

  get touched(): Touched {
    return this;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stopReason !== undefined) this.#controller.abort(this.#stopReason);
    }
    return this.#controller.signal;
  }

  /** Observes the statements of the call; undefined if it is not measured. */
  get statements(): CallTimes | undefined {
    return this.times;
  }

  /** As the signal's `throwIfAborted`, without creating the signal. */
  throwIfAborted(): void {
    if (this.#stopReason !== undefined) throw this.#stopReason;
  }

  timeoutMs(): number | undefined {
    return this.#deadline === undefined ? undefined : this.#deadline - performance.now();
  }

  /**
   * Does the work, but rejects as soon as the deadline passes or the caller cancels. The clock is also checked when the
   * work is done, because a busy event loop fires its timers late. One piece of work at a time.
   */
  limit<T, Input>(work: (input: Input) => Awaitable<T>, input: Input): Awaitable<T> {
    this.throwIfAborted();
    const result = work(input);
    if (!(result instanceof Promise)) {
      this.#checkDeadline();
      this.throwIfAborted();
      return result;
    }
    return new Promise((resolve, reject) => {
      this.#stopWork = reject;
      if (this.#stopReason !== undefined) reject(this.#stopReason);
      result.then((value) => {
        this.#checkDeadline();
        resolve(value);
      }, reject);
    });
  }

  #checkDeadline(): void {
    if (this.#deadline !== undefined && performance.now() >= this.#deadline) this.#onDeadline();
  }

  /** Removes deadline and cancellation. To be called once the call has succeeded or failed. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callerSignal?.removeEventListener("abort", this.#onCallerAbort);
    this.#stopReason ??= ended;
    this.#controller?.abort(this.#stopReason);
  }

  /** Stops the call, because its caller has disconnected. */
  cancel(): void {
    if (this.#stopReason !== undefined) return;
    this.#stop(new ConnectError("the client has gone", Code.Canceled));
  }

  #stop(reason: ConnectError): void {
    this.#stopReason ??= reason;
    this.#controller?.abort(this.#stopReason);
    this.#stopWork?.(this.#stopReason);
  }

  readonly #onDeadline = () => {
    this.#stop(deadlineExceeded("the call took longer than its time-out"));
  };

  readonly #onCallerAbort = () => {
    const reason = ConnectError.from(this.#callerSignal?.reason, Code.Canceled);
    if (reason.code === Code.DeadlineExceeded) this.#onDeadline();
    else this.#stop(reason);
  };
}

/** The response to a unary {@link LocalCall}; its headers are created when first read. */
export class LocalResponse implements UnaryCallResponse {
  readonly stream = false;
  readonly message: Message | StoredMessage;
  readonly #call: LocalCall;

  constructor(call: LocalCall, message: Message | StoredMessage) {
    this.#call = call;
    this.message = message;
  }

  get service(): DescService {
    return this.#call.service;
  }

  get method(): DescMethodUnary {
    return this.#call.method as DescMethodUnary;
  }

  get header(): Headers {
    return this.#call.responseHeader;
  }

  get trailer(): Headers {
    return this.#call.responseTrailer;
  }

  /** The headers; undefined if nobody has read or set them, so that no empty ones are created. */
  get touchedHeader(): Headers | undefined {
    return this.#call.touchedHeader;
  }

  /** The trailers, likewise. */
  get touchedTrailer(): Headers | undefined {
    return this.#call.touchedTrailer;
  }
}

/** Response headers and trailers; undefined where nobody has read or set them. */
export type Touched = Pick<LocalCall, "touchedHeader" | "touchedTrailer">;

/** What a protocol needs of a response. The message is in parts only if the caller takes them. */
export interface LocalAnswer extends Touched {
  readonly message: Message | StoredMessage;
}

/** What a protocol needs of a response that an interceptor or a handler created. */
export function answerOf(response: UnaryCallResponse): LocalAnswer {
  if (response instanceof LocalResponse) return response;
  return { message: response.message, touchedHeader: response.header, touchedTrailer: response.trailer };
}

/** Whether the caller takes a response in parts, as MessageParts. Only then a handler may return one. */
export function takesParts(context: HandlerContext): boolean {
  return context instanceof LocalCall && context.takesParts;
}

/** The pieces after the first one of a request that comes in pieces; undefined for any other. */
export function piecesOf(request: CallRequest): AsyncIterable<Message> | undefined {
  return request instanceof LocalCall ? request.pieces : undefined;
}

/** Puts the message that stands for all pieces in the place of the first one. */
export function replaceMessage(request: CallRequest, message: Message): void {
  if (request instanceof LocalCall) request.message = message;
}

/** How a call came. */
export function protocolOf(request: CallRequest): Protocol {
  return request instanceof LocalCall ? request.protocolName : "local";
}

/** Begins to measure a call. `trace`: what its caller sent. `nowMs`: the time in milliseconds since 1970. */
export function beginTimes(request: CallRequest, trace: TraceContext | undefined, nowMs: number): CallTimes {
  const times = new CallTimes(trace, nowMs);
  if (request instanceof LocalCall) request.times = times;
  return times;
}

/** The times of a call; undefined if it is not measured. */
export function timesOf(request: CallRequest): CallTimes | undefined {
  return request instanceof LocalCall ? request.times : undefined;
}

function isHeaders(header: HeaderInit | undefined): header is Headers {
  return header !== undefined && "get" in header && typeof header.get === "function";
}
