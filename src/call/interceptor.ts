/** Interceptors of local calls: Connect's Interceptor, for calls that may be answered synchronously. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import type { Awaitable } from "../awaitable.ts";
import type { StoredMessage } from "../codec/index.ts";

type ConnectFn = ReturnType<Interceptor>;

/** A call, unary or streaming. */
export type CallRequest = Parameters<ConnectFn>[0];

/** The response to a call. */
export type CallResponse = UnaryCallResponse | StreamResponse;

/** The response to a unary call. An interceptor that reads its message decodes it with `wholeMessage`. */
export interface UnaryCallResponse extends Omit<UnaryResponse, "message"> {
  readonly message: Message | StoredMessage;
}

/** Carries out a call. */
export type CallFn = (request: CallRequest) => Awaitable<CallResponse>;

/**
 * Wraps the function that carries out the calls of a method, once for each method. It must pass on the request object
 * that it received.
 */
export type CallInterceptor = (next: CallFn, method: DescMethod) => CallFn;

/** Sees an error of a call, and returns the one that takes its place. */
export type ErrorHandler = (error: unknown, request: CallRequest) => unknown;

/** An interceptor that sees errors only, by one handler after the other. */
export function onError(...handlers: readonly ErrorHandler[]): CallInterceptor {
  const replaced = (error: unknown, request: CallRequest) =>
    handlers.reduce((latest, handle) => handle(latest, request), error);
  return (next) => (request) => {
    let response: Awaitable<CallResponse>;
    try {
      response = next(request);
    } catch (error) {
      throw replaced(error, request);
    }
    return response instanceof Promise ? response.catch((error) => Promise.reject(replaced(error, request))) : response;
  };
}
