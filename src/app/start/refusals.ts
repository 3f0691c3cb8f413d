/** What the port refuses before a handler sees it: requests, with the errors that they get, and connections. */
import { Code, ConnectError } from "@connectrpc/connect";
import { unavailable } from "../../errors.ts";
import type { ConnectionLimit } from "../../http/index.ts";
import type { Logger } from "../../log.ts";
import { type Counter, createCounter } from "../counter.ts";

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

/** A line of each limit is logged at most this often. */
const logMs = 10_000;

/** The refusals of a port. */
export interface RefusedConnections {
  readonly counts: Counter["counts"];
  report(limit: ConnectionLimit, address: string | undefined): void;
}

/** Begins to count. */
export function createRefusedConnections(log: Logger): RefusedConnections {
  const { counts, report } = createCounter(["max-connections", "max-connections-per-address", "file-descriptors"]);
  const logged = new Map<ConnectionLimit, { readonly atMs: number; readonly count: number }>();
  return {
    counts,
    report(limit, address) {
      report(limit);
      const nowMs = performance.now();
      const count = counts.get(limit)!;
      const last = logged.get(limit) ?? { atMs: Number.NEGATIVE_INFINITY, count: 0 };
      if (nowMs - last.atMs < logMs) return;
      logged.set(limit, { atMs: nowMs, count });
      log.warn({ limit, address, refused: count - last.count }, "connections refused");
    },
  };
}
