/** The time by which a client wants its answer, counted from the arrival of the request. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Arrival } from "./message.ts";

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
