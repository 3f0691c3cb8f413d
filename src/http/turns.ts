/**
 * Fairness between those whom requests are about, their callers, and their connections. Nobody runs handlers for long
 * while others have data to read. Handlers that may not begin now wait until all data that was ready has been read.
 * Then the account with the least debt (`accounts.ts`) has the next turn, in it the next caller, and of that caller the
 * connection that began to wait first.
 *
 * A round is one iteration of the event loop. In a round a connection begins handlers for `sliceMs`. A handler that
 * does not answer at once may do all of its work in promises that run within the round, after that time was measured.
 * So a connection begins few such handlers in a round: one more whenever another has answered, and twice as many in the
 * next round if this one took less than `sliceMs`.
 *
 * A round with handlers of many connections ends after `roundMs`, so that probes, timers and new connections are served
 * in between; after `sharedRoundMs` where several accounts are in use. What has not waited goes first while the others
 * have waited for `patienceMs` at most, unless its account is in debt. A handler that takes long calls {@link
 * Turns.pause} between its steps, and goes on when it is its turn again.
 *
 * When an account has waited for longer than `maxWaitMs`, its requests that come are refused; when any has, those of
 * all accounts that have at least half of the largest debt. Refusing takes little of a round, however often refused
 * clients ask again; the requests to be refused wait for that, too, and are served if the others have been served
 * before.
 */
import { type Account, Accounts, type Payer, type Waiting } from "./accounts.ts";
import type { PayerSource } from "./payers.ts";

/** How long a connection begins handlers in one round. A handler that has begun is not interrupted. */
const sliceMs = 0.5;
/** How long handlers begin in one round, and where several accounts are in use. */
const roundMs = 5;
const sharedRoundMs = 1;
/** How long a handler has the loop before it pauses. */
const stepMs = 0.5;
/** How long requests are refused in one round. */
const refusalMs = 0.5;
/** How long those who wait let those go first that have not had a turn. */
const patienceMs = 20;
/** Maximum number of handlers that one connection begins in one round and that have not answered. */
const maxBurst = 16;
/**
 * How long nobody is resumed where all who wait are in debt and have handlers under way, unless one of these answers.
 */
const pauseMs = 5;

const everybody: Payer = { account: "everybody", caller: "", isKnown: true };

/** The rounds, and what waits for the next. */
export class Turns {
  /**
   * The number of the round. It changes once all data that was ready has been read, if {@link touch} was called in this
   * round.
   */
  round = 0;
  maxWaitMs: number;
  readonly payerOf: PayerSource;
  readonly accounts = new Accounts();
  /** The accounts of which something waits. Those with equal debts are served in this order. */
  readonly #queue: Account[] = [];
  #waiting = 0;
  /** Since when what has waited longest waits. */
  #waitsSinceMs = Number.POSITIVE_INFINITY;
  /** Connections whose requests came while they were to be refused. */
  readonly #refused: Turn[] = [];
  #isDue = false;
  #pause: NodeJS.Timeout | undefined;
  /** When the first handler of the round began; undefined before that. */
  #sinceMs: number | undefined;

  /** @param payerOf by default all requests have one payer. */
  constructor(maxWaitMs: number, payerOf: PayerSource = () => everybody) {
    this.maxWaitMs = maxWaitMs;
    this.payerOf = payerOf;
  }

  /** How many connections and handlers wait. */
  get waiting(): number {
    return this.#waiting + this.#refused.length;
  }

