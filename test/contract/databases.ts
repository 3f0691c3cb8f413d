/** Every promise of the store is tested on every database: a suite runs once for each, and each of its tests on a database of its own. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterEach, beforeEach, describe, inject } from "vitest";
import { type Database, type OpenOptions, openDatabase } from "../../src/store/index.ts";
import "./postgres.ts";

/** An empty database that only one test uses. */
export interface TestDatabase {
  readonly name: "sqlite" | "postgresql";
  readonly url: string;
  /** Opens it, once more if need be; it is closed after the test. */
  open(options?: OpenOptions): Promise<Database>;
  /** Runs SQL beside the store: the rows, each by its columns. */
  sql(text: string): Promise<Record<string, unknown>[]>;
}

/** Declares a suite for every database; `database()` is that of the test that runs. */
export function onEveryDatabase(title: string, suite: (database: () => TestDatabase) => void): void {
  describe(`${title} (sqlite)`, () => suite(perTest(createSqlite)));
  const postgres = inject("postgres") ?? { missing: "the contract project has no global set-up" };
  if ("url" in postgres) describe(`${title} (postgresql)`, () => suite(perTest(() => createPostgres(postgres.url))));
  else {
    console.warn(`${title} is not tested on PostgreSQL: ${postgres.missing}`);
    describe.skip(`${title} (postgresql, skipped: ${postgres.missing})`, () => suite(perTest(createSqlite)));
  }
}

type Place = Pick<TestDatabase, "name" | "url" | "sql"> & { remove(): Promise<void> };

function perTest(create: () => Promise<Place>): () => TestDatabase {
  let place: Place;
  let opened: Database[] = [];
  beforeEach(async () => {
    place = await create();
    opened = [];
  });
  afterEach(async () => {
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

async function createSqlite(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "platform-store-"));
  const path = join(folder, "platform.db");
  return {
    name: "sqlite",
    url: `sqlite:${path}`,
    async sql(text) {
      using database = new DatabaseSync(path);
      return database.prepare(text).all() as Record<string, unknown>[];
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

async function createPostgres(server: string): Promise<Place> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await query(server, `create database ${name}`);
  return {
    name: "postgresql",
    url: url.href,
    sql: (text) => query(url.href, text),
    remove: async () => {
      await query(server, `drop database ${name} with (force)`);
    },
  };
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
