/** The interface of a migration, and how migrations are run. */
import type { CompiledQuery, OperationNodeSource, QueryExecutorProvider } from "kysely";
import type { Dialect } from "./sql/dialect.ts";
import type { SqlConnection } from "./sql/statement.ts";

/** One step of the schema. It never changes once released. */
export interface Migration {
  /** Its number in the order and its subject, as in `0001-foundation`. */
  readonly name: string;
  /** What it makes others wait for, and what its duration depends on; printed before it runs. */
  readonly locks: string;
  /** Of one that adds columns: what they are in the rows that exist, and what fills them if that is not the default. */
  readonly storedRows?: string;
  /** The statements of the step, in order. */
  statements(
    dialect: Dialect,
  ): readonly (OperationNodeSource & { compile(builder: QueryExecutorProvider): CompiledQuery })[];
  /** Runs after the statements and changes rows where SQL cannot: by values that only their messages have. */
  fill?(connection: SqlConnection, dialect: Dialect): Promise<void>;
}

/**
 * The migrations of one release, in two phases. Each release knows the schema of the one before with and without its
 * `finish`, so that servers are upgraded, and rolled back, one after the other.
 */
export interface Release {
  /**
   * They only add: tables, indexes, columns that have a default. Programs of the release before work on, and rows that
   * they write have the default. `additions.test.ts` checks it.
   */
  readonly steps: readonly Migration[];
  /**
   * What programs of the release before cannot work with. They run by `migrate` of a later release, or when the
   * operator says that none of those programs is left. A release that has some has steps, too.
   */
  readonly finish: readonly Migration[];
}

/** A migration that is missing: its name and what it locks. */
export type PendingMigration = Pick<Migration, "name" | "locks">;

/** Called when a migration has run, before it is committed. */
export type OnMigrated = (migration: PendingMigration, durationMs: number) => void;

/** How far the missing migrations are. */
export interface MigrationProgress {
  /** The migration that runs. */
  readonly name: string;
  /** Its place among those that run, from 1, and how many they are. */
  readonly number: number;
  readonly count: number;
  /** Which of its statements runs, from 1, and how many they are. The last one may be a program's. */
  readonly statement: number;
  readonly statements: number;
}

/** How to migrate. */
export interface MigrateOptions {
  /** Also runs what programs of the release before cannot work with. They stop first, since they look for it. */
  readonly finish?: boolean;
  /** Only makes the tables of a database that has none, and leaves any other as it is. */
  readonly onlyIfEmpty?: boolean;
  /** Called when a statement begins. */
  onProgress?(progress: MigrationProgress): void;
  /** Called when migrations wait until servers of the release before have stopped taking calls. */
  onWait?(ms: number): void;
  /** Ends the migration under way, which then has changed nothing. Only where it has a thread. */
  readonly signal?: AbortSignal | undefined;
}
