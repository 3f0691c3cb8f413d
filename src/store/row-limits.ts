/**
 * Limits of what an organisation can have: rows of tables that name a quota, and their bytes. They hold for whatever
 * inserts, whichever way a call comes. A transaction is compared with the counters as they are committed. These are
 * read beside it, from its first insert on: reading them within it would be one more round trip, and on PostgreSQL it
 * would make serializable transactions conflict. So a limit may be exceeded by as much as is added at the same time.
 */
import { type Awaitable, chain } from "../awaitable.ts";
import { rootOf } from "../uid.ts";
import type { Counters } from "./logs/counters.ts";
import type { TableSpec } from "./rows/row.ts";

/** The limits. */
export interface RowLimits {
  /** The most that an organisation can have of a quota; Infinity for no limit. Read for every transaction. */
  limitOf(quota: string): number;
  /** The error of a transaction that exceeds it. */
  excess(quota: string, organisation: string, limit: number): Error;
}

/** What of a table is limited: how many rows there are below an organisation, or how many bytes they have. */
type Measure = "below" | "bytes";

/** Reads a committed counter of an organisation. */
export type ReadTotal = (table: string, measure: Measure, organisation: string) => Awaitable<number>;

/** What a transaction adds to a limited table in an organisation. */
interface Addition {
  readonly quota: string;
  readonly limit: number;
  readonly table: string;
  readonly measure: Measure;
  readonly organisation: string;
  readonly before: Awaitable<number>;
}

/** What one run of a transaction adds. */
export class Additions {
  readonly #limits: RowLimits;
  readonly #read: ReadTotal;
  readonly #counters: Counters;
  readonly #noted = new Map<string, Addition | undefined>();

  constructor(limits: RowLimits, read: ReadTotal, counters: Counters) {
    this.#limits = limits;
    this.#read = read;
    this.#counters = counters;
  }

  /** Notes that a row is inserted or enlarged. */
  note({ name, quota, byteQuota }: TableSpec, uid: string): void {
    const organisation = rootOf(uid);
    if (organisation === uid) return; // it is the organisation itself, or belongs to none
    if (quota !== undefined) this.#note(quota, name, "below", organisation);
    if (byteQuota !== undefined) this.#note(byteQuota, name, "bytes", organisation);
  }

  #note(quota: string, table: string, measure: Measure, organisation: string): void {
    const key = `${organisation} ${quota}`;
    if (this.#noted.has(key)) return;
    const limit = this.#limits.limitOf(quota);
    if (limit === Number.POSITIVE_INFINITY) return void this.#noted.set(key, undefined);
    const before = this.#read(table, measure, organisation);
    if (before instanceof Promise) before.catch(() => {}); // the transaction may end without it
    this.#noted.set(key, { quota, limit, table, measure, organisation, before });
  }

  /** Errors: that of a limit which the transaction exceeds. One that adds nothing may stay above it. */
  async check(): Promise<void> {
    for (const addition of this.#noted.values()) {
      if (addition === undefined) continue;
      const { quota, limit, table, measure, organisation, before } = addition;
      const added = this.#counters.added(table, measure, organisation);
      if (added <= 0) continue;
      await chain(before, (count) => {
        if (count + added > limit) throw this.#limits.excess(quota, organisation, limit);
      });
    }
  }
}
