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

/** The requests of one connection. */
export class ConnectionRequests<T> {
  readonly #turns: Turns;
  readonly #payers: Payers;
  readonly #begin: (requests: PayerRequests<T>) => void;
  readonly #ofPayers = new Map<Payer, PayerRequests<T>>();

  /** @param begin begins as many handlers of a payer as may begin now. */
  constructor(socket: Addressed, turns: Turns, begin: (requests: PayerRequests<T>) => void) {
    this.#turns = turns;
    this.#payers = new Payers(turns.payerOf, socket);
    this.#begin = begin;
  }

  /** Adds a request, and begins its handler now or later. */
  add(authorization: string | undefined, request: T): PayerRequests<T> {
    const payer = this.#payers.of(authorization);
    let requests = this.#ofPayers.get(payer);
    if (requests === undefined) {
      requests = new PayerRequests(payer, this.#turns, this.#begin);
      this.#ofPayers.set(payer, requests);
    }
    requests.ready.push(request);
    this.#begin(requests);
    return requests;
  }

  /** Begins as many handlers as may begin now. */
  begin(): void {
    for (const requests of this.#ofPayers.values()) if (requests.ready.length > 0) this.#begin(requests);
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
