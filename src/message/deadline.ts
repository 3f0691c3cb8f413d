/** The time by which a client wants its answer, counted from the arrival of the request. */
import { Code, ConnectError } from "@connectrpc/connect";
import { type Arrival, type HttpRequest, headerOf } from "./message.ts";
import { invalidArgument } from "./refusal.ts";

const maxTimeoutMs = 2 ** 31 - 1;

/** The deadline of one request. */
export class Deadline {
  readonly #atMs: number;

  constructor({ startedMs = performance.now() }: Arrival, timeoutMs: number) {
    this.#atMs = startedMs + timeoutMs;
  }

  /** Milliseconds until the deadline, rounded up; 0 or less afterwards. */
  leftMs(): number {
    return Math.ceil(this.#atMs - performance.now());
  }

  get isPast(): boolean {
    return performance.now() >= this.#atMs;
  }

  /** Errors: DEADLINE_EXCEEDED if it is past. */
  check(): void {
    if (this.isPast)
      throw new ConnectError("Deadline exceeded: the call took longer than its time-out", Code.DeadlineExceeded);
  }
}

/** `x-server-timeout`: decimal seconds since the request arrived; at most `maxCallMs`. */
export function readDeadline(request: HttpRequest, maxCallMs = Number.POSITIVE_INFINITY): Deadline | undefined {
  const text = headerOf(request, "x-server-timeout");
  if (text === undefined) return Number.isFinite(maxCallMs) ? new Deadline(request, maxCallMs) : undefined;
  if (!/^\d{1,12}(?:\.\d{1,9})?$/.test(text))
    throw invalidArgument([{ field: "x-server-timeout", description: "must be a decimal number of seconds" }]);
  return new Deadline(request, Math.min(Number(text) * 1000, maxCallMs, maxTimeoutMs));
}
