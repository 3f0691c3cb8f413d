/**
 * The requests of one HTTP/1.1 connection that Node serves. Node would begin all pipelined requests at once. Here a
 * handler begins when the previous response is sent, there is room for a response, and it is the connection's turn.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Payers } from "../payers.ts";
import type { Share, SharedBytes } from "../shared-bytes.ts";
import { Turn, type Turns } from "../turns.ts";

/**
 * Serves a request. `isQueued`: others may have been served since it came. `isRefused`: the port was overloaded when it
 * came.
 */
type ServePipelined = (isQueued: boolean, isRefused: boolean) => void;

/** The requests of one connection. */
export class Pipeline {
  readonly #socket: Socket;
  readonly #turn: Turn;
  readonly #payers: Payers;
  readonly #share: Share;
  readonly #waiting: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly serve: ServePipelined;
  }[] = [];
  /** The response whose handler has begun, until it is sent. */
  current: ServerResponse | undefined;

  /** @param unsent counts the bytes of responses that are not sent yet. */
  constructor(socket: Socket, turns: Turns, unsent: SharedBytes) {
    this.#socket = socket;
    this.#payers = new Payers(turns.payerOf, socket);
    this.#turn = new Turn(turns, this.#payers.of(undefined), () => this.#begin(true));
    this.#share = unsent.share(socket);
    socket.once("close", () => {
      this.#waiting.length = 0;
      this.#turn.end();
    });
  }

  /** Serves a request, now or later. */
  add(request: IncomingMessage, response: ServerResponse, serve: ServePipelined): void {
    this.#waiting.push({ request, response, serve });
    this.#begin(response.socket === null);
  }

  #begin(isQueued: boolean): void {
    if (this.current !== undefined || this.#waiting.length === 0) return;
    this.#turn.payer = this.#payers.of(this.#waiting[0]!.request.headers.authorization);
    const { isRefused } = this.#turn;
    if (!isRefused && (!this.#share.hasRoomOrWaits(0, this.#turn) || !this.#turn.take())) return;
    const { response, serve } = this.#waiting.shift()!;
    this.current = response;
    response.once("close", this.#next);
    serve(isQueued, isRefused);
  }

  readonly #next = (): void => {
    this.current = undefined;
    this.#turn.answered();
    this.count();
    this.#begin(true);
  };

  /** Counts the bytes that are not sent. */
  count(): void {
    this.#share.set((this.current ?? this.#socket).writableLength);
  }
}
