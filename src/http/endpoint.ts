/** Endpoints at paths that belong to no service. */
import { type Awaitable, tryChain } from "../awaitable.ts";
import type { PortRequest, PortResponse } from "../message/index.ts";

/** Answers requests to one path; false for an HTTP method that it does not take. */
export type Endpoint = (request: PortRequest, response: PortResponse) => boolean;

/** Endpoints by path. */
export type Endpoints = Readonly<Record<string, Endpoint>>;

/** An endpoint that takes GET and HEAD. `onError`: answers when that fails. */
export function readEndpoint(
  answer: (request: PortRequest, response: PortResponse) => Awaitable<void>,
  onError: (error: unknown, response: PortResponse) => void,
): Endpoint {
  return (request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") return false;
    void tryChain(
      () => answer(request, response),
      () => {},
      (error) => onError(error, response),
    );
    return true;
  };
}
