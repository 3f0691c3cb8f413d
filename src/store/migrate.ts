/**
 * Runs migrations: a numbered list, the same for every database, each run once and recorded. Processes exclude each
 * other, so many may start at once. The migrations from before releases had phases run in a single transaction, as do
 * all of an empty database. Each later one has a transaction of its own, which waits only briefly for locks, since
 * programs of the release before may be at work.
 */

import { setTimeout } from "node:timers/promises";
import { CreateIndexNode } from "kysely";
import type { Engine } from "./engines/engine.ts";
import { migrateOnThread } from "./migrate-on-thread.ts";
import type { MigrateOptions, Migration, OnMigrated, PendingMigration, Release } from "./migration.ts";
import { releases } from "./migrations/index.ts";
import { announceFinish, readSchema, recordMigration, type SchemaState } from "./schema.ts";
import { ConflictError, RefusedError, UnavailableError } from "./sql/errors.ts";
import { keyedTable } from "./sql/resource-table.ts";
import { compile, type SqlConnection } from "./sql/statement.ts";

/**
 * How long servers of the release before take, at most, to see what is announced, and to end their calls: they look
 * every 5 s.
 */
const finishWaitMs = 15_000;
/** How long a migration beside running programs waits for locks before it lets others go first, and for how long. */
const lockWaitMs = 2000;
const lockPauseMs = 1000;
const maxLockTries = 300;

/**
 * Runs the missing migrations and returns how many. Errors: RefusedError when the database is newer than this program
 * or a migration fails.
 */
export async function migrate(engine: Engine, onMigrated?: OnMigrated, options: MigrateOptions = {}): Promise<number> {
  engine.refresh?.();
  const { applied, pending, unfinished } = await readSchema(engine.dialect, engine.reader);
  if (pending.length === 0 && (unfinished.length === 0 || !options.finish)) return 0;
  if (options.onlyIfEmpty && applied.size > 0) return 0;
  const { file } = engine.stats;
  // To make the tables takes less time than to start a thread.
  if (file !== undefined && applied.size > 0) return migrateOnThread(file.path, onMigrated, options);
  return migrateHere(engine, onMigrated, options);
}

/** The same, on this thread. */
export async function migrateHere(engine: Engine, onMigrated?: OnMigrated, options: MigrateOptions = {}) {
  const run = new Run(engine, onMigrated, options);
  return (await run.together()) + (await run.oneByOne());
}

/** One run of the missing migrations. */
class Run {
  readonly #engine: Engine;
  readonly #onMigrated: OnMigrated | undefined;
  readonly #options: MigrateOptions;
  #done = 0;

  constructor(engine: Engine, onMigrated: OnMigrated | undefined, options: MigrateOptions) {
    this.#engine = engine;
    this.#onMigrated = onMigrated;
    this.#options = options;
  }

  /** Runs those of an empty database, or from before phases, in one transaction. Returns how many. */
  together(): Promise<number> {
    const { dialect, exclusively } = this.#engine;
    const create = keyedTable(dialect, "migrations", { name: "text" }, ["name"]).ifNotExists();
    return exclusively(async (connection) => {
      if (this.#options.onlyIfEmpty && !(await hasNoTables(this.#engine, connection))) return 0;
      await connection.run(compile(dialect.query, create), {});
      const state = await readSchema(dialect, connection);
      const all = this.#wanted(state);
      const now = state.applied.size === 0 ? all : all.filter((migration) => releases[0]!.steps.includes(migration));
      for (const migration of now) await this.#runOne(connection, migration, all.length);
      return now.length;
    });
  }

  /** Runs the others. Returns how many. */
  async oneByOne(): Promise<number> {
    if (this.#options.onlyIfEmpty) return 0;
    const { dialect, reader } = this.#engine;
    const missing = this.#wanted(await readSchema(dialect, reader));
    const count = this.#done + missing.length;
    let ran = 0;
    for (const migration of missing) {
      const release = releaseOf(migration);
      if (release.finish[0] === migration) await this.#stopOlderPrograms(release);
      if (await this.#runWhenUnlocked(migration, count)) ran++;
    }
    return ran;
  }

  #wanted({ pending, unfinished }: SchemaState): readonly Migration[] {
    return this.#options.finish ? [...pending, ...unfinished] : pending;
  }

  async #stopOlderPrograms(release: Release): Promise<void> {
    const { dialect, exclusively } = this.#engine;
    await exclusively((connection) => announceFinish(dialect, connection, release));
    this.#options.onWait?.(finishWaitMs);
    await setTimeout(finishWaitMs);
  }

  /** Runs a migration beside programs that are at work. False when another process has done it. */
  async #runWhenUnlocked(migration: Migration, count: number): Promise<boolean> {
    const { dialect, exclusively } = this.#engine;
    for (let triesLeft = maxLockTries; ; triesLeft--) {
      const startMs = performance.now();
      try {
        const isBuilt = await this.#buildIndexes(migration, count);
        return await exclusively(
          async (connection) => {
            if ((await readSchema(dialect, connection)).applied.has(migration.name)) return false;
            if (isBuilt) await this.#record(connection, migration, startMs);
            else await this.#runOne(connection, migration, count);
            return true;
          },
          { lockWaitMs },
        );
      } catch (error) {
        if (!(error instanceof ConflictError) || triesLeft === 0) throw error;
      }
      await setTimeout(lockPauseMs);
    }
  }

