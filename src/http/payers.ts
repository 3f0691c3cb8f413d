/** The payers of the requests of one connection. */
import type { Payer } from "./accounts.ts";
import { originOf } from "./addresses/origin.ts";

/** Whom a request counts against, by its `Authorization`, if it has one, and the address of its client. */
export type PayerSource = (authorization: string | undefined, address: string | undefined) => Payer;

/** A connection, with the address of the client. */
export interface Addressed {
  readonly remoteAddress?: string | undefined;
}

/** Remembers the payer of the last token, because clients repeat it. */
export class Payers {
  readonly #payerOf: PayerSource;
  readonly #socket: Addressed;
  #authorization: string | undefined;
  #known: Payer | undefined;

  constructor(payerOf: PayerSource, socket: Addressed) {
    this.#payerOf = payerOf;
    this.#socket = socket;
  }

  /** The payer of a request. That of a token is asked for again once its account is "". */
  of(authorization: string | undefined): Payer {
    if (authorization === this.#authorization && this.#known !== undefined && this.#known.account !== "")
      return this.#known;
    const payer = this.#payerOf(authorization, originOf(this.#socket).address);
    const isKnown = authorization === undefined || payer.isKnown;
    this.#known = isKnown ? payer : undefined;
    this.#authorization = authorization;
    return payer;
  }
}
