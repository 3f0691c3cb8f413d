/** One call inside this process, as layers and handlers see it, and the limits on its time. */
import type { DescMethod, DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, type HandlerContext, type UnaryResponse } from "@connectrpc/connect";
import { deadlineExceeded } from "../errors.ts";
import type { Eventually } from "../eventually.ts";
import { PlainHeaders } from "./plain-headers.ts";

/** What headers can be made from. */
export type HeaderInit = ConstructorParameters<typeof Headers>[0];

/** What a call is made from. */
export interface LocalCallInit {
  readonly method: DescMethod;
  readonly message: Message | AsyncIterable<Message>;
  /** Looked at when first asked for; a `Headers`, or what has its `get`, is used as it is. */
  readonly header: HeaderInit | undefined;
  readonly values: ContextValues;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
  /** At most 2³¹ - 1: Node's timers fire at once on more. */
  readonly timeoutMs: number | undefined;
}

/** The reason of a signal that is aborted because its call has ended. A constant, because making an error is dear. */
const ended = new ConnectError("the call has ended", Code.Canceled);

/**
 * Both the request that layers see (Connect's `UnaryRequest` or `StreamRequest`) and the context that handlers see. Headers and
 * signal are made when first read. The signal is aborted by the deadline, by the caller, and when the call has ended.
 */
export class LocalCall implements HandlerContext {
  readonly stream: boolean;
  readonly method: DescMethod;
  readonly message: Message | AsyncIterable<Message>;
  readonly values: ContextValues;
  readonly requestMethod = "POST";
  readonly protocolName = "local";

  readonly #headerInit: HeaderInit | undefined;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #deadline: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #header: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #controller: AbortController | undefined;
  #stopReason: ConnectError | undefined;
  #stopWork: ((reason: ConnectError) => void) | undefined;

  constructor({ method, message, header, values, signal, timeoutMs }: LocalCallInit) {
    this.stream = method.methodKind !== "unary";
    this.method = method;
    this.message = message;
    this.values = values;
    this.#headerInit = header;
    this.#callerSignal = signal;
    if (timeoutMs !== undefined) {
      this.#deadline = performance.now() + timeoutMs;
      if (timeoutMs >= 1) this.#timer = setTimeout(this.#onDeadline, timeoutMs);
      else this.#onDeadline(); // timers are no finer
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

  get contextValues(): ContextValues {
    return this.values;
  }

  get header(): Headers {
    this.#header ??= isHeaders(this.#headerInit) ? this.#headerInit : new Headers(this.#headerInit);
    return this.#header;
  }

  get requestHeader(): Headers {
    return this.header;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new PlainHeaders();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new PlainHeaders();
    return this.#responseTrailer;
  }

  /** The response headers if anyone has touched them. */
  get touchedHeader(): Headers | undefined {
    return this.#responseHeader;
  }

  /** The response trailers if anyone has touched them. */
  get touchedTrailer(): Headers | undefined {
    return this.#responseTrailer;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stopReason !== undefined) this.#controller.abort(this.#stopReason);
    }
    return this.#controller.signal;
  }

  /** What the signal's own does, for who needs no more of it. */
  throwIfAborted(): void {
    if (this.#stopReason !== undefined) throw this.#stopReason;
  }

  timeoutMs(): number | undefined {
    return this.#deadline === undefined ? undefined : this.#deadline - performance.now();
  }

  /**
   * Does the work, but rejects as soon as the deadline passes or the caller cancels, also if the work is done by then: a loop that was busy fires
   * its timers too late. One piece of work at a time.
   */
  limit<T>(work: () => Eventually<T>): Eventually<T> {
    this.throwIfAborted();
    const result = work();
    if (!(result instanceof Promise)) {
      this.#lookAtClock();
      this.throwIfAborted();
      return result;
    }
    return new Promise((resolve, reject) => {
      this.#stopWork = reject;
      if (this.#stopReason !== undefined) reject(this.#stopReason);
      result.then((value) => {
        this.#lookAtClock();
        resolve(value);
      }, reject);
    });
  }

  #lookAtClock(): void {
    if (this.#deadline !== undefined && performance.now() >= this.#deadline) this.#onDeadline();
  }

  /** Takes the limits off. To be called once the call has ended, in whatever way. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callerSignal?.removeEventListener("abort", this.#onCallerAbort);
    this.#stopReason ??= ended;
    this.#controller?.abort(this.#stopReason);
  }

  /** Stops the call: its caller has gone. */
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

/** The answer to a unary {@link LocalCall}; its headers are made when first read. */
export class LocalResponse implements UnaryResponse {
  readonly stream = false;
  readonly message: Message;
  readonly #call: LocalCall;

  constructor(call: LocalCall, message: Message) {
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

  /** Spares a door that finds nothing written the making of empty headers. */
  get touchedHeader(): Headers | undefined {
    return this.#call.touchedHeader;
  }

  /** As {@link LocalResponse.touchedHeader}, for trailers. */
  get touchedTrailer(): Headers | undefined {
    return this.#call.touchedTrailer;
  }
}

/** What has response headers and trailers, perhaps. */
export type Touched = Pick<LocalCall, "touchedHeader" | "touchedTrailer">;

/** What a door needs of a response. */
export interface LocalAnswer extends Touched {
  /** For the codec's writers; anybody else needs `wholeMessage` of it. */
  readonly message: Message;
}

/** A response, whoever made it, as a door needs it; no headers are made for asking. */
export function answerOf(response: UnaryResponse): LocalAnswer {
  if (response instanceof LocalResponse) return response;
  return { message: response.message, touchedHeader: response.header, touchedTrailer: response.trailer };
}

function isHeaders(header: HeaderInit | undefined): header is Headers {
  return header !== undefined && "get" in header && typeof header.get === "function";
}
