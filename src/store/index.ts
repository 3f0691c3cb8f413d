/**
 * Storage: rows in one table per resource, on SQLite or PostgreSQL.
 *
 * This module knows SQL, and neither protobuf nor services nor callers. The body of a row is opaque bytes. Indexed
 * columns hold values that the caller derives from the body. No other module uses SQL or a database driver. Nothing
 * here waits for anything but the database.
 *
 * Guarantees, the same on every database, tested by test/databases:
 * - A transaction that `transact` has acknowledged is durable. One that failed has changed nothing, unless its error
 *   says that the outcome is unknown. A check and the write that relies on it hold together, if the transaction locks
 *   what it relies on, or is serializable.
 * - Errors are the same for every database: NotUniqueError, StaleError and ConflictError are about the transaction;
 *   UnavailableError, StatementTimeoutError and RefusedError are about the database. Anything else is a bug.
 * - Text compares by its bytes. No column is NULL. Times are integer microseconds since 1970.
 * - The cost of a page depends on its own rows, not on its position (keyset pagination). A row that is not modified
 *   while a list is paged through appears exactly once.
 * - Totals are exact. They are read from counters that the writing transaction maintains for every ancestor.
 * - Searches in sets and in text are exact and use an index, for pages and for totals. On PostgreSQL, that holds for
 *   search texts of three or more characters. An index is updated in the transaction of its row. Search text is never
 *   interpreted as query syntax.
 * - A subtree is a range of keys: a uid is a materialised path of printable ASCII characters above `/`.
 * - Several processes may use one SQLite file. A process that is killed loses nothing that it had acknowledged.
 *
 * Kysely builds the schema and compiles the statements; it runs none of them. Each shape of statement is compiled once,
 * and prepared by the driver. `sql/` has the statements' vocabulary and the interface of a dialect, `rows/` single
 * rows, `lists/` pages and totals, `logs/` logs, counters and queues, `snapshot/` exports and imports, `migrations/`
 * the schema, `engines/` all that differs between databases.
 */

export {
  copyDatabase,
  databasePath,
  holdDatabase,
  inspectCopy,
  isDatabaseInUse,
  unknownMigrations,
} from "./backup.ts";
export { type Database, type OpenOptions, openDatabase } from "./database.ts";
export { networkFileSystemOf, syncFolder } from "./engines/sqlite/file.ts";
export type { TableIndex } from "./lists/indexes.ts";
export { batchFor, keyComparison, merged, type PagePart, pageOf } from "./lists/merge.ts";
export type { Condition, ListQuery, OrderTerm, Selection } from "./lists/query.ts";
export type { CounterFault } from "./logs/counter-check.ts";
export type { LogEntry, LogScan, LogSpec } from "./logs/log.ts";
export type { Queue, Settlement } from "./logs/queue.ts";
export type { NewQueueEntry, QueueEntry, QueueKey, QueuePlace, QueueState } from "./logs/queue-entry.ts";
export type { ReadingCall } from "./long-queries.ts";
export type { MigrateOptions, PendingMigration } from "./migration.ts";
export type { ReadSession } from "./read-session.ts";
export { PackedRow } from "./rows/packed.ts";
export type { Row } from "./rows/record.ts";
export { columnsOf, columnValue, type TableSpec } from "./rows/row.ts";
export type { SnapshotProgress, TableEnd } from "./snapshot/format.ts";
export { importSetting } from "./snapshot/tables.ts";
export {
  ConflictError,
  DamagedError,
  NotUniqueError,
  OverloadError,
  RefusedError,
  StaleError,
  StatementTimeoutError,
  UnavailableError,
} from "./sql/errors.ts";
export type { ColumnType, ColumnValue, ScalarValue } from "./sql/indexed-column.ts";
export type { Subtree } from "./sql/subtree.ts";
export type { WriteSession } from "./write-session.ts";
