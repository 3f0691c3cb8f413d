/** The errors of requests that the port refuses before a handler sees them. The HTTP status is the port's. */
import { Code, ConnectError } from "@connectrpc/connect";
import { unavailable } from "../../errors.ts";

const refusals: Readonly<Record<number, readonly [Code, string]>> = {
  400: [Code.InvalidArgument, "Invalid argument: the HTTP request is malformed"],
  404: [Code.NotFound, "Not found: no method has this path"],
  405: [Code.Unimplemented, "Method not allowed: this path takes another HTTP method"],
  408: [Code.DeadlineExceeded, "Deadline exceeded: the request came too slowly"],
  413: [Code.ResourceExhausted, "Resource exhausted: the chunk extensions of the request body are too large"],
  415: [Code.InvalidArgument, "Invalid argument: the content type is none that this path takes"],
  417: [Code.InvalidArgument, "Invalid argument: the expectation cannot be met"],
  426: [Code.InvalidArgument, "Invalid argument: this port speaks TLS, use https"],
  431: [Code.ResourceExhausted, "Resource exhausted: the header of the request is larger"],
  505: [Code.Unimplemented, "Method not allowed: this method needs HTTP/2"],
};

/** The error of a refusal. `headerLimit`: the text of the limit that 431 names. */
export function refusalOf(httpStatus: number, headerLimit: string): ConnectError {
  if (httpStatus === 503) return unavailable("the server is starting");
  const [code, message] = refusals[httpStatus] ?? [Code.Internal, "Internal error"];
  return new ConnectError(httpStatus === 431 ? `${message} than ${headerLimit}` : message, code);
}
