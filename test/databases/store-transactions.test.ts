/** Transactions: atomic, isolated, durable when acknowledged. */
import { beforeEach, expect, test } from "vitest";
import { ConflictError, type Database, NotUniqueError, type WriteSession } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";
import { identities, identityRow, newRow, repos } from "./tables.ts";

const callOf = (signal: AbortSignal) => ({
  signal,
  throwIfAborted: () => signal.throwIfAborted(),
  timeoutMs: () => undefined,
});

onEveryDatabase("transactions", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });

  const uidsOf = async () =>
    (await db.read.list(identities, { orderBy: [], skip: 0, limit: 100 })).map(({ uid }) => uid);

  test("see their own writes, which nobody else sees before the end", async () => {
    await db.transact(async (session) => {
      await session.insert(identities, identityRow("a"));
      await session.insert(identities, identityRow("a/b"));
      expect(await session.get(identities, "a")).toBeDefined();
      expect(await session.count(identities, {})).toBe(2);
      expect(await session.count(identities, { within: [{ root: "a", self: true }] })).toBe(2);
      expect(await session.count(identities, { parent: "a" })).toBe(1);
      expect(await session.exists(identities, { parent: "a" })).toBe(true);
      expect(await uidsOf()).toEqual([]);
      expect(await db.read.count(identities, {})).toBe(0);
      await session.remove(identities, "a/b");
      expect(await session.count(identities, {})).toBe(1);
    });
    expect(await uidsOf()).toEqual(["a"]);
    expect(await db.read.count(identities, {})).toBe(1);
  });

  test("change nothing when their body throws, whatever others do", async () => {
    const outcomes = await Promise.allSettled(
      ["a", "b", "c", "d"].map((uid, i) =>
        db.transact(async (session) => {
          await session.insert(identities, identityRow(uid));
          await session.putSetting(uid, new Uint8Array([i]));
          if (i % 2 === 1) throw new RangeError(uid);
          return uid;
        }),
      ),
    );
    expect(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason))).toEqual([
      "a",
      new RangeError("b"),
      "c",
      new RangeError("d"),
    ]);
    expect(await uidsOf()).toEqual(["a", "c"]);
    expect(await db.read.count(identities, {})).toBe(2);
    expect(await db.read.setting("b")).toBeUndefined();
  });

  test("refuse use of their session after the end", async () => {
    const leaked: WriteSession[] = [];
    await db.transact(async (session) => void leaked.push(session));
    await db.transact(async (session) => Promise.reject(void leaked.push(session))).catch(() => {});
    for (const session of leaked) {
      await expect(async () => session.get(identities, "a")).rejects.toThrow("ended");
      await expect(session.insert(identities, identityRow("a"))).rejects.toThrow("ended");
      await expect(async () => session.list(identities, { orderBy: [], skip: 0, limit: 1 })).rejects.toThrow("ended");
    }
    expect(await uidsOf()).toEqual([]);
  });

  test("fail as a whole after a violation, even when their body catches it", async () => {
    await db.transact((session) => session.insert(repos, newRow("a/1", { name: "x" })));
    const hiding = db.transact(async (session) => {
      await session.insert(repos, newRow("a/2", { name: "y" }));
      await session.insert(repos, newRow("a/3", { name: "x" })).catch(() => {});
    });
    await expect(hiding).rejects.toThrow(NotUniqueError);
    const goingOn = db.transact(async (session) => {
      await session.insert(repos, newRow("a/3", { name: "x" })).catch(() => {});
      return session.get(repos, "a/1");
    });
    await expect(goingOn).rejects.toThrow(NotUniqueError);
    const translating = db.transact((session) =>
      session.insert(repos, newRow("a/3", { name: "x" })).catch(() => Promise.reject(new RangeError("taken"))),
    );
    await expect(translating).rejects.toThrow(RangeError);
    expect(await db.read.count(repos, {})).toBe(1);
  });

  test("run again after losing a race for a unique name, and see the winner", async () => {
    const create = (uid: string) =>
      db.transact(async (session) => {
        const [taken] = await session.list(repos, {
          parent: "a",
          where: [{ column: "name", equals: "x" }],
          orderBy: [],
          skip: 0,
          limit: 1,
        });
        return taken?.uid ?? (await session.insert(repos, newRow(uid, { name: "x" }))).uid;
      });
    const uids = await Promise.all(Array.from({ length: 20 }, (_, i) => create(`a/${i}`)));
    expect(new Set(uids).size).toBe(1);
    expect(await db.read.count(repos, {})).toBe(1);
  });

  test("lose no update", async () => {
    await db.transact((session) => session.insert(identities, identityRow("a", { relationship: 0 })));
    await Promise.all(
      Array.from({ length: 30 }, () =>
        db.transact(async (session) => {
          const row = (await session.get(identities, "a"))!;
          await session.update(identities, {
            ...row,
            columns: { ...row.columns, relationship: (row.columns.relationship as number) + 1 },
          });
        }),
      ),
    );
    expect(await db.read.get(identities, "a")).toMatchObject({ version: 31, columns: { relationship: 30 } });
  });

  /** Each removes the parent if it has no child, or adds a child if there is a parent: no child may lose its parent. */
  const family = (group: string) => ({
    async removal(session: WriteSession) {
      if (await session.exists(identities, { parent: group })) throw new Error("not empty");
      await session.remove(identities, group);
    },
    async addition(session: WriteSession, child: number) {
      if ((await session.get(identities, group)) === undefined) throw new Error("no parent");
      await session.insert(identities, identityRow(`${group}/${child}`));
    },
  });

  async function race(prefix: string, run: (group: string) => Promise<unknown>[]): Promise<void> {
    for (let round = 0; round < 20; round++) {
      const group = `${prefix}${round}`;
      await db.transact((session) => session.insert(identities, identityRow(group)));
      await Promise.allSettled(run(group));
      const children = await db.read.count(identities, { parent: group });
      expect([0, 3]).toContain(children);
      expect((await db.read.get(identities, group)) === undefined).toBe(children === 0);
    }
  }

  test("hold a check and the write that relies on it together, when they are serializable", async () => {
    const options = { isSerializable: true };
    await race("s", (group) => {
      const { removal, addition } = family(group);
      return [
        db.transact(removal, options),
        ...[1, 2, 3].map((child) => db.transact((session) => addition(session, child), options)),
      ];
    });
  });

  test("hold a check and the write that relies on it together, when they lock what they rely on", async () => {
    await race("l", (group) => {
      const { removal, addition } = family(group);
      return [
        db.transact(async (session) => {
          await session.getToRemove(identities, group);
          await removal(session);
        }),
        ...[1, 2, 3].map((child) =>
          db.transact(async (session) => {
            await session.hold(identities, group);
            await addition(session, child);
          }),
        ),
      ];
    });
  });

  test("wait for others that lock the same, and not for those that hold it", async () => {
    await db.transact((session) => session.insert(identities, identityRow("locked")));
    const order: string[] = [];
    const locked = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const first = db.transact(async (session) => {
      await session.lock(identities, "locked");
      locked.resolve();
      if (db.dialect === "postgresql") await held.promise; // on SQLite there is one transaction at a time
      order.push("first");
    });
    await locked.promise;
    const second = db.transact(async (session) => {
      await session.lock(identities, "locked");
      order.push("second");
    });
    expect(await db.transact(async (session) => session.hold(identities, "locked"))).toBe(true);
    held.resolve();
    await Promise.all([first, second]);
    expect(order).toEqual(["first", "second"]);
  });

  test("keep counters equal to the rows through concurrent writes", async () => {
    const uids = Array.from({ length: 60 }, (_, i) => `r/${i % 3}/${i}`);
    await Promise.all(uids.map((uid) => db.transact((session) => session.insert(identities, identityRow(uid)))));
    await Promise.allSettled(
      uids.map((uid, i) =>
        db.transact(async (session) => {
          await session.remove(identities, uid);
          if (i % 2 === 0) throw new Error("no");
        }),
      ),
    );
    expect(await db.read.count(identities, {})).toBe(30);
    expect(await db.read.count(identities, { within: [{ root: "r", self: true }] })).toBe(30);
    for (const parent of ["r/0", "r/1", "r/2"]) expect(await db.read.count(identities, { parent })).toBe(10);
    expect(await db.read.count(identities, { where: [{ column: "name", notIn: [] }] })).toBe(30);
    expect(await db.read.count(repos, {})).toBe(0);
  });

  test("leave no counter behind a removed subtree", async () => {
    await db.transact(async (session) => {
      for (const uid of ["r", "r/1", "r/1/1", "r/1/2"]) await session.insert(identities, identityRow(uid));
    });
    for (const uid of ["r/1/2", "r/1/1"]) await db.transact((session) => session.remove(identities, uid));
    await db.transact(async (session) => {
      await session.remove(identities, "r/1"); // before what else is below its parent
      await session.remove(identities, "r");
    });
    expect(await database().sql("select ancestor from counters where ancestor <> ''")).toEqual([]);
  });

  test("do not start once their signal is aborted", async () => {
    let ran = false;
    const work = async () => {
      ran = true;
    };
    await expect(db.transact(work, { call: callOf(AbortSignal.abort(new RangeError("late"))) })).rejects.toThrow(
      RangeError,
    );
    const controller = new AbortController();
    const queued = db.transact(work, { call: callOf(controller.signal) });
    controller.abort(new RangeError("late"));
    await expect(queued).rejects.toThrow(RangeError);
    expect(ran).toBe(false);
  });

  test("take no statement after their signal is aborted", async () => {
    const controller = new AbortController();
    const work = db.transact(
      async (session) => {
        await session.insert(identities, identityRow("a"));
        controller.abort(new RangeError("late"));
        await session.insert(identities, identityRow("b"));
      },
      { call: callOf(controller.signal) },
    );
    await expect(work).rejects.toThrow(RangeError);
    expect(await uidsOf()).toEqual([]);
  });

  test("finish before the database closes, and are refused after", async () => {
    const other = await database().open();
    const last = other.transact((session) => session.insert(identities, identityRow("a")));
    const closed = other.close();
    await last;
    await closed;
    await expect(other.transact(async () => {})).rejects.toThrow();
    expect(await uidsOf()).toEqual(["a"]);
  });

  test("of two programs on one database all take effect", async () => {
    const other = await database().open();
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        (i % 2 === 0 ? db : other).transact((session) => session.insert(identities, identityRow(`r/${i}`))),
      ),
    );
    expect(await other.read.count(identities, { parent: "r" })).toBe(40);
    expect((await db.read.list(identities, { orderBy: [], skip: 0, limit: 100 })).length).toBe(40);
  });

  test("that always lose against others fail with a ConflictError", async () => {
    if (database().name === "sqlite") return; // one after another: none can lose
    const impatient = await database().open({ lockTimeoutMs: 300 });
    await db.transact((session) => session.insert(identities, identityRow("a")));
    let runs = 0;
    const losing = impatient.transact(async (session) => {
      runs++;
      const row = (await session.get(identities, "a"))!;
      await db.transact(async (winner) => winner.update(identities, (await winner.get(identities, "a"))!));
      await session.update(identities, row).catch(() => {}); // hiding the error does not help
    });
    await expect(losing).rejects.toThrow(ConflictError);
    expect(runs).toBeGreaterThan(3);
  });
});
