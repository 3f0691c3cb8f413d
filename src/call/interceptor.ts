/** Interceptors of local calls: Connect's Interceptor, for calls that may be answered synchronously. */
import type { Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import { type Awaitable, tryChain } from "../awaitable.ts";
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

/** Wraps the function that carries out a call. It must pass on the request object that it received. */
export type CallInterceptor = (next: CallFn) => CallFn;

/** An interceptor that sees errors only. What it throws replaces the error. */
export function onError(handle: (error: unknown, request: CallRequest) => never): CallInterceptor {
  return (next) => (request) =>
    tryChain(
      () => next(request),
      (response) => response,
      (error) => handle(error, request),
    );
}
