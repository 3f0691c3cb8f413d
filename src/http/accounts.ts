/**
 * What the time of the event loop is charged to. Each request has a payer: the organisation that its call is about, or
 * its caller, or its address. An account that has used more than its share of the time is in debt. Its share is that of
 * the accounts in use, each the same, and all of the time that the loop is idle: only where the loop is busy is anybody
 * in debt.
 *
 * A handler is charged from its beginning until another begins or the round ends, so with what its promises do at once.
 * What the loop does later, for handlers that wait for a database, is charged to the accounts of all handlers under
 * way.
 */
import { FairQueue, type WorkPayer } from "../fairness/index.ts";

/** Whom the work of a request counts against. The account changes when the server learns whom a call is about. */
export interface Payer extends WorkPayer {
  /** Whether the token of the request is known, so that all requests with it have this payer. */
  readonly isKnown?: boolean;
}

/** What waits for the turn of its account. */
export interface Waiting {
  /** Since when it waits. */
  waitsSinceMs: number;
  /** Whether a handler that it has resumed in this round has not answered. */
  readonly isUnderWay: boolean;
  /** Resumes it, in the round that began at `nowMs`. */
  resumeAt(nowMs: number): void;
}

/** The processor time is asked for where a handler has taken as long. */
const longMs = 2;
/** How often debts are reckoned. */
const reckonMs = 20;
/** An account is in use for so long after its last handler began. */
const inUseMs = 2_000;
/** Smaller debts are those of a caller that has made a large call. */
const smallDebtMs = 5;
/** A larger debt is not remembered: when the loop is less busy, it is soon forgiven. */
const maxDebtMs = 500;
/**
 * How much of the loop the handlers under way of an account in debt may need, if there are more than `fewUnderWay`: as
 * many keep a database busy.
 */
const maxUnderWayMs = 4;
const fewUnderWay = 16;
/** It may begin one in this time however many are under way: these may be streams, or wait for their bodies. */
const beginMs = 5;
/** At most so many are charged for what the loop does later. */
const maxCharged = 8;
/** The average time of a handler is that of as many. */
const maxBegun = 64;

/** One account. */
export class Account {
  readonly name: string;
  readonly #accounts: Accounts;
  /** Its debt when it was last charged, and what had been forgiven by then. */
  #debtMs = 0;
  #forgivenMs: number;
  /** Handlers that have begun and not answered. */
  underWay = 0;
  /** When a handler last began. */
  usedMs = Number.NEGATIVE_INFINITY;
  /** What has been charged, and how many handlers have begun, of late: both are halved at times. */
  #chargedMs = 0;
  #begun = 0;
  /** What waits, in its order; of it, the next steps of handlers that have begun, and what is to begin. */
  readonly #waiting = new Set<Waiting>();
  readonly #steps = new FairQueue<Waiting>();
  readonly #turns = new FairQueue<Waiting>();

  constructor(accounts: Accounts, name: string) {
    this.#accounts = accounts;
    this.name = name;
    this.#forgivenMs = accounts.forgivenMs;
  }

