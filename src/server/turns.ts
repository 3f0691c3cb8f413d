/**
 * Turns between connections: no connection's handlers run for long while others have something to read. What a connection may not begin now waits
 * until everything that was ready has been read, and then until those that began to wait earlier have had their turn.
 *
 * A round is one turn of the event loop. In a round a connection begins handlers for `sliceMs`. Handlers that do not answer at once may still have all
 * of their work before them, in promises that settle within the round. So a connection begins few of them in a round: one more each time another has
 * answered, and twice as many in the next round if all that happened in this one took less than a slice.
 */

/** A handler that has begun is not interrupted: with it, a connection's turn may last longer. */
const sliceMs = 2;
/** Handlers of one connection that begin in one round without an answer. */
const maxBurst = 16;

/** The rounds, and who waits for the next. */
export class Turns {
  /** The number of the round. It changes once what was ready has been read, if anybody has had a {@link touch} of this one. */
  round = 0;
  readonly #waiting: Turn[] = [];
  #isDue = false;

  /** Has this round end. */
  touch(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#next);
  }

  /** Has a turn resumed in a later round. */
  wait(turn: Turn): void {
    if (turn.isWaiting) return;
    turn.isWaiting = true;
    this.#waiting.push(turn);
    this.touch();
  }

  readonly #next = (): void => {
    const startMs = performance.now();
    this.#isDue = false;
    this.round++;
    for (let left = this.#waiting.length; left > 0; left--) {
      const turn = this.#waiting.shift()!;
      turn.isWaiting = false;
      turn.resumeAt(startMs);
      if (turn.isUnderWay || performance.now() - startMs > sliceMs) break;
    }
    if (this.#waiting.length > 0) this.touch();
  };
}

/** The turns of one connection. */
export class Turn {
  readonly #turns: Turns;
  readonly #resume: () => void;
  #round = -1;
  /** Since when it has begun handlers in that round, and how many have not answered. */
  #sinceMs = 0;
  #unanswered = 0;
  #burst = 1;
  isWaiting = false;

  /** @param resume called when it is this connection's turn again; nothing may be left to begin. */
  constructor(turns: Turns, resume: () => void) {
    this.#turns = turns;
    this.#resume = resume;
  }

  /** Whether a handler may begin now; if so, it has. Otherwise the turn is resumed in a later round. */
  take(): boolean {
    const { round } = this.#turns;
    const nowMs = performance.now();
    if (this.#round !== round) {
      this.#round = round;
      this.#sinceMs = nowMs;
      this.#unanswered = 0;
      this.#turns.touch();
    } else if (this.#unanswered >= this.#burst || nowMs - this.#sinceMs > sliceMs) {
      this.wait();
      return false;
    }
    this.#unanswered++;
    return true;
  }

  /** One of the handlers has answered. */
  answered(): void {
    if (this.#unanswered > 0) this.#unanswered--;
  }

  wait(): void {
    this.#turns.wait(this);
  }

  /** Whether a handler of this round has not answered. */
  get isUnderWay(): boolean {
    return this.#round === this.#turns.round && this.#unanswered > 0;
  }

  /** The turn comes, in the round that began at `nowMs`. */
  resumeAt(nowMs: number): void {
    this.#burst = nowMs - this.#sinceMs < sliceMs ? Math.min(this.#burst * 2, maxBurst) : 1;
    this.#resume();
  }
}
