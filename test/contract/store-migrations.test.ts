/** The schema: brought up to date, and refused when it is newer. */
import { expect, test } from "vitest";
import { onEveryDatabase } from "./databases.ts";

onEveryDatabase("migrations", (database) => {
  test("run once", async () => {
    const db = await database().open();
    const pending = await db.pendingMigrations();
    expect(pending).toBeGreaterThan(0);
    expect(await db.migrate()).toBe(pending);
    expect(await db.pendingMigrations()).toBe(0);
    expect(await db.migrate()).toBe(0);
    expect(await (await database().open()).pendingMigrations()).toBe(0);
  });

  test("refuse a database that is newer than the program", async () => {
    const db = await database().open();
    await db.migrate();
    await database().sql("insert into migrations (name) values ('9999-later')");
    await expect(db.migrate()).rejects.toThrow("newer than this program: it has 9999-later");
    await expect(db.pendingMigrations()).rejects.toThrow("newer");
  });

  test("give text the order of its bytes", async () => {
    const db = await database().open();
    await db.migrate();
    if (db.dialect === "sqlite") return;
    const columns = await database().sql(
      "select table_name, column_name from information_schema.columns where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'",
    );
    expect(columns).toEqual([]);
  });
});
