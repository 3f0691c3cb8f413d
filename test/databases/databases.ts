/** Runs a suite on every database, each test on a database of its own. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, inject } from "vitest";
import { type Database, type OpenOptions, openDatabase } from "../../src/store/index.ts";
import { campaign } from "../campaign.ts";
import { createCitus, hasCitus } from "./citus.ts";
import { copyPostgresql, copySqlite } from "./migrated.ts";
import "./postgres.ts";
import { runSql } from "./run-sql.ts";

/** A database that only one test uses, or one suite. */
export interface TestDatabase {
  readonly name: "sqlite" | "postgresql";
  /** Whether Citus distributes its tables. */
  readonly isDistributed: boolean;
  readonly url: string;
  /** Opens it, more than once if called again. It is closed after the test. */
  open(options?: OpenOptions): Promise<Database>;
  /** Runs SQL outside the store and returns the rows. */
  sql(text: string): Promise<Record<string, unknown>[]>;
}

type Suite = (database: () => TestDatabase) => void;

/** How long a database is there: for a test, or for the suite, whose tests keep apart themselves. */
export type Life = "test" | "suite";

/**
 * Declares a suite for every database, and for one on a Citus cluster where there is one. `database()` is the database
 * of the running test: it has the tables of this version, without rows.
 */
export function onEveryDatabase(title: string, suite: Suite, life: Life = "test"): void {
  declare(title, suite, true, life);
}

/** The same for a campaign that starts many processes: in short it runs on SQLite alone. */
export const onCampaignDatabases = campaign({ short: onSqlite, full: onEveryDatabase });

/** The same with databases that have no tables. */
export function onEveryEmptyDatabase(title: string, suite: Suite): void {
  declare(title, suite, false);
}

/** The same on PostgreSQL alone. */
export function onPostgres(title: string, suite: Suite): void {
  declareOnPostgres(title, suite, true);
}

function onSqlite(title: string, suite: Suite): void {
  declareOnSqlite(title, suite, true);
}

function declare(title: string, suite: Suite, isMigrated: boolean, life?: Life): void {
  declareOnSqlite(title, suite, isMigrated, life);
  declareOnPostgres(title, suite, isMigrated, life);
  if (hasCitus && isMigrated)
    describe(`${title} (citus)`, () =>
      suite(during(life, async () => ({ name: "postgresql", isDistributed: true, ...(await createCitus()) }))));
}

function declareOnSqlite(title: string, suite: Suite, isMigrated: boolean, life?: Life): void {
  describe(`${title} (sqlite)`, () => suite(during(life, () => createSqlite(isMigrated))));
}

function declareOnPostgres(title: string, suite: Suite, isMigrated: boolean, life?: Life): void {
  const postgres = inject("postgres") ?? { missing: "the databases project has no global set-up" };
  if ("url" in postgres)
    describe(`${title} (postgresql)`, () => suite(during(life, () => createPostgres(postgres.url, isMigrated))));
  else {
    console.warn(`${title} is not tested on PostgreSQL: ${postgres.missing}`);
    describe.skip(`${title} (postgresql, skipped: ${postgres.missing})`, () => suite(during(life, neverCreated)));
  }
}

/** The databases of suites that are skipped. */
async function neverCreated(): Promise<Place> {
  throw new Error("there is no PostgreSQL");
}

type Place = Pick<TestDatabase, "name" | "isDistributed" | "url" | "sql"> & { remove(): Promise<void> };

function during(life: Life = "test", create: () => Promise<Place>): () => TestDatabase {
  const [before, after] = life === "test" ? [beforeEach, afterEach] : [beforeAll, afterAll];
  let place: Place;
  let opened: Database[] = [];
  before(async () => {
    place = await create();
    opened = [];
  });
  after(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await place.remove();
  });
  return () => ({
    ...place,
    open: async (options) => {
      const database = await openDatabase(place.url, options);
      opened.push(database);
      return database;
    },
  });
}

async function createSqlite(isMigrated: boolean): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "platform-store-"));
  const path = join(folder, "platform.db");
  if (isMigrated) await copySqlite(path);
  return {
    name: "sqlite",
    isDistributed: false,
    url: `sqlite:${path}`,
    async sql(text) {
      using database = new DatabaseSync(path);
      return database.prepare(text).all() as Record<string, unknown>[];
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

async function createPostgres(server: string, isMigrated: boolean): Promise<Place> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await runSql(server, `create database ${name} ${isMigrated ? copyPostgresql() : "strategy file_copy"}`);
  return {
    name: "postgresql",
    isDistributed: false,
    url: url.href,
    sql: (text) => runSql(url.href, text),
    remove: async () => {
      await runSql(server, `drop database ${name} with (force)`);
    },
  };
}