  /** How long what has waited longest has waited. */
  waitedMs(nowMs: number): number {
    return Math.max(0, nowMs - this.#waitsSinceMs);
  }

  /** Whether a handler of an account that has not had a turn may begin now. */
  hasTime(account: Account, nowMs: number): boolean {
    this.#sinceMs ??= nowMs;
    const limitMs = this.accounts.inUse > 1 ? sharedRoundMs : roundMs;
    return nowMs - this.#sinceMs <= limitMs && this.waitedMs(nowMs) <= patienceMs && !account.isInDebt;
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
    const account = this.accounts.of(turn.payer);
    if (turn.isResumed || !this.#isOverloaded(account, nowMs)) this.#enqueue(account, turn.payer, turn, false);
    else this.#refused.push(turn);
    this.touch();
  }

  /**
   * In the middle of a long handler: lets others have their turns. Resolves when it may go on; undefined if it has not
   * had the loop for long. A handler that has waited for a database, or for another handler, pauses if its account is
   * in debt; else it has the loop from now on.
   */
  pause(payer: Payer): Promise<void> | undefined {
    const nowMs = performance.now();
    const ms = this.accounts.hadMs(payer, nowMs);
    if (ms === undefined && !this.accounts.of(payer).isInDebt) {
      this.accounts.settle(nowMs);
      this.accounts.begin(payer, nowMs);
      this.touch();
      return undefined;
    }
    if (ms !== undefined && ms < stepMs) return undefined;
    return new Promise((resolve) => {
      const resumeAt = (nowMs: number) => {
        this.accounts.begin(payer, nowMs);
        resolve();
      };
      const waiting = { waitsSinceMs: performance.now(), isUnderWay: true, resumeAt };
      this.#enqueue(this.accounts.of(payer), payer, waiting, true);
      this.touch();
    });
  }

  /** Something of what waits may be resumed now that a handler has answered. */
  answered(): void {
    if (this.#waiting > 0) this.touch();
  }

  #enqueue(account: Account, payer: Payer, waiting: Waiting, isStep: boolean): void {
    if (account.waiting === 0) this.#queue.push(account);
    account.add(payer, waiting, isStep);
    this.#waiting++;
    this.#waitsSinceMs = Math.min(this.#waitsSinceMs, waiting.waitsSinceMs);
  }

  #isOverloaded(account: Account, nowMs: number): boolean {
    if (nowMs - account.waitsSinceMs > this.maxWaitMs) return true;
    if (this.waitedMs(nowMs) <= this.maxWaitMs) return false;
    const largest = this.#queue.reduce((most, { debtMs }) => Math.max(most, debtMs), 0);
    return account.debtMs >= largest / 2;
  }

  readonly #next = (): void => {
    const startMs = performance.now();
    this.accounts.settle(startMs);
    this.#isDue = false;
    this.#sinceMs = undefined;
    this.round++;
    const isLate = this.accounts.inUse === 1 && this.waitedMs(startMs) > patienceMs;
    const budgetMs = isLate ? roundMs : sliceMs;
    let hasMore = this.#waiting > 0;
    for (let left = this.#waiting; left > 0; left--) {
      const next = this.#takeNext(startMs);
      if (next === undefined) {
        hasMore = false;
        break;
      }
      next.resumeAt(performance.now());
      if (next.isUnderWay) break;
      const nowMs = performance.now();
      this.accounts.settle(nowMs);
      if (nowMs - startMs > budgetMs) break;
    }
    this.#waitsSinceMs = this.#queue.reduce((least, { waitsSinceMs }) => Math.min(least, waitsSinceMs), Infinity);
    if (this.#refused.length > 0) this.#refuse();
    if (this.#waiting === 0) return;
    if (hasMore) this.touch();
    else this.#pause ??= setTimeout(this.#endPause, pauseMs);
  };

  readonly #endPause = (): void => {
    this.#pause = undefined;
    this.touch();
  };

  /** Removes and returns what is next of the account with the least debt; undefined if nothing may be resumed. */
  #takeNext(nowMs: number): Waiting | undefined {
    let at = -1;
    let leastMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#queue.length; i++) {
      const account = this.#queue[i]!;
      const { debtMs } = account;
      if (debtMs >= leastMs || !account.mayResume(nowMs)) continue;
      at = i;
      leastMs = debtMs;
      if (debtMs === 0) break;
    }
    if (at < 0) return undefined;
    const [account] = this.#queue.splice(at, 1) as [Account];
    const next = account.next();
    this.#waiting--;
    if (account.waiting > 0) this.#queue.push(account);
    return next;
  }

  /** Refuses some of what is to be refused, or lets it wait for its turn, if nothing else does. */
  #refuse(): void {
    if (this.#waiting === 0) {
      for (const turn of this.#refused.splice(0)) this.#enqueue(this.accounts.of(turn.payer), turn.payer, turn, false);
      this.touch();
      return;
    }
    const startMs = performance.now();
    while (this.#refused.length > 0 && performance.now() - startMs <= refusalMs) this.#refused.shift()!.refuse();
  }
}

/** The turns of one connection, for requests of one payer at a time. */
export class Turn implements Waiting {
  readonly #turns: Turns;
  readonly #resume: () => void;
  /** Whom the next request counts against. */
  payer: Payer;
  /** The account of the handlers that have not answered, and how many they are. */
  #account: Account;
  #underWay = 0;
  #round = -1;
  /** When it began its first handler in that round, and how many handlers of that round have not answered. */
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
  constructor(turns: Turns, payer: Payer, resume: () => void) {
    this.#turns = turns;
    this.payer = payer;
    this.#account = turns.accounts.of(payer);
    this.#resume = resume;
  }

  /** Whether a handler may begin now; if so, it counts as begun. Otherwise the turn is resumed in a later round. */
  take(nowMs = performance.now()): boolean {
    const { round, accounts } = this.#turns;
    accounts.settle(nowMs);
    const account = accounts.of(this.payer);
    if (!this.isResumed && !this.#turns.hasTime(account, nowMs)) {
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
    this.#move(account, 1);
    account.use(nowMs);
    accounts.begin(this.payer, nowMs);
    return true;
  }

  /** Counts the handlers that have not answered, and `more`, for an account. */
  #move(account: Account, more: number): void {
    this.#account.underWay -= this.#underWay;
    this.#underWay += more;
    account.underWay += this.#underWay;
    this.#account = account;
  }

  /** Counts an answer. */
  answered(): void {
    if (this.#unanswered > 0) this.#unanswered--;
    if (this.#underWay > 0) this.#move(this.#account, -1);
    this.#turns.answered();
  }

  /** The connection has closed, or another has taken it over: no handler that has begun will answer. */
  end(): void {
    this.#move(this.#account, -this.#underWay);
    this.#turns.answered();
  }

  /** Whether no handler is under way, and nothing waits. */
  get isIdle(): boolean {
    return this.#underWay === 0 && !this.isWaiting;
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
