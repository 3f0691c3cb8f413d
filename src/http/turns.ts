/**
 * Fairness between connections. No connection runs handlers for long while others have data to read. Handlers that may
 * not begin now wait until all data that was ready has been read, and until connections that began to wait earlier have
 * had their turn.
 *
 * A round is one iteration of the event loop. In a round a connection begins handlers for `sliceMs`. A handler that
 * does not answer at once may do all of its work in promises that run within the round, after that time was measured.
 * So a connection begins few such handlers in a round: one more whenever another has answered, and twice as many in the
 * next round if this one took less than `sliceMs`.
 *
 * A round with handlers of many connections ends after `roundMs`, so that probes, timers and new connections are served
 * in between. A connection that has not had a turn yet goes first while the others have waited for `patienceMs` at most;
 * after that all are served in the order in which they began to wait. When that takes longer than `maxWaitMs`, the port
 * is overloaded: requests that come are refused, until the wait is short again.
 */

/** How long a connection begins handlers in one round. A handler that has begun is not interrupted. */
const sliceMs = 0.5;
/** How long handlers begin in one round. */
const roundMs = 5;
/** How long connections that wait let those go first that have not had a turn. */
const patienceMs = 20;
/** Maximum number of handlers that one connection begins in one round and that have not answered. */
const maxBurst = 16;

/** The rounds, and the connections that wait for the next. */
export class Turns {
  /**
   * The number of the round. It changes once all data that was ready has been read, if {@link touch} was called in this
   * round.
   */
  round = 0;
  readonly maxWaitMs: number;
  readonly #waiting: Turn[] = [];
  #isDue = false;
  /** When the first handler of the round began; undefined before that. */
  #sinceMs: number | undefined;

  constructor(maxWaitMs: number) {
    this.maxWaitMs = maxWaitMs;
  }

  /** How long the connection has waited that has waited longest. */
  waitedMs(nowMs: number): number {
    const first = this.#waiting[0];
    return first === undefined ? 0 : nowMs - first.waitsSinceMs;
  }

  /** Whether connections that have not had a turn may begin handlers now. */
  hasTime(nowMs: number): boolean {
    this.#sinceMs ??= nowMs;
    return nowMs - this.#sinceMs <= roundMs && this.waitedMs(nowMs) <= patienceMs;
  }

  /** Schedules the end of this round. */
  touch(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#next);
  }

  /** Resumes a turn in a later round. */
  wait(turn: Turn): void {
    if (turn.isWaiting) return;
    turn.isWaiting = true;
    turn.waitsSinceMs = performance.now();
    this.#waiting.push(turn);
    this.touch();
  }

  readonly #next = (): void => {
    const startMs = performance.now();
    this.#isDue = false;
    this.#sinceMs = undefined;
    this.round++;
    const budgetMs = this.waitedMs(startMs) > patienceMs ? roundMs : sliceMs;
    for (let left = this.#waiting.length; left > 0; left--) {
      const turn = this.#waiting.shift()!;
      turn.isWaiting = false;
      turn.resumeAt(startMs);
      if (turn.isUnderWay || performance.now() - startMs > budgetMs) break;
    }
    if (this.#waiting.length > 0) this.touch();
  };
}

/** The turns of one connection. */
export class Turn {
  readonly #turns: Turns;
  readonly #resume: () => void;
  #round = -1;
  /** When it began its first handler in that round, and how many handlers have not answered. */
  #sinceMs = 0;
  #unanswered = 0;
  #burst = 1;
  isWaiting = false;
  waitsSinceMs = 0;
  #isResumed = false;

  /** @param resume called when it is this connection's turn again, also if no handler is left to begin. */
  constructor(turns: Turns, resume: () => void) {
    this.#turns = turns;
    this.#resume = resume;
  }

  /** Whether a request that has just come is to be refused at once. */
  get isOverloaded(): boolean {
    const { maxWaitMs } = this.#turns;
    return !this.#isResumed && !this.isWaiting && this.#turns.waitedMs(performance.now()) > maxWaitMs;
  }

  /** Whether a handler may begin now; if so, it counts as begun. Otherwise the turn is resumed in a later round. */
  take(): boolean {
    const { round } = this.#turns;
    const nowMs = performance.now();
    if (!this.#isResumed && !this.#turns.hasTime(nowMs)) {
      this.wait();
      return false;
    }
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

  /** Counts an answer. */
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

  /** Resumes the turn, in the round that began at `nowMs`. */
  resumeAt(nowMs: number): void {
    this.#burst = nowMs - this.#sinceMs < sliceMs ? Math.min(this.#burst * 2, maxBurst) : 1;
    this.#isResumed = true;
    this.#resume();
    this.#isResumed = false;
  }
}
