/** Group commit: units of work share commits, and waiting for another process's lock does not block the event loop. */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SqliteConnection } from "../../../../src/store/engines/sqlite/connection.ts";
import { sqlite } from "../../../../src/store/engines/sqlite/engine.ts";
import { type CommitHooks, GroupCommit } from "../../../../src/store/engines/sqlite/group-commit.ts";
import { ConflictError, openDatabase, UnavailableError } from "../../../../src/store/index.ts";
import { counterStatements } from "../../../../src/store/logs/counters.ts";
import type { SqlConnection } from "../../../../src/store/sql/statement.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-sqlite-"));
  path = join(folder, "data", "platform.db");
});

afterEach(() => rm(folder, { recursive: true }));

/** A connection that logs how transactions begin and end, and whose commits can fail. */
class Watched extends DatabaseSync {
  readonly log: string[] = [];
  failingCommits = 0;

  override exec(sql: string): void {
    if (sql === "commit" && this.failingCommits-- > 0) throw new Error("disk full");
    super.exec(sql);
    if (/^(begin|commit|rollback$)/.test(sql)) this.log.push(sql);
  }
}

function watched(hooks: Partial<CommitHooks> = {}): { database: Watched; queue: GroupCommit } {
  const database = new Watched(":memory:");
  database.exec("create table t (x integer)");
  const connection = new SqliteConnection(database);
  const none = {
    needsPause: () => false,
    pause: async () => {},
    beforeCommit() {},
    sync: async () => {},
    committed() {},
    isLocked() {},
    afterCommit() {},
  };
  const queue = new GroupCommit(database, connection, counterStatements(sqlite), 1000, { ...none, ...hooks });
  return { database, queue };
}

const valuesIn = (database: DatabaseSync) =>
  database
    .prepare("select x from t order by x")
    .all()
    .map(({ x }) => x);

test("units of others wait for one of an account that has many", async () => {
  const { queue } = watched();
  const order: string[] = [];
  const transact = (account: string, name: string) =>
    queue.transact(async () => void order.push(name), { account, caller: account });
  const many = Array.from({ length: 100 }, (_, i) => transact("many", `many ${i}`));
  await Promise.all([...many, transact("few", "few 0"), transact("few", "few 1")]);
  expect(order.slice(0, 5)).toEqual(["many 0", "few 0", "many 1", "few 1", "many 2"]);
  expect(order).toHaveLength(102);
});

test("units share commits, and resolve only after theirs", async () => {
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
  const commits = log.match(/bw+ca+/g)!; // begin, units, commit, as many answers
  expect(commits.join("")).toBe(log);
  for (const commit of commits) {
    const units = commit.lastIndexOf("w");
    expect(commit.length - units - 2).toBe(units);
    expect(units).toBeLessThanOrEqual(64);
  }
  expect(commits.length).toBeLessThan(100);
  expect(valuesIn(database)).toHaveLength(200);
});

test("units that arrive over successive turns of the event loop share a commit; the next waits for no more", async () => {
  const { database, queue } = watched();
  const units: Promise<void>[] = [];
  let turn = setImmediate();
  for (let i = 0; i < 10; i++) {
    units.push(queue.transact(async () => {}));
    await turn;
    turn = setImmediate();
  }
  await Promise.all(units);
  await queue.transact(async () => {});
  expect(database.log).toEqual(["begin immediate", "commit", "begin immediate", "commit"]);
});

test("units resolve once their commit is on disk; later ones run meanwhile, and commit then", async () => {
  const disk = Promise.withResolvers<void>();
  let commits = 0;
  const { database, queue } = watched({
    beforeCommit: () => void database.log.push("before"),
    sync: () => (++commits === 1 ? disk.promise : Promise.resolve()),
    afterCommit: () => void database.log.push("after"),
  });
  const work = async (name: string) => {
    await queue.transact(async () => void database.log.push(`work ${name}`));
    database.log.push(`answer ${name}`);
  };
  const first = work("1");
  await expect.poll(() => commits).toBe(1);
  const second = work("2");
  await expect.poll(() => database.log).toContain("work 2");
  await setTimeout(20);
  const begun = ["begin immediate", "work 1", "before", "commit", "begin immediate", "work 2"];
  expect(database.log).toEqual(begun);
  disk.resolve();
  await Promise.all([first, second]);
  expect(database.log).toEqual([...begun, "after", "answer 1", "before", "commit", "after", "answer 2"]);
});

