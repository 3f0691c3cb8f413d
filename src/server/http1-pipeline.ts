/**
 * The requests of one connection that Node serves over HTTP/1.1. Node would begin all that have come at once; here a handler begins when the response
 * before it is sent, there is room for an answer, and it is the connection's turn.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Share, SharedBytes } from "./shared-bytes.ts";
import { Turn, type Turns } from "./turns.ts";

/** One connection. */
export class Pipeline {
  readonly #socket: Socket;
  readonly #turn: Turn;
  readonly #share: Share;
  readonly #waiting: { readonly response: ServerResponse; serve(isQueued: boolean): void }[] = [];
  /** The response whose handler has begun, until it is sent. */
  current: ServerResponse | undefined;

  /** @param unsent what may be there of answers that are not sent, over all connections. */
  constructor(socket: Socket, turns: Turns, unsent: SharedBytes) {
    this.#socket = socket;
    this.#turn = new Turn(turns, () => this.#begin(true));
    this.#share = unsent.share(socket);
    socket.once("close", () => {
      this.#waiting.length = 0;
    });
  }

  /** Has a request served: now, or later, when `isQueued` says that others may have been served since it came. */
  add(response: ServerResponse, serve: (isQueued: boolean) => void): void {
    this.#waiting.push({ response, serve });
    this.#begin(response.socket === null);
  }

  #begin(isQueued: boolean): void {
    if (this.current !== undefined || this.#waiting.length === 0) return;
    if (!this.#share.hasRoomOrWaits(0, this.#turn) || !this.#turn.take()) return;
    const { response, serve } = this.#waiting.shift()!;
    this.current = response;
    response.once("close", this.#next);
    serve(isQueued);
  }

  readonly #next = (): void => {
    this.current = undefined;
    this.#turn.answered();
    this.count();
    this.#begin(true);
  };

  /** Counts what is not sent. */
  count(): void {
    this.#share.set((this.current ?? this.#socket).writableLength);
  }
}
