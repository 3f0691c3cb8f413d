/** The check of the counters of totals, and their correction beside writers. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Database } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";
import { identities, identityRow, newRow, repos } from "./tables.ts";

async function fill(db: Database): Promise<void> {
  await db.transact(async (session) => {
    for (const uid of ["r", "r/a", "r/a/1", "r/a/2", "r/b", "q"]) await session.insert(repos, newRow(uid));
    await session.insert(identities, identityRow("r/a/identity"));
    await session.remove(repos, "q");
  });
}

onEveryDatabase("counters of totals", (database) => {
  test("equal the rows, whatever a transaction does", async () => {
    const db = await database().open();
    await fill(db);
    expect(await db.findCounterFaults()).toEqual([]);
    expect(await db.correctCounters()).toBe(0);
  });

  test("that differ are found, and corrected", async ({ skip }) => {
    skip(database().isDistributed, "counters of distributed tables are not checked");
    const db = await database().open();
    await fill(db);
    const { sql } = database();
    await sql("update counters set count = count + 2 where ancestor = '' and table_name = 'repos' and class = 'below'");
    await sql("delete from counters where ancestor = 'r/a' and table_name = 'repos' and class = 'children'");
    await sql(
      "insert into counters (ancestor, table_name, class, slot, count) values ('x/y', 'identities', 'below', 3, 4)",
    );
    const counted = { table: "repos", class: "below" } as const;
    expect(await db.findCounterFaults()).toEqual([
      { ...counted, table: "identities", ancestor: "x/y", rows: 0, counted: 4 },
      { ...counted, ancestor: "", rows: 5, counted: 7 },
      { ...counted, ancestor: "r/a", class: "children", rows: 2, counted: 0 },
    ]);
    expect(await db.read.count(repos, {})).toBe(7);
    expect(await db.correctCounters()).toBe(3);
    expect(await db.findCounterFaults()).toEqual([]);
    expect(await db.read.count(repos, {})).toBe(5);
    expect(await db.read.count(repos, { parent: "r/a" })).toBe(2);
  });

  test("are corrected while others write, by several at once", async ({ skip }) => {
    skip(database().isDistributed, "counters of distributed tables are not checked");
    const db = await database().open();
    const [other, ...correctors] = await Promise.all(Array.from({ length: 4 }, () => database().open()));
    await fill(db);
    await database().sql("update counters set count = count + 100");
    let written = 0;
    let isDone = false;
    const writers = [db, other!].map(async (writer, i) => {
      for (let n = 0; !isDone; n++, written++) {
        await writer.transact((session) => session.insert(repos, newRow(`r/b/${i}x${n}`)));
        if (n % 3 === 0) await writer.transact((session) => session.remove(repos, `r/b/${i}x${n}`));
        await setTimeout(1);
      }
    });
    while (written < 20) await setTimeout(5);
    const corrected = await Promise.all(correctors.map((one) => one.correctCounters()));
    expect(corrected.filter((count) => count > 0).length).toBe(1);
    const before = written;
    while (written < before + 20) await setTimeout(5);
    isDone = true;
    await Promise.all(writers);
    expect(await db.findCounterFaults()).toEqual([]);
  });
});
