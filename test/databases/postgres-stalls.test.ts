/** A statement that takes long on PostgreSQL holds up no other, and stops with its call. */
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { openPostgres } from "../../src/store/engines/postgres/engine.ts";
import { OverloadError, StatementTimeoutError } from "../../src/store/index.ts";
import { onPostgres, type TestDatabase } from "./databases.ts";
import { identities, identityRow, newRow, repos } from "./tables.ts";

const sleep = { text: "select pg_sleep(600)", slots: [] };
const one = { text: "select 1", slots: [] };

onPostgres("statements that take long", (database) => {
  test("do not hold up others: a locked table leaves the rest of the database usable", async () => {
    const db = await database().open({ maxLongQueries: 2 });
    await db.transact(async (session) => {
      await session.insert(identities, identityRow("i"));
      await session.insert(repos, newRow("g"));
    });
    const release = await lockTable(database(), "identities");
    let isLocked = true;
    const waiting = Array.from({ length: 20 }, async () => {
      const row = await db.readFor({ caller: "a", signal: new AbortController().signal }).get(identities, "i");
      expect(isLocked).toBe(false);
      return row?.uid;
    });
    for (let i = 0; i < 100; i++) expect((await db.read.get(repos, "g"))?.uid).toBe("g");
    await db.transact((session) => session.insert(repos, newRow("h")));
    await expect.poll(() => waitingIn(database())).toBeGreaterThan(0);
    isLocked = false;
    await release();
    expect(await Promise.all(waiting)).toEqual(Array(20).fill("i"));
  });

  test("stop with their call: reads", async () => {
    const db = await database().open({ maxLongQueries: 2 });
    const release = await lockTable(database(), "identities");
    const stop = new AbortController();
    const reads = Array.from({ length: 20 }, (_, i) =>
      Promise.resolve(db.readFor({ caller: `${i}`, signal: stop.signal }).get(identities, "i")),
    );
    const ends = Promise.allSettled(reads);
    await expect.poll(() => waitingIn(database())).toBeGreaterThan(0);
    stop.abort(new Error("gone"));
    for (const { status } of await ends) expect(status).toBe("rejected");
    expect(await waitingIn(database())).toBe(0);
    await release();
  });

  test("stop with their call: transactions", async () => {
    const db = await database().open();
    const release = await lockTable(database(), "identities");
    const stop = new AbortController();
    const { signal } = stop;
    const call = { signal, throwIfAborted: () => signal.throwIfAborted(), timeoutMs: () => undefined };
    const writes = Array.from({ length: 4 }, (_, i) =>
      db.transact((session) => session.insert(identities, identityRow(`i${i}`)), { call }),
    );
    const ends = Promise.allSettled(writes);
    await expect.poll(() => waitingIn(database())).toBe(4);
    stop.abort(new Error("gone"));
    for (const { status } of await ends) expect(status).toBe("rejected");
    expect(await waitingIn(database())).toBe(0);
    await release();
    expect(await db.read.count(identities, {})).toBe(0);
  });

  test("stop at the deadline of their call, which the server knows", async () => {
    const engine = await openEngine(database());
    const { signal } = new AbortController(); // never aborted
    const call = { caller: "a", signal, throwIfAborted: () => {}, timeoutMs: () => 50 };
    await expect(engine.longQueries!.rows(sleep, {}, call)).rejects.toThrow(StatementTimeoutError);
    const writing = engine.transact(async (connection) => connection.rows(sleep, {}), { call });
    await expect(writing).rejects.toThrow(StatementTimeoutError);
    expect(await engine.longQueries!.rows(one, {}, { ...call, timeoutMs: () => 10_000 })).toEqual([[1]]);
  });

  test("keep their connections when they are cancelled, and hit no later statement", async () => {
    const engine = await openEngine(database());
    for (let i = 0; i < 200; i++) {
      const stop = new AbortController();
      const stopped = engine.longQueries!.rows(sleep, {}, { caller: "a", signal: stop.signal });
      setTimeout(() => stop.abort(new Error("gone")), i % 5);
      await expect(stopped).rejects.toThrow("gone");
      expect(await engine.longQueries!.rows(one, {}, { caller: "a", signal: new AbortController().signal })).toEqual([
        [1],
      ]);
    }
    const [row] = await database().sql("select count(*)::int as opened from pg_stat_activity where query = 'select 1'");
    expect(row).toEqual({ opened: 1 });
  });
});

onPostgres("transactions that wait for a connection", (database) => {
  test("are bounded in number and in time", async () => {
    const pool = { connections: 8, maxWaiting: 2, waitMs: 50, preparedStatements: "auto" as const };
    const db = await database().open({ pool });
    const held = Promise.withResolvers<void>();
    const work = () => db.transact(() => held.promise);
    const outcomes = Array.from({ length: 30 }, () =>
      work().then(
        () => "done",
        (error: unknown) => error,
      ),
    );
    const refused = await Promise.race(outcomes);
    expect(refused).toEqual(new OverloadError(false));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await db.read.count(identities, {})).toBe(0); // reads have connections of their own
    held.resolve();
    const ends = await Promise.all(outcomes);
    expect(ends.filter((end) => end === "done").length).toBeGreaterThanOrEqual(4);
    expect(ends.filter((end) => end === "done").length).toBeLessThanOrEqual(8);
    expect(await work()).toBeUndefined();
  });
});

async function openEngine({ url }: TestDatabase) {
  const engine = await openPostgres(url, { lockTimeoutMs: 5000, maxLongQueries: 1 });
  onTestFinished(() => engine.close());
  return engine;
}

/** Locks a table against everybody. Returns what unlocks it. */
async function lockTable({ url }: TestDatabase, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`begin; lock table ${table} in access exclusive mode`);
  return () => client.end();
}

/** How many statements of the database wait for a lock. */
async function waitingIn({ sql }: TestDatabase): Promise<number> {
  const waiting = "datname = current_database() and wait_event_type = 'Lock'";
  const [row] = await sql(`select count(*)::int as count from pg_stat_activity where ${waiting}`);
  return row!.count as number;
}
