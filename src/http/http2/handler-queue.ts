/**
 * The handlers of one connection. They begin in the order in which their requests were complete, when there is room for
 * the responses and it is the connection's turn.
 */
import type { Socket } from "node:net";
import type { Share } from "../shared-bytes.ts";
import { Turn, type Turns } from "../turns.ts";
import type { Http2Stream, ServeBuffered } from "./stream.ts";

/** The size that is assumed for a response before the connection has had any, in bytes. */
const firstExpectedBytes = 1024 * 1024;

/** The handlers of one connection. */
export class HandlerQueue {
  readonly #socket: Socket;
  readonly #share: Share;
  readonly #turn: Turn;
  readonly #refuse: ServeBuffered;
  /** Streams whose requests are complete, and whose handlers have not begun. */
  readonly #ready: Http2Stream[] = [];
  #isBeginning = false;
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
    this.#turn = new Turn(turns, this.begin);
  }

  /** Answers the request of a stream, now or later. */
  add(stream: Http2Stream): void {
    this.#ready.push(stream);
    this.begin();
  }

  /** Begins as many handlers as may begin now. */
  readonly begin = (): void => {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    while (this.#ready.length > 0 && !this.#socket.writableNeedDrain && this.#mayBegin()) {
      const stream = this.#ready.shift()!;
      if (this.#turn.isRefused) {
        this.#refuse(stream.req, stream);
        continue;
      }
      stream.isHandlerRunning = true;
      this.#running++;
      stream.serve();
    }
    this.#isBeginning = false;
  };

  /** Whether there is room for a response, and it is the connection's turn. */
  #mayBegin(): boolean {
    const expectedBytes = this.#running * this.#expectedBytes;
    return this.#turn.isRefused || (this.#share.hasRoomOrWaits(expectedBytes, this.#turn) && this.#turn.take());
  }

  /** Counts the size of a response, in bytes, for those to come. */
  expect(stream: Http2Stream, bytes: number): void {
    if (stream.isHandlerRunning) this.#expectedBytes = Math.max(bytes, this.#expectedBytes * (7 / 8));
  }

  /** The handler of a stream has answered, or its answer is not wanted any more. */
  end(stream: Http2Stream): void {
    if (!stream.isHandlerRunning) return;
    stream.isHandlerRunning = false;
    this.#running--;
    this.#turn.answered();
    if (this.#ready.length > 0) queueMicrotask(this.begin);
  }

  /** Removes a stream that is over. */
  remove(stream: Http2Stream): void {
    if (stream.isAnswered) return;
    const at = this.#ready.indexOf(stream);
    if (at >= 0) this.#ready.splice(at, 1);
  }

  clear(): void {
    this.#ready.length = 0;
  }
}
