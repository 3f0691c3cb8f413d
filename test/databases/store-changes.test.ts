/** The number of changes of watched tables, which callers use to validate their caches. */
import { expect, test } from "vitest";
import { cachedUntilChange } from "../../src/services/iam/auth/cached-until-change.ts";
import type { Database, TableSpec } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";
import { identities, identityRow, newRow, repos } from "./tables.ts";

const watched: TableSpec = { ...identities, isWatched: true };

onEveryDatabase("changes of watched tables", (database) => {
  async function open() {
    const db = await database().open();
    await db.transact((session) => session.insert(watched, identityRow("r/kept")));
    return db;
  }

  test("are counted for all processes, and nothing else is", async () => {
    const ours = await open();
    const others = await database().open();
    const countedBy = async (work: (db: Database) => Promise<unknown>) => {
      const before = await ours.read.changes();
      await work(others);
      ours.refresh();
      const after = await ours.read.changes();
      expect(await others.read.changes()).toBe(after);
      return after - before;
    };
    expect(await countedBy((db) => db.transact((session) => session.insert(watched, identityRow("r/1"))))).toBe(1);
    expect(
      await countedBy((db) =>
        db.transact(async (session) => session.update(watched, (await session.get(watched, "r/1"))!)),
      ),
    ).toBe(1);
    expect(await countedBy((db) => db.transact((session) => session.remove(watched, "r/1")))).toBe(1);
    expect(await countedBy((db) => db.transact((session) => session.remove(watched, "r/1")))).toBe(0);
    expect(await countedBy((db) => db.transact((session) => session.insert(repos, newRow("r/2"))))).toBe(0);
    expect(
      await countedBy((db) => db.transact((session) => session.setColumns(watched, "r/kept", { last_seen_us: 1 }))),
    ).toBe(0);
    const failed = (db: Database) =>
      db.transact(async (session) => {
        await session.insert(watched, identityRow("r/3"));
        throw new Error("given up");
      });
    expect(await countedBy((db) => failed(db).catch(() => {}))).toBe(0);
  });

  test("are seen by the transaction that makes them", async () => {
    const db = await open();
    const before = await db.read.changes();
    const within = await db.transact(async (session) => {
      await session.insert(watched, identityRow("r/1"));
      return session.changes();
    });
    expect(within).toBe(before + 1);
  });

  test("invalidate caches: an acknowledged change is counted by the next read", async () => {
    const ours = await open();
    const others = await database().open();
    let asked = 0;
    const exists = cachedUntilChange(ours.read, String, async (uid: string) => {
      asked++;
      return ours.read.exists(watched, { uids: [uid] });
    });
    expect([await exists("r/kept"), await exists("r/kept"), await exists("r/1"), asked]).toEqual([
      true,
      true,
      false,
      2,
    ]);
    for (let round = 0; round < 50; round++) {
      const writer = round % 2 === 0 ? ours : others;
      await writer.transact((session) => session.insert(watched, identityRow("r/1")));
      ours.refresh();
      expect(await exists("r/1")).toBe(true);
      await writer.transact((session) => session.remove(watched, "r/1"));
      ours.refresh();
      expect(await exists("r/1")).toBe(false);
    }
    expect(asked).toBe(102);
  });

  test("while others write, no answer is older than the number it is kept under", async () => {
    const ours = await open();
    const others = await database().open();
    const seen = cachedUntilChange(
      ours.read,
      String,
      async (uid: string) => (await ours.read.get(watched, uid))?.version ?? 0,
    );
    let acknowledged = 1;
    const writing = (async () => {
      for (let i = 0; i < 60; i++) {
        const row = await others.transact(async (session) =>
          session.update(watched, (await session.get(watched, "r/kept"))!),
        );
        acknowledged = row.version;
      }
    })();
    let isWriting = true;
    void writing.finally(() => {
      isWriting = false;
    });
    while (isWriting) {
      const atLeast = acknowledged;
      ours.refresh();
      expect(await seen("r/kept")).toBeGreaterThanOrEqual(atLeast);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    ours.refresh();
    expect(await seen("r/kept")).toBe(61);
  });
});
