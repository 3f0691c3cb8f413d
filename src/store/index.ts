/**
 * The storage room: rows with a spine and facets, in one table per resource, on SQLite or PostgreSQL.
 *
 * It knows SQL and nothing else: no protobuf, no service, no caller. A body is bytes to it, a facet a value that someone derived from them.
 * It is the only room where SQL, dialects and drivers appear. It never waits for anything but the database.
 *
 * Promises, the same on every database and held by test/contract:
 * - What `transact` has answered is durable; what it has refused left nothing. A check and the write that relies on it hold together.
 * - Neutral errors: NotUniqueError, StaleError and ConflictError about the work; UnavailableError, StatementTimeoutError and RefusedError about the
 *   database. Anything else is a bug.
 * - Text compares by its bytes. No column is NULL. Instants are integer microseconds since 1970.
 * - A page costs what its rows cost, wherever it is (keyset), and rows written between two pages neither repeat nor hide one that stays.
 * - Totals are exact, and read from counters that the writing transaction keeps for every ancestor.
 * - What a set of texts has, and which text is part of a search text, is answered exactly and by an index, as a page and as a total (on PostgreSQL,
 *   where another process reads, from three characters on); an index never lags behind its rows. No text is taken for the language of an index.
 * - Subtrees are key ranges: uids are materialised paths of printable ASCII above `/`.
 * - Several processes may use one SQLite file; a process killed at any moment loses nothing that was acknowledged.
 *
 * Kysely builds the schema and compiles the statements; it runs none of them. Each shape of statement is compiled once and run by the driver,
 * prepared. `dialect/` holds all that differs between databases, `migrations/` the schema.
 */
export { type Database, type OpenOptions, openDatabase } from "./database.ts";
export {
  ConflictError,
  NotUniqueError,
  RefusedError,
  StaleError,
  StatementTimeoutError,
  UnavailableError,
} from "./errors.ts";
export type { FacetType, FacetValue, ScalarValue } from "./facet.ts";
export type { LogEntry, LogScan, LogSpec } from "./log.ts";
export { PackedRow } from "./packed.ts";
export type {
  LeaseRequest,
  NewQueueEntry,
  Queue,
  QueueEntry,
  QueueKey,
  QueuePlace,
  QueueState,
  Settlement,
} from "./queue.ts";
export type { ReadSession } from "./read-session.ts";
export { columnValue, type Row, type TableSpec } from "./row.ts";
export type { Condition, ListQuery, OrderTerm, Selection } from "./selection.ts";
export type { Subtree } from "./subtree.ts";
export type { WriteSession } from "./write-session.ts";
