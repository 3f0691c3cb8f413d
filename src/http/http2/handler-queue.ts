/**
 * The handlers of one connection. They begin in the order in which their requests were complete, when there is room for
 * the responses and it is the connection's turn.
 */
import type { Socket } from "node:net";
import { ConnectionRequests, type Handlers, type PayerRequests } from "../payer-requests.ts";
import type { Share } from "../shared-bytes.ts";
import type { Turn, Turns } from "../turns.ts";
import type { Http2Stream, ServeBuffered } from "./stream.ts";

/** The size that is assumed for a response before the connection has had any, in bytes. */
const firstExpectedBytes = 1024 * 1024;

/** The handlers of one connection. */
export class HandlerQueue implements Handlers<Http2Stream> {
  readonly #socket: Socket;
  readonly #share: Share;
  readonly #refuse: ServeBuffered;
  /** Streams whose requests are complete. */
  readonly #requests: ConnectionRequests<Http2Stream>;
  /**
   * Handlers that have begun and not answered, and the size that is assumed for each response: that of the largest
   * recent one.
   */
  #running = 0;
  #expectedBytes = firstExpectedBytes;

  /**
   * @param share counts the bytes of the connection that are not sent.
   * @param refuse answers a request while the port is overloaded.
   */
  constructor(socket: Socket, turns: Turns, share: Share, refuse: ServeBuffered) {
    this.#socket = socket;
    this.#share = share;
    this.#refuse = refuse;
    this.#requests = new ConnectionRequests(socket, turns, this);
  }

  /** Answers the request of a stream, now or later. */
  add(stream: Http2Stream): void {
    this.#requests.add(stream.authorization, stream);
  }

  /** Begins as many handlers as may begin now. */
  begin(): void {
    this.#requests.begin();
  }

  /** Whether there is room for a response, and it is the turn of the payer on this connection. */
  mayBegin(turn: Turn): boolean {
    if (this.#socket.writableNeedDrain) return false;
    const expectedBytes = this.#running * this.#expectedBytes;
    return turn.isRefused || (this.#share.hasRoomOrWaits(expectedBytes, turn) && turn.take());
  }

  serve(stream: Http2Stream, requests: PayerRequests<Http2Stream>): void {
    stream.running = requests;
    this.#running++;
    stream.serve();
  }

  refuse(stream: Http2Stream): void {
    this.#refuse(stream.req, stream);
  }

  /** Counts the size of a response, in bytes, for those to come. */
  expect(stream: Http2Stream, bytes: number): void {
    if (stream.running !== undefined) this.#expectedBytes = Math.max(bytes, this.#expectedBytes * (7 / 8));
  }

  /** The handler of a stream has answered, or its answer is not wanted any more. */
  end(stream: Http2Stream): void {
    const requests = stream.running;
    if (requests === undefined) return;
    stream.running = undefined;
    this.#running--;
    this.#requests.answered(requests);
    if (requests.ready.length > 0) queueMicrotask(() => this.#requests.beginOf(requests));
  }

  /** Removes a stream that is over. */
  remove(stream: Http2Stream): void {
    if (stream.isAnswered) return;
    this.#requests.remove((one) => one === stream);
  }

  clear(): void {
    this.#requests.close();
  }
}
