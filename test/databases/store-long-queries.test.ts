/** Queries that run beside the event loop: what they see, and how they stop. */
import { expect, test } from "vitest";
import { openPostgres } from "../../src/store/engines/postgres/engine.ts";
import { onEveryDatabase } from "./databases.ts";
import { identityRow, identities as table } from "./tables.ts";

const options = { maxLongQueries: 1, fewRows: 0 };
const where = [{ column: "name", equals: "n" }];

onEveryDatabase("long queries", (database) => {
  test("see what was committed before, also by another process", async () => {
    const [db, other] = [await database().open(options), await database().open()];
    const read = db.readFor({ caller: "a", signal: new AbortController().signal });
    for (let i = 1; i <= 20; i++) {
      const writer = i % 2 === 0 ? db : other;
      await writer.transact((session) => session.insert(table, identityRow(`r/${i}`, { name: "n" })));
      db.refresh();
      expect(await read.count(table, { where })).toBe(i);
    }
  });

  test("end with their call", async () => {
    const db = await database().open(options);
    await db.transact((session) => session.insert(table, identityRow("r/1", { name: "n" })));
    const stop = new AbortController();
    const stopped = db.readFor({ caller: "a", signal: stop.signal }).count(table, { where });
    stop.abort(new Error("gone"));
    await expect(stopped).rejects.toThrow("gone");
    expect(await db.readFor({ caller: "a", signal: new AbortController().signal }).count(table, { where })).toBe(1);
  });

  test("stop in the server when their call ends (PostgreSQL)", async (context) => {
    if (database().name !== "postgresql") return context.skip("test/store/engines/sqlite/readers.test.ts tests SQLite");
    const engine = await openPostgres(database().url, { lockTimeoutMs: 5000, maxLongQueries: 1 });
    const sleeps = async () => {
      const text = "select count(*)::int as count from pg_stat_activity where query = 'select pg_sleep(600)'";
      const [row] = await database().sql(`${text} and state = 'active' and datname = current_database()`);
      return row!.count;
    };
    const stop = new AbortController();
    const stopped = engine.longQueries!.rows(
      { text: "select pg_sleep(600)", slots: [] },
      {},
      { caller: "a", signal: stop.signal },
    );
    await expect.poll(sleeps).toBe(1);
    stop.abort(new Error("gone"));
    await expect(stopped).rejects.toThrow("gone");
    await expect.poll(sleeps).toBe(0);
    await engine.close();
  });

  test("do not keep a database from closing", async () => {
    const db = await database().open(options);
    await db.readFor({ caller: "a", signal: new AbortController().signal }).count(table, { where });
    await db.close();
  });
});
