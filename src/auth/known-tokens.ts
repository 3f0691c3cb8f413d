/** The tokens that were verified before, each with whom it speaks for. */
import type { Payer } from "../fairness/index.ts";
import { LruMap } from "../lru-map.ts";
import type { Caller } from "./caller.ts";
import type { Token, TokenRejected } from "./tokens/token.ts";
import type { Verification } from "./verification.ts";

/** Whom a token speaks for, or why for nobody, while `changes` has the same value. */
export interface Outcome {
  readonly result: Caller | TokenRejected;
  readonly changes: number;
  readonly untilMs: number;
}

/** A token whose signature is valid. */
export interface VerifiedToken {
  readonly header: string;
  readonly token: Token;
  /** What has verified a token of another issuer. */
  verification?: Verification;
  readonly untilMs: number;
  outcome?: Outcome | undefined;
  /** Whether it has been found out before whom it speaks for. */
  isUsed?: boolean;
  /** Its caller when it was last used; undefined if it was refused. */
  caller?: Caller | undefined;
  /** Set once it has a caller. */
  payer?: Payer;
}

/** By {@link keyOf}. */
type Tokens = LruMap<string, VerifiedToken>;

const maxVerified = 10_000;
const maxRefused = 1000;

/** The tokens that were used last, by the header they came in. Those that speak for nobody evict no others. */
export class KnownTokens {
  readonly #verified: Tokens = new LruMap(maxVerified);
  readonly #refused: Tokens = new LruMap(maxRefused);
  /** The token that was looked up last: that of a call is looked up twice. */
  #last: VerifiedToken | undefined;

  /** The token of a header, if it had a caller when it was last used. */
  verified(header: string, nowMs: number): VerifiedToken | undefined {
    if (this.#last?.header !== header) this.#last = tokenIn(this.#verified, header);
    return this.#last !== undefined && nowMs < this.#last.untilMs ? this.#last : undefined;
  }

  /** The token of a header, if it had no caller when it was last used. */
  refused(header: string, nowMs: number): VerifiedToken | undefined {
    const refused = tokenIn(this.#refused, header);
    return refused !== undefined && nowMs < refused.untilMs ? refused : undefined;
  }

  /** Keeps a token that has a caller. */
  accept(token: VerifiedToken): void {
    this.#move(token, this.#refused, this.#verified);
  }

  /** Keeps a token that has none. */
  refuse(token: VerifiedToken): void {
    this.#move(token, this.#verified, this.#refused);
  }

  #move(token: VerifiedToken, from: Tokens, to: Tokens): void {
    const key = keyOf(token.header);
    if (from.get(key) === token) from.delete(key);
    to.set(key, token);
    this.#last = undefined;
  }
}

function tokenIn(tokens: Tokens, header: string): VerifiedToken | undefined {
  const token = tokens.get(keyOf(header));
  return token?.header === header ? token : undefined;
}

/**
 * The end of a token's signature. The lookup of a long text would cost more than the rest of authentication.
 */
function keyOf(header: string): string {
  return header.slice(-32);
}
