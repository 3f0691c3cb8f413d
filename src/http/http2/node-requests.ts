/**
 * The requests of one of Node's sessions. A handler begins when there is room for its response and it is the
 * connection's turn. Node itself would refuse streams once too much waits to be sent.
 */
import type { ServerHttp2Stream } from "node:http2";
import type { Connection, Share, SharedBytes } from "../shared-bytes.ts";
import { Turn, type Turns } from "../turns.ts";

/** The size that is assumed for a response before the session has sent any, in bytes. */
const firstExpectedBytes = 1024 * 1024;

/** The requests of one session. */
export class SessionRequests {
  readonly #turn: Turn;
  readonly #share: Share;
  readonly #ready: { readonly stream: ServerHttp2Stream; serve(): void; refuse(): void }[] = [];
  /** Streams whose handlers have begun. */
  readonly #begun: ServerHttp2Stream[] = [];
  #expectedBytes = firstExpectedBytes;
  #isBeginning = false;

  /** @param unsent counts the bytes of responses that are not sent yet. */
  constructor(socket: Connection, turns: Turns, unsent: SharedBytes) {
    this.#turn = new Turn(turns, this.#begin);
    this.#share = unsent.share(socket);
  }

  /** Serves a request, now or later; by `refuse` if the port is overloaded. */
  add(stream: ServerHttp2Stream, serve: () => void, refuse: () => void): void {
    this.#ready.push({ stream, serve, refuse });
    this.#begin();
  }

  readonly #begin = (): void => {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    while (this.#ready.length > 0 && (this.#turn.isRefused || (this.#hasRoom() && this.#turn.take()))) {
      const { stream, serve, refuse } = this.#ready.shift()!;
      if (this.#turn.isRefused) {
        refuse();
        continue;
      }
      this.#begun.push(stream);
      stream.once("finish", this.#answered);
      serve();
    }
    this.#isBeginning = false;
  };

  readonly #answered = (): void => {
    this.#turn.answered();
    this.#begin();
  };

  /** The stream is over. */
  forget(stream: ServerHttp2Stream): void {
    const at = this.#begun.indexOf(stream);
    if (at >= 0) this.#begun.splice(at, 1);
    const waitingAt = this.#ready.findIndex((one) => one.stream === stream);
    if (waitingAt >= 0) this.#ready.splice(waitingAt, 1);
    this.count();
    this.#begin();
  }

  /** Counts the bytes that are not sent. Returns the number of requests whose response has not begun. */
  count(): number {
    let unsentBytes = 0;
    let running = 0;
    let largest = 0;
    for (const stream of this.#begun) {
      const { writableLength } = stream;
      unsentBytes += writableLength;
      largest = Math.max(largest, writableLength);
      if (!stream.headersSent && (stream.endAfterHeaders || stream.readableEnded)) running++;
    }
    this.#expectedBytes = Math.max(largest, this.#expectedBytes * (7 / 8));
    this.#share.set(unsentBytes);
    return running;
  }

  #hasRoom(): boolean {
    const running = this.count();
    return this.#share.hasRoomOrWaits(running * this.#expectedBytes, this.#turn);
  }
}