  /** Does what a migration does that only builds indexes, while others write. False if it does something else. */
  async #buildIndexes(migration: Migration, count: number): Promise<boolean> {
    const { dialect, buildIndex } = this.#engine;
    const statements = migration.statements(dialect);
    const indexes = statements.map((statement) => statement.toOperationNode()).filter(isPlainIndex);
    if (buildIndex === undefined || indexes.length < statements.length || migration.fill !== undefined) return false;
    for (const [i, { name, table }] of indexes.entries()) {
      this.#begin(migration, count, i + 1);
      const { text } = compile(dialect.query, statements[i]!);
      await explained(migration, () => buildIndex(table!.table.identifier.name, name.name, text));
    }
    return true;
  }

  async #runOne(connection: SqlConnection, migration: Migration, count: number): Promise<void> {
    const startMs = performance.now();
    const { dialect } = this.#engine;
    const statements = migration.statements(dialect);
    await explained(migration, async () => {
      for (const [i, statement] of statements.entries()) {
        this.#begin(migration, count, i + 1);
        await connection.run(compile(dialect.query, statement), {});
      }
      if (migration.fill === undefined) return;
      this.#begin(migration, count, statements.length + 1);
      await migration.fill(connection, dialect);
    });
    await this.#record(connection, migration, startMs);
  }

  #begin({ name, statements, fill }: Migration, count: number, statement: number): void {
    const { length } = statements(this.#engine.dialect);
    const place = { number: this.#done + 1, count, statement, statements: fill === undefined ? length : length + 1 };
    this.#options.onProgress?.({ name, ...place });
  }

  async #record(connection: SqlConnection, migration: Migration, startMs: number): Promise<void> {
    await recordMigration(this.#engine.dialect, connection, releaseOf(migration), migration);
    this.#done++;
    this.#onMigrated?.(migration, performance.now() - startMs);
  }
}

/** Names the migration in an error: on PostgreSQL, one may need an extension that the user may not create. */
async function explained(migration: Migration, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ConflictError || error instanceof UnavailableError || !(error instanceof Error)) throw error;
    throw new RefusedError(`migration ${migration.name}: ${error.message}`, { cause: error });
  }
}

function isPlainIndex(node: object): node is CreateIndexNode {
  return CreateIndexNode.is(node as CreateIndexNode) && !(node as CreateIndexNode).unique;
}

function releaseOf(migration: Migration): Release {
  return releases.find(({ steps, finish }) => steps.includes(migration) || finish.includes(migration))!;
}

/** Whether there is no table but those that migrations make first. */
async function hasNoTables({ dialect }: Engine, connection: SqlConnection): Promise<boolean> {
  const rows = await connection.rows(compile(dialect.query, dialect.columns), {});
  return rows.every(([table]) => table === "migration_lock");
}

/** Returns the missing migrations, in order. Errors: RefusedError when the database is newer than this program. */
export async function pendingMigrations({ dialect, reader }: Engine): Promise<readonly PendingMigration[]> {
  return (await readSchema(dialect, reader)).pending;
}

/** Returns those that wait until no program of the release before is left. Errors: as {@link pendingMigrations}. */
export async function unfinishedMigrations({ dialect, reader }: Engine): Promise<readonly PendingMigration[]> {
  return (await readSchema(dialect, reader)).unfinished;
}
