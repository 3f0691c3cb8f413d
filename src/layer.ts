/** What wraps a call: Connect's Interceptor, but for calls that need not wait and are answered at once. */
import type { Interceptor } from "@connectrpc/connect";
import { type Eventually, settle } from "./eventually.ts";

type ConnectFn = ReturnType<Interceptor>;

/** A call, unary or streaming. */
export type CallRequest = Parameters<ConnectFn>[0];

/** The answer to one. */
export type CallResponse = Awaited<ReturnType<ConnectFn>>;

/** Carries out a call. */
export type CallFn = (request: CallRequest) => Eventually<CallResponse>;

/** Wraps what carries it out. It must hand on the request it was given. */
export type Layer = (next: CallFn) => CallFn;

/** A layer that sees errors only; what it throws takes the error's place. */
export function onError(handle: (error: unknown, request: CallRequest) => never): Layer {
  return (next) => (request) =>
    settle(
      () => next(request),
      (response) => response,
      (error) => handle(error, request),
    );
}