  /** How much more than its share of the loop it has used, in milliseconds. */
  get debtMs(): number {
    return Math.max(0, this.#debtMs - (this.#accounts.forgivenMs - this.#forgivenMs));
  }

  /** Whether it has to let the others go first. */
  get isInDebt(): boolean {
    return this.#accounts.inUse > 1 && this.debtMs > smallDebtMs;
  }

  charge(ms: number): void {
    this.#debtMs = Math.min(this.debtMs + ms, maxDebtMs);
    this.#forgivenMs = this.#accounts.forgivenMs;
    this.#chargedMs += ms;
  }

  /** A handler begins. */
  use(nowMs: number): void {
    this.usedMs = nowMs;
    if (++this.#begun < maxBegun) return;
    this.#begun /= 2;
    this.#chargedMs /= 2;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Since when what has waited longest waits; infinity if nothing does. */
  get waitsSinceMs(): number {
    for (const first of this.#waiting) return first.waitsSinceMs;
    return Number.POSITIVE_INFINITY;
  }

  /** Whether anything of what waits may be resumed now. */
  mayResume(nowMs: number): boolean {
    if (this.#steps.size > 0) return true;
    return this.#turns.size > 0 && (this.#hasFewUnderWay || nowMs - this.usedMs > beginMs || !this.isInDebt);
  }

  get #hasFewUnderWay(): boolean {
    return this.underWay < fewUnderWay || (this.underWay * this.#chargedMs) / this.#begun < maxUnderWayMs;
  }

  add(payer: Payer, waiting: Waiting, isStep: boolean): void {
    this.#waiting.add(waiting);
    (isStep ? this.#steps : this.#turns).add(payer, waiting);
  }

  /** Removes and returns what is next; undefined if nothing waits. */
  next(): Waiting | undefined {
    const next = this.#steps.shift() ?? this.#turns.shift();
    if (next !== undefined) this.#waiting.delete(next);
    return next;
  }
}

/** All accounts that were used recently. */
export class Accounts {
  readonly #all = new Map<string, Account>();
  /** How many were used recently. */
  inUse = 1;
  /** How much debt each account has been forgiven since the start. */
  forgivenMs = 0;
  /** Whom the time since {@link #sinceMs} is charged to. */
  #charged: Payer | undefined;
  #sinceMs = 0;
  /**
   * When debts were reckoned, what the thread had used and how long the loop had been idle by then, and what has been
   * charged since.
   */
  #reckonedMs = performance.now();
  #cpuMs = threadCpuMs();
  #idleMs = performance.eventLoopUtilization().idle;
  #chargedMs = 0;

  of({ account: name }: Payer): Account {
    let account = this.#all.get(name);
    if (account === undefined) {
      account = new Account(this, name);
      this.#all.set(name, account);
    }
    return account;
  }

  /** From now on, the time is charged to this payer. */
  begin(payer: Payer, nowMs: number): void {
    this.#charged = payer;
    this.#sinceMs = nowMs;
  }

  /** How long the time has been charged to this payer; undefined if it is not. */
  hadMs(payer: Payer, nowMs: number): number | undefined {
    return this.#charged === payer ? nowMs - this.#sinceMs : undefined;
  }

  /** Charges the time until now. The payer may have got another account meanwhile. */
  settle(nowMs: number): void {
    if (this.#charged !== undefined) {
      const wallMs = nowMs - this.#sinceMs;
      // Other processes may have had the processor meanwhile.
      const ms = wallMs < longMs ? wallMs : Math.min(wallMs, threadCpuMs() - this.#cpuMs);
      this.of(this.#charged).charge(ms);
      this.#chargedMs += ms;
      this.#charged = undefined;
    }
    if (nowMs - this.#reckonedMs >= reckonMs) this.#reckon(nowMs);
  }

  #reckon(nowMs: number): void {
    const { idle } = performance.eventLoopUtilization();
    const cpuMs = threadCpuMs();
    const usedMs = cpuMs - this.#cpuMs;
    const restMs = usedMs - this.#chargedMs;
    let underWay = 0;
    let inUse = 0;
    for (const [name, account] of this.#all) {
      underWay += Math.min(account.underWay, maxCharged);
      if (account.underWay > 0 || account.waiting > 0 || nowMs - account.usedMs < inUseMs) inUse++;
      else this.#all.delete(name);
    }
    this.inUse = Math.max(1, inUse);
    this.forgivenMs += idle - this.#idleMs + usedMs / this.inUse;
    if (restMs > 0 && underWay > 0)
      for (const account of this.#all.values())
        if (account.underWay > 0) account.charge((restMs * Math.min(account.underWay, maxCharged)) / underWay);
    this.#reckonedMs = nowMs;
    this.#cpuMs = cpuMs;
    this.#idleMs = idle;
    this.#chargedMs = 0;
  }
}

/** The processor time of this thread, in milliseconds. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
