/** What it takes to read a page. */
import type { Awaitable } from "../../awaitable.ts";
import type { CounterClass } from "../logs/counters.ts";
import type { LongQueryConnection } from "../long-queries.ts";
import type { SqlConnection } from "../sql/statement.ts";
import type { Order } from "./order.ts";
import type { Table } from "./table.ts";

/** What reading needs: a table, the connections, and the counters of the table. */
export interface Reading {
  readonly table: Table;
  readonly connection: SqlConnection;
  /** Runs statements that may take long; absent where all of them run on `connection`. */
  readonly longQueries: LongQueryConnection | undefined;
  /** The sum of the counters of distinct ancestors. */
  total(counterClass: CounterClass, ancestors: readonly string[]): Awaitable<number>;
}

/** A page of rows in an order. */
export interface Page {
  readonly order: Order;
  readonly skip: number;
  readonly limit: number;
  /** The indexed columns to read. */
  readonly columns: readonly string[];
}