test("when a flush fails, so do the units of its commit and all later ones", async () => {
  const disk = Promise.withResolvers<void>();
  let commits = 0;
  const { database, queue } = watched({
    sync: () => (++commits === 1 ? disk.promise : Promise.resolve()),
    afterCommit: () => void database.log.push("after"),
  });
  const insert = (x: number) => queue.transact(async () => void database.prepare("insert into t values (?)").run(x));
  const outcomes = Promise.allSettled([
    insert(1),
    queue.transact(async () => {
      throw new Error("of a unit");
    }),
    expect
      .poll(() => commits)
      .toBe(1)
      .then(() => insert(2)),
  ]);
  await expect.poll(() => valuesIn(database)).toEqual([1, 2]);
  const cause = new Error("EIO");
  disk.reject(cause);
  const text = "the disk has failed, so nothing is written until a restart";
  const failed = (isUndecided: boolean) => ({
    status: "rejected",
    reason: new UnavailableError(text, cause, isUndecided),
  });
  expect(await outcomes).toEqual([failed(true), failed(true), failed(false)]);
  await expect(insert(3)).rejects.toEqual(failed(false).reason);
  expect(database.log).toEqual(["begin immediate", "commit", "begin immediate", "rollback"]);
  expect(valuesIn(database)).toEqual([1]);
});

test("a pause runs between two transactions, when the first is on disk", async () => {
  const disk = Promise.withResolvers<void>();
  let needsPause = false;
  const { database, queue } = watched({
    needsPause: () => needsPause,
    async pause() {
      needsPause = false;
      database.log.push("pause");
      await setTimeout(10);
      database.log.push("end of pause");
    },
    sync: () => disk.promise,
    afterCommit: () => void database.log.push("after"),
  });
  const first = queue.transact(async () => {});
  await expect.poll(() => database.log).toContain("commit");
  needsPause = true;
  const second = queue.transact(async () => {});
  await setTimeout(10);
  disk.resolve();
  await Promise.all([first, second]);
  expect(database.log).toEqual([
    "begin immediate",
    "commit",
    "after",
    "pause",
    "end of pause",
    "begin immediate",
    "commit",
    "after",
  ]);
});

describe("a unit that throws", () => {
  const insert = { text: "insert into t values (?)", slots: ["x"] };
  const add = { text: "insert into t values (?) returning x", slots: ["x"] };
  const select = { text: "select x from t", slots: [] };
  const error = new Error("of a unit");
  let runs: string[];
  let database: Watched;
  let queue: GroupCommit;

  beforeEach(() => {
    runs = [];
    ({ database, queue } = watched());
  });

  function work(name: string, run: (connection: SqlConnection) => unknown): Promise<string> {
    return queue.transact(async (connection) => {
      runs.push(name);
      await run(connection);
      return name;
    });
  }
  const fail = () => {
    throw error;
  };
  const writes = (x: number) => (connection: SqlConnection) => connection.run(insert, { x });
  const outcomes = (units: readonly Promise<string>[]) =>
    Promise.allSettled(units).then((all) =>
      all.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason)),
    );

  test("and has written nothing does not affect the others", async () => {
    const readsAndFails = async (connection: SqlConnection) => {
      await connection.rows(select, {});
      fail();
    };
    const units = [work("a", writes(1)), work("b", readsAndFails), work("c", writes(3))];
    expect(await outcomes(units)).toEqual(["a", error, "c"]);
    expect(runs.join("")).toBe("abc");
    expect(database.log).toEqual(["begin immediate", "commit"]);
    expect(valuesIn(database)).toEqual([1, 3]);
  });

  test.each([
    ["by a statement that only writes", insert],
    ["by one that gives rows", add],
  ])("and has written %s is taken back; the others run again, from then on in savepoints", async (_, statement) => {
    const writesAndFails = async (connection: SqlConnection) => {
      if (statement === insert) await connection.run(statement, { x: 2 });
      else await connection.rows(statement, { x: 2 });
      fail();
    };
    const units = [work("a", writes(1)), work("b", writesAndFails), work("c", writes(3))];
    expect(await outcomes(units)).toEqual(["a", error, "c"]);
    expect(runs.join("")).toBe("ababc");
    expect(valuesIn(database)).toEqual([1, 3]);
    const more = [work("d", writes(4)), work("e", writesAndFails), work("f", writes(6))];
    expect(await outcomes(more)).toEqual(["d", error, "f"]);
    expect(runs.join("")).toBe("ababcdef");
    expect(valuesIn(database)).toEqual([1, 3, 4, 6]);
    for (let i = 0; i < 100; i++) await work("", () => {});
    const last = [work("g", writes(7)), work("h", writesAndFails)];
    expect(await outcomes(last)).toEqual(["g", error]);
    expect(runs.join("")).toBe("ababcdefghgh");
    expect(valuesIn(database)).toEqual([1, 3, 4, 6, 7]);
  });

  test("first, and has written, fails alone in its transaction", async () => {
    const writesAndFails = async (connection: SqlConnection) => {
      await connection.run(insert, { x: 1 });
      fail();
    };
    expect(await outcomes([work("a", writesAndFails), work("b", writes(2))])).toEqual([error, "b"]);
    expect(runs.join("")).toBe("ab");
    expect(database.log).toEqual(["begin immediate", "rollback", "begin immediate", "commit"]);
    expect(valuesIn(database)).toEqual([2]);
  });
});

