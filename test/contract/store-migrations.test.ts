/** The schema: brought up to date, and refused when it is newer. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/store/index.ts";
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

  test("say what the user of a database may not do (PostgreSQL)", async (context) => {
    if (database().name !== "postgresql") return context.skip("SQLite has no users");
    const role = `limited_${randomBytes(6).toString("hex")}`;
    await database().sql(`create role ${role} login password 'limited'`);
    try {
      await database().sql(`grant all on schema public to ${role}`);
      const url = Object.assign(new URL(database().url), { username: role, password: "limited" });
      const limited = await openDatabase(url.href);
      await expect(limited.migrate()).rejects.toThrow(
        /^migration 0005-.*permission denied to create extension "pg_trgm"/,
      );
      await limited.close();
    } finally {
      await database().sql(`drop owned by ${role}`);
      await database().sql(`drop role ${role}`);
    }
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
