/** When a client gives up its request: counted from when the request came, whatever the server did first. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Arrival } from "./http.ts";

/** The deadline of one request. */
export class Deadline {
  readonly #atMs: number;

  constructor({ startedMs = performance.now() }: Arrival, timeoutMs: number) {
    this.#atMs = startedMs + timeoutMs;
  }

  /** Whole milliseconds until then, rounded up; 0 or less afterwards. */
  leftMs(): number {
    return Math.ceil(this.#atMs - performance.now());
  }

  get isPast(): boolean {
    return performance.now() >= this.#atMs;
  }

  /** Errors: DEADLINE_EXCEEDED once it is past. */
  check(): void {
    if (this.isPast)
      throw new ConnectError("Deadline exceeded: the call took longer than its time-out", Code.DeadlineExceeded);
  }
}
