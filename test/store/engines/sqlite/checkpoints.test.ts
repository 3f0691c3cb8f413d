/** Checkpoints run on a thread, and in SQLite itself when the thread has failed. */
import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { Histogram } from "../../../../src/histogram/index.ts";
import { Checkpoints } from "../../../../src/store/engines/sqlite/checkpoints.ts";
import { openSqlite } from "../../../../src/store/engines/sqlite/engine.ts";
import { openDatabase, type TableSpec } from "../../../../src/store/index.ts";
import { temporaryFolder } from "../../../cli/platform-process.ts";

const repos: TableSpec = { name: "repos", columns: { name: "text" } };
const pageBytes = 4096;

/** The pages in the log, and how many of them are in the file. */
function logOf(path: string): { log: number; checkpointed: number } {
  const database = new DatabaseSync(path);
  const state = database.prepare("pragma wal_checkpoint(noop)").get() as { log: number; checkpointed: number };
  database.close();
  return state;
}

test("the log restarts while the database is written and read without pause, and is removed when it is closed", async () => {
  const path = `${await temporaryFolder()}/platform.db`;
  const database = await openDatabase(`sqlite:${path}`);
  await database.migrate();
  const body = new Uint8Array(10 * pageBytes);
  let isWriting = true;
  const reading = (async () => {
    for (; isWriting; await setImmediate()) await database.read.count(repos, {});
  })();
  let longest = 0;
  for (let i = 0; i < 1500; i++) {
    const row = { uid: `a/${i}`, parent: "a", createTimeUs: i, updateTimeUs: i, body, columns: { name: `n${i}` } };
    await database.transact((session) => session.insert(repos, row));
    if (i % 20 === 0) longest = Math.max(longest, logOf(path).log);
  }
  isWriting = false;
  await reading;
  expect(longest).toBeGreaterThan(3500);
  expect(longest).toBeLessThan(11_500); // from 12,000 pages on SQLite does it in a commit
  expect(await database.read.count(repos, {})).toBe(1500);
  await database.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
  const again = await openDatabase(`sqlite:${path}`);
  expect((await again.read.get(repos, "a/1499"))?.body).toEqual(body);
  await again.close();
});

test("the log restarts while two processes run long queries without a gap", async () => {
  const path = `${await temporaryFolder()}/platform.db`;
  const options = { busyWaitMs: 0, lockTimeoutMs: 5000, mustExist: false, maxLongQueries: 2 };
  const engines = [openSqlite(path, options), openSqlite(path, options)];
  const [{ transact }] = engines as [(typeof engines)[0], ...typeof engines];
  const run = (text: string) => transact(async (connection) => connection.run({ text, slots: [] }, {}), {});
  await run("create table t (a)");
  // It reads a snapshot of the table for some 200 ms.
  const text = `with recursive c (n) as (select 1 union all select n + 1 from c where n < 600000)
    select (select count(*) from t) + (select count(*) from c)`;
  let isWriting = true;
  const call = { caller: "a", signal: new AbortController().signal };
  const reading = engines.flatMap(({ longQueries }) =>
    [1, 2].map(async () => {
      let queries = 0;
      for (; isWriting; queries++) await longQueries!.rows({ text, slots: [] }, {}, call);
      return queries;
    }),
  );
  const mib = 1024 * 1024;
  let longest = 0;
  for (let i = 0; i < 400; i++) {
    await run(`insert or replace into t (rowid, a) values (1, zeroblob(${mib}))`);
    longest = Math.max(longest, statSync(`${path}-wal`).size / mib);
  }
  isWriting = false;
  for (const queries of await Promise.all(reading)) expect(queries).toBeGreaterThan(1);
  for (const engine of engines) await engine.close();
  expect(longest).toBeGreaterThan(64);
  expect(longest).toBeLessThan(250);
});

test.each([
  ["forgets to close its database ends all the same", ""],
  ["closes it ends after that", "await database.close(); console.log('closed');"],
])("a program that %s", async (_, end) => {
  const path = `${await temporaryFolder()}/platform.db`;
  const program = `
    const { openDatabase } = await import(${JSON.stringify(new URL("../../../../src/store/index.ts", import.meta.url).href)});
    const database = await openDatabase(${JSON.stringify(`sqlite:${path}`)});
    await database.migrate();
    for (let i = 0; i < 500; i++)
      await database.transact((session) => session.putSetting("big", new Uint8Array(${10 * pageBytes}).fill(i)));
    ${end}`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  expect(stdout).toBe(end === "" ? "" : "closed\n");
});

test("writes go on after the thread has failed, and closing does not wait for it", async () => {
  const path = `${await temporaryFolder()}/log.db`;
  const writer = new DatabaseSync(path);
  onTestFinished(() => writer.close());
  writer.exec("pragma journal_mode = wal; pragma wal_autocheckpoint = 6000; create table t (a)");
  const checkpoints = new Checkpoints(writer, `${path}/no/such/file`, new Histogram([]));
  const insert = writer.prepare("insert into t values (?)");
  for (let i = 0; i < 7000; i++) {
    insert.run("x".repeat(pageBytes));
    checkpoints.committed();
    if (i % 500 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await checkpoints.close();
  expect(logOf(path).log).toBeLessThan(6500);
});
