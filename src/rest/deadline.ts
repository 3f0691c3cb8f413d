/** The deadline of a call: what the client asks for, and what the host allows. */
import { Deadline, type HttpRequest, headerOf, invalidArgument } from "../message/index.ts";

const maxTimeoutMs = 2 ** 31 - 1;

/** `x-server-timeout`: decimal seconds since the request arrived; at most `maxCallMs`. */
export function readDeadline(request: HttpRequest, maxCallMs = Number.POSITIVE_INFINITY): Deadline | undefined {
  const text = headerOf(request, "x-server-timeout");
  if (text === undefined) return Number.isFinite(maxCallMs) ? new Deadline(request, maxCallMs) : undefined;
  if (!/^\d{1,12}(?:\.\d{1,9})?$/.test(text))
    throw invalidArgument([{ field: "x-server-timeout", description: "must be a decimal number of seconds" }]);
  return new Deadline(request, Math.min(Number(text) * 1000, maxCallMs, maxTimeoutMs));
}

/** The time-out for a transport of Connect, to which 0 means none. Errors: DEADLINE_EXCEEDED if no time is left. */
export function timeoutOf(deadline: Deadline | undefined): number | undefined {
  deadline?.check();
  return deadline && Math.max(1, deadline.leftMs());
}
