/** Rows, transactions and settings, on every database. */
import { describe, expect, test } from "vitest";
import { onEveryDatabase } from "./databases.ts";

onEveryDatabase("smoke", (database) => {
  test("migrates", async () => {
    const db = await database().open();
    expect(await db.pendingMigrations()).toBe(1);
    expect(await db.migrate()).toBe(1);
    expect(await db.pendingMigrations()).toBe(0);
    const repos = { name: "repos", facets: { name: "text" } } as const;
    const row = await db.transact((s) =>
      s.insert(repos, {
        uid: "a/1",
        parent: "a",
        createTimeUs: 1,
        updateTimeUs: 2,
        body: new Uint8Array([1]),
        facets: { name: "x" },
      }),
    );
    expect(await db.read.get(repos, "a/1")).toEqual(row);
    expect(await db.read.count(repos, { within: [{ root: "a", self: false }] })).toBe(1);
    expect(await db.read.list(repos, { orderBy: [{ column: "name", descending: true }], skip: 0, limit: 5 })).toEqual([
      row,
    ]);
  });
});
