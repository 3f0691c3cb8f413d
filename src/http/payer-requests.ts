/** The requests of one connection, by payer: a proxy passes on those of many. Each payer has turns of its own. */
import type { Payer } from "./accounts.ts";
import { type Addressed, Payers } from "./payers.ts";
import { Turn, type Turns } from "./turns.ts";

/** The requests of one payer. */
export class PayerRequests<T> {
  readonly payer: Payer;
  readonly turn: Turn;
  /** Those whose handlers have not begun. */
  readonly ready: T[] = [];
  isBeginning = false;

  constructor(payer: Payer, turns: Turns, begin: (requests: PayerRequests<T>) => void) {
    this.payer = payer;
    this.turn = new Turn(turns, payer, () => begin(this));
  }
}

/** How the handlers of a connection begin. */
export interface Handlers<T> {
  /** Whether the next one of a turn may begin, or its request be refused. */
  mayBegin(turn: Turn): boolean;
  serve(request: T, requests: PayerRequests<T>): void;
  /** Answers a request that came while the port was overloaded. */
  refuse(request: T): void;
}

/** The requests of one connection. */
export class ConnectionRequests<T> {
  readonly #turns: Turns;
  readonly #payers: Payers;
  readonly #handlers: Handlers<T>;
  readonly #ofPayers = new Map<Payer, PayerRequests<T>>();

  constructor(socket: Addressed, turns: Turns, handlers: Handlers<T>) {
    this.#turns = turns;
    this.#payers = new Payers(turns.payerOf, socket);
    this.#handlers = handlers;
  }

  /** Adds a request, and begins its handler now or later. */
  add(authorization: string | undefined, request: T): PayerRequests<T> {
    const payer = this.#payers.of(authorization);
    let requests = this.#ofPayers.get(payer);
    if (requests === undefined) {
      requests = new PayerRequests(payer, this.#turns, (requests) => this.beginOf(requests));
      this.#ofPayers.set(payer, requests);
    }
    requests.ready.push(request);
    this.beginOf(requests);
    return requests;
  }

  /** Begins as many handlers as may begin now. */
  begin(): void {
    for (const requests of this.#ofPayers.values()) if (requests.ready.length > 0) this.beginOf(requests);
  }

  /** Begins as many handlers of a payer as may begin now. */
  beginOf(requests: PayerRequests<T>): void {
    const { ready, turn } = requests;
    if (requests.isBeginning) return;
    requests.isBeginning = true;
    while (ready.length > 0 && this.#handlers.mayBegin(turn)) {
      const request = ready.shift()!;
      if (turn.isRefused) this.#handlers.refuse(request);
      else this.#handlers.serve(request, requests);
    }
    requests.isBeginning = false;
  }

  /** Counts an answer. */
  answered(requests: PayerRequests<T>): void {
    requests.turn.answered();
    if (requests.ready.length === 0 && requests.turn.isIdle && this.#ofPayers.size > 1)
      this.#ofPayers.delete(requests.payer);
  }

  /** Removes the first request for which `test` holds, if its handler has not begun. */
  remove(test: (request: T) => boolean): void {
    for (const { ready } of this.#ofPayers.values()) {
      const at = ready.findIndex(test);
      if (at >= 0) {
        ready.splice(at, 1);
        return;
      }
    }
  }

  /** The connection has closed. */
  close(): void {
    for (const { ready, turn } of this.#ofPayers.values()) {
      ready.length = 0;
      turn.end();
    }
  }
}