test("when a commit fails all its units fail, and the next goes on", async () => {
  const { database, queue } = watched({
    beforeCommit: () => void database.log.push("before"),
    afterCommit: () => void database.log.push("after"),
  });
  database.failingCommits = 1;
  const insert = (x: number) => queue.transact(async () => void database.prepare("insert into t values (?)").run(x));
  const outcomes = await Promise.allSettled([1, 2, 3].map(insert));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await insert(4);
  expect(valuesIn(database)).toEqual([4]);
  const over = ["before", "after", "rollback"];
  expect(database.log).toEqual(["begin immediate", ...over, "begin immediate", "before", "commit", "after"]);
});

test.each([
  ["throws", true],
  ["goes on", false],
])("when a unit ends the transaction all units before it fail too: it %s", async (_, throws) => {
  const { database, queue } = watched();
  const outcomes = await Promise.allSettled([
    queue.transact(async () => void database.prepare("insert into t values (1)").run()),
    queue.transact(async () => {
      database.exec("rollback"); // as SQLite itself does when the disk is full
      if (throws) throw new Error("disk full");
    }),
    queue.transact(async () => void database.prepare("insert into t values (3)").run()),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  expect(valuesIn(database)).toEqual([3]);
});

test("waiting for a lock of another process does not block the event loop", async () => {
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

test("a lock that is held for too long causes a ConflictError", async () => {
  const database = await openDatabase(`sqlite:${path}`, { lockTimeoutMs: 20 });
  await database.migrate();
  const other = new DatabaseSync(path);
  other.exec("begin immediate");
  await expect(database.transact(async () => {})).rejects.toThrow(ConflictError);
  other.exec("rollback");
  await database.transact(async () => {});
  other.close();
  await database.close();
});

test("only the owner can read folder and files, and there is a write-ahead log", async () => {
  const database = await openDatabase(`sqlite:${path}`);
  await database.migrate();
  expect((await stat(join(folder, "data"))).mode & 0o777).toBe(0o700);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect((await stat(file)).mode & 0o777).toBe(0o600);
  await database.close();
  const raw = new DatabaseSync(path);
  expect(raw.prepare("pragma journal_mode").get()).toEqual({ journal_mode: "wal" });
  raw.close();
});

describe("a disk that cannot be written", () => {
  const insert = { text: "insert into t values (randomblob(?1))", slots: ["bytes"] };

  test("fails units while it cannot, and takes others when it can again", async () => {
    const { database, queue } = watched();
    const blob = (bytes: number) => queue.transact(async (connection) => connection.run(insert, { bytes }));
    await blob(1);
    expect(queue.isRefused).toBe(false);
    database.exec("pragma max_page_count = 3");
    await expect(blob(100_000)).rejects.toMatchObject({ name: "UnavailableError", isUndecided: false });
    expect(queue.isRefused).toBe(true);
    database.exec("pragma max_page_count = 1000");
    await blob(100_000);
    queue.forgetRefusal();
    expect(queue.isRefused).toBe(false);
    expect(valuesIn(database)).toHaveLength(2);
  });

  test.each([
    ["full", 13, false],
    ["read-only", 8, false],
    ["not written", 778, false],
    ["an I/O error after that", 1034, true],
  ])("at a COMMIT: %s", async (_what, errcode, isUndecided) => {
    const { database, queue } = watched();
    const exec = database.exec.bind(database);
    database.exec = (sql) => {
      if (sql === "commit") throw Object.assign(new Error("refused"), { errcode });
      exec(sql);
    };
    const work = queue.transact(async (connection) => connection.run(insert, { bytes: 1 }));
    await expect(work).rejects.toMatchObject({ name: "UnavailableError", isUndecided });
    expect([valuesIn(database), queue.isRefused]).toEqual([[], true]);
    database.exec = exec;
    await queue.transact(async (connection) => connection.run(insert, { bytes: 1 }));
    expect(valuesIn(database)).toHaveLength(1);
  });
});
