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
 * is overloaded: requests that come are refused. Refusing takes little of a round, however often refused clients ask
 * again; the requests to be refused wait for that, too, and are served if the others have been served before.
 */

/** How long a connection begins handlers in one round. A handler that has begun is not interrupted. */
const sliceMs = 0.5;
/** How long handlers begin in one round. */
const roundMs = 5;
/** How long requests are refused in one round. */
const refusalMs = 0.5;
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
  maxWaitMs: number;
  readonly #waiting: Turn[] = [];
  /** Connections whose requests came while the port was overloaded. */
  readonly #refused: Turn[] = [];
  #isDue = false;
  /** When the first handler of the round began; undefined before that. */
  #sinceMs: number | undefined;

  constructor(maxWaitMs: number) {
    this.maxWaitMs = maxWaitMs;
  }

  /** How many connections wait. */
  get waiting(): number {
    return this.#waiting.length + this.#refused.length;
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
    const nowMs = performance.now();
    turn.isWaiting = true;
    turn.waitsSinceMs = nowMs;
    (turn.isResumed || this.waitedMs(nowMs) <= this.maxWaitMs ? this.#waiting : this.#refused).push(turn);
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
      turn.resumeAt(startMs);
      if (turn.isUnderWay || performance.now() - startMs > budgetMs) break;
    }
    if (this.#refused.length > 0) this.#refuse();
    if (this.#waiting.length > 0) this.touch();
  };

  /** Refuses some of what is to be refused, or lets it wait for its turn, if nothing else does. */
  #refuse(): void {
    if (this.#waiting.length === 0) {
      for (const turn of this.#refused.splice(0)) this.#waiting.push(turn);
      return;
    }
    const startMs = performance.now();
    while (this.#refused.length > 0 && performance.now() - startMs <= refusalMs) this.#refused.shift()!.refuse();
  }
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
  /** Whether it is being resumed. */
  isResumed = false;
  /** Whether it is being resumed to refuse the requests that wait, without taking a turn. */
  isRefused = false;

  /** @param resume called when it is this connection's turn again, also if no handler is left to begin. */
  constructor(turns: Turns, resume: () => void) {
    this.#turns = turns;
    this.#resume = resume;
  }

  /** Whether a handler may begin now; if so, it counts as begun. Otherwise the turn is resumed in a later round. */
  take(): boolean {
    const { round } = this.#turns;
    const nowMs = performance.now();
    if (!this.isResumed && !this.#turns.hasTime(nowMs)) {
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
    this.isWaiting = false;
    this.isResumed = true;
    this.#resume();
    this.isResumed = false;
  }

  /** Resumes the turn to refuse what waits. */
  refuse(): void {
    this.isWaiting = false;
    this.isRefused = true;
    this.#resume();
    this.isRefused = false;
  }
}
