/** The one writer of a SQLite file: works share commits, and a lock held elsewhere is waited for without stopping the program. */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { counterStatements } from "../../src/store/counters.ts";
import { GroupCommit } from "../../src/store/dialect/group-commit.ts";
import { sqlite } from "../../src/store/dialect/sqlite.ts";
import { ConflictError, openDatabase } from "../../src/store/index.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-sqlite-"));
  path = join(folder, "data", "platform.db");
});

afterEach(() => rm(folder, { recursive: true }));

/** A connection that notes how transactions begin and end, and can fail to commit. */
class Watched extends DatabaseSync {
  readonly log: string[] = [];
  failingCommits = 0;

  override exec(sql: string): void {
    if (sql === "commit" && this.failingCommits-- > 0) throw new Error("disk full");
    super.exec(sql);
    if (/^(begin|commit|rollback$)/.test(sql)) this.log.push(sql);
  }
}

function watched(): { database: Watched; queue: GroupCommit } {
  const database = new Watched(":memory:");
  database.exec("create table t (x integer)");
  const connection = { rows: () => [], run: () => 0 };
  const hooks = { beforeCommit() {}, afterCommit() {} };
  return { database, queue: new GroupCommit(database, connection, counterStatements(sqlite), 1000, hooks) };
}

const valuesIn = (database: DatabaseSync) =>
  database
    .prepare("select x from t order by x")
    .all()
    .map(({ x }) => x);

test("works share commits, and are answered only after theirs", async () => {
  const { database, queue } = watched();
  await Promise.all(
    Array.from({ length: 200 }, async (_, x) => {
      await queue.transact(async () => {
        database.log.push("work");
        database.prepare("insert into t values (?)").run(x);
      });
      database.log.push("answer");
    }),
  );
  const log = database.log.map((entry) => entry[0]).join("");
  const commits = log.match(/bw+ca+/g)!; // begin, works, commit, as many answers
  expect(commits.join("")).toBe(log);
  for (const commit of commits) {
    const works = commit.lastIndexOf("w");
    expect(commit.length - works - 2).toBe(works);
    expect(works).toBeLessThanOrEqual(64);
  }
  expect(commits.length).toBeLessThan(100);
  expect(valuesIn(database)).toHaveLength(200);
});

test("works that arrive over successive turns of the event loop share a commit; the next waits for no more", async () => {
  const { database, queue } = watched();
  const works: Promise<void>[] = [];
  let turn = setImmediate();
  for (let i = 0; i < 10; i++) {
    works.push(queue.transact(async () => {}));
    await turn;
    turn = setImmediate();
  }
  await Promise.all(works);
  await queue.transact(async () => {});
  expect(database.log).toEqual(["begin immediate", "commit", "begin immediate", "commit"]);
});

test("when a commit fails all its works fail, and the next goes on", async () => {
  const { database, queue } = watched();
  database.failingCommits = 1;
  const insert = (x: number) => queue.transact(async () => void database.prepare("insert into t values (?)").run(x));
  const outcomes = await Promise.allSettled([1, 2, 3].map(insert));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await insert(4);
  expect(valuesIn(database)).toEqual([4]);
});

test("when a work ends the transaction all works before it fail too", async () => {
  const { database, queue } = watched();
  const outcomes = await Promise.allSettled([
    queue.transact(async () => void database.prepare("insert into t values (1)").run()),
    queue.transact(async () => {
      database.exec("rollback"); // as SQLite itself does when the disk is full
      throw new Error("disk full");
    }),
    queue.transact(async () => void database.prepare("insert into t values (3)").run()),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  expect(valuesIn(database)).toEqual([3]);
});

test("a lock held by another program is waited for while the program goes on", async () => {
  const database = await openDatabase(`sqlite:${path}`);
  await database.migrate();
  const other = new DatabaseSync(path);
  other.exec("begin immediate");
  let done = false;
  const work = database
    .transact(async (session) => session.addSetting("a", new Uint8Array()))
    .then(() => {
      done = true;
    });
  expect(await database.read.setting("a")).toBeUndefined();
  await setTimeout(30);
  expect(done).toBe(false);
  other.exec("commit");
  await work;
  expect(await database.read.setting("a")).toEqual(new Uint8Array());
  other.close();
  await database.close();
});

test("a lock held for too long is a conflict", async () => {
  const database = await openDatabase(`sqlite:${path}`, { patienceMs: 20 });
  await database.migrate();
  const other = new DatabaseSync(path);
  other.exec("begin immediate");
  await expect(database.transact(async () => {})).rejects.toThrow(ConflictError);
  other.exec("rollback");
  await database.transact(async () => {});
  other.close();
  await database.close();
});

test("folder and files are the owner's alone, and writes go ahead to a log", async () => {
  const database = await openDatabase(`sqlite:${path}`);
  await database.migrate();
  expect((await stat(join(folder, "data"))).mode & 0o777).toBe(0o700);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect((await stat(file)).mode & 0o777).toBe(0o600);
  await database.close();
  const raw = new DatabaseSync(path);
  expect(raw.prepare("pragma journal_mode").get()).toEqual({ journal_mode: "wal" });
  raw.close();
});
