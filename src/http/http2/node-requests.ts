/**
 * The requests of one of Node's sessions. A handler begins when there is room for its response and it is the
 * connection's turn. Node itself would refuse streams once too much waits to be sent.
 */
import type { ServerHttp2Stream } from "node:http2";
import { ConnectionRequests, type Handlers, type PayerRequests } from "../payer-requests.ts";
import type { Addressed } from "../payers.ts";
import type { Connection, Share, SharedBytes } from "../shared-bytes.ts";
import type { Turn, Turns } from "../turns.ts";

/** The size that is assumed for a response before the session has sent any, in bytes. */
const firstExpectedBytes = 1024 * 1024;

interface SessionRequest {
  readonly stream: ServerHttp2Stream;
  serve(): void;
  refuse(): void;
}

/** The requests of one session. */
export class SessionRequests implements Handlers<SessionRequest> {
  readonly #requests: ConnectionRequests<SessionRequest>;
  readonly #share: Share;
  /** Streams whose handlers have begun. */
  readonly #begun: ServerHttp2Stream[] = [];
  #expectedBytes = firstExpectedBytes;

  /** @param unsent counts the bytes of responses that are not sent yet. */
  constructor(socket: Connection & Addressed, turns: Turns, unsent: SharedBytes) {
    this.#requests = new ConnectionRequests(socket, turns, this);
    this.#share = unsent.share(socket);
  }

  /** Serves a request, now or later; by `refuse` if the port is overloaded. */
  add(authorization: string | undefined, request: SessionRequest): void {
    this.#requests.add(authorization, request);
  }

  mayBegin(turn: Turn): boolean {
    if (turn.isRefused) return true;
    const running = this.count();
    return this.#share.hasRoomOrWaits(running * this.#expectedBytes, turn) && turn.take();
  }

  serve(request: SessionRequest, requests: PayerRequests<SessionRequest>): void {
    const { stream } = request;
    this.#begun.push(stream);
    let isAnswered = false;
    const answer = () => {
      if (isAnswered) return;
      isAnswered = true;
      this.#requests.answered(requests);
      this.#requests.beginOf(requests);
    };
    stream.once("finish", answer).once("close", answer);
    request.serve();
  }

  refuse(request: SessionRequest): void {
    request.refuse();
  }

  /** The stream is over. */
  forget(stream: ServerHttp2Stream): void {
    const at = this.#begun.indexOf(stream);
    if (at >= 0) this.#begun.splice(at, 1);
    this.#requests.remove((one) => one.stream === stream);
    this.count();
    this.#requests.begin();
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
}
