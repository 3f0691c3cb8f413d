/** The schema that the migrations make, and the table that the next migration makes for a resource. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Condition, NotUniqueError, type TableSpec } from "../../src/store/index.ts";
import { resourceTable } from "../../src/store/sql/resource-table.ts";
import { compile } from "../../src/store/sql/statement.ts";
import { onEveryEmptyDatabase } from "./databases.ts";
import { dialectOf, migrateUpTo } from "./migrate-up-to.ts";
import { schemaOf } from "./schema-of.ts";
import { unnamedRow } from "./tables.ts";

/** Has a column of every type. */
const widgets: TableSpec = {
  name: "widgets",
  columns: { name: "text", size: "integer", tags: "texts", summary: "search" },
};

onEveryEmptyDatabase("the schema", (database) => {
  test("of the migrations 0001 to 0011 is the one that they were released with", async () => {
    await migrateUpTo("0012", database());
    const released = readFileSync(join(import.meta.dirname, `schema-0011.${database().name}.txt`), "utf8");
    expect(await schemaOf(database())).toEqual(released.trimEnd().split("\n"));
  });

  test("of a resource that a migration adds is the one that sessions read and write", async () => {
    const db = await database().open();
    await db.migrate();
    const dialect = dialectOf(database());
    const statements = resourceTable(dialect, widgets.name, {
      columns: widgets.columns,
      unique: [["parent", "name"]],
      indexes: [["size"]],
    });
    for (const statement of statements) await database().sql(compile(dialect.query, statement).text);
    const [a, b] = [
      unnamedRow("p/a", { name: "a", size: 2, tags: ["x", "y"], summary: "red wood" }),
      unnamedRow("p/b", { name: "b", size: 1, tags: ["y"], summary: "red iron" }),
    ];
    const stored = await db.transact(async (session) => [
      await session.insert(widgets, a),
      await session.insert(widgets, b),
    ]);
    expect(stored).toEqual([
      { ...a, version: 1 },
      { ...b, version: 1 },
    ]);
    expect(await db.read.get(widgets, "p/a")).toEqual(stored[0]);
    expect(await db.read.childUid(widgets, "p", "name", "b")).toBe("p/b");
    const orderBy = [{ column: "size", descending: false }];
    expect(await db.read.list(widgets, { orderBy, skip: 0, limit: 10 })).toEqual([stored[1], stored[0]]);
    const found = async (where: readonly Condition[]) =>
      (await db.read.list(widgets, { where, orderBy: [], skip: 0, limit: 10 })).map(({ uid }) => uid);
    expect(await found([{ column: "tags", hasAny: ["x"] }])).toEqual(["p/a"]);
    expect(await found([{ column: "summary", contains: "iron" }])).toEqual(["p/b"]);
    const changed = { ...stored[0]!, columns: { ...a.columns, tags: ["z"], summary: "red iron, too" } };
    expect(await db.transact((session) => session.update(widgets, changed))).toEqual({ ...changed, version: 2 });
    expect(await found([{ column: "tags", hasAny: ["x"] }])).toEqual([]);
    expect(await found([{ column: "summary", contains: "iron" }])).toEqual(["p/a", "p/b"]);
    const twin = unnamedRow("p/c", { ...b.columns });
    await expect(db.transact((session) => session.insert(widgets, twin))).rejects.toThrow(NotUniqueError);
    expect(await db.transact((session) => session.remove(widgets, "p/b"))).toEqual(stored[1]);
    expect(await db.read.get(widgets, "p/b")).toBeUndefined();
    expect(await found([{ column: "summary", contains: "iron" }])).toEqual(["p/a"]);
    expect(await db.read.count(widgets, { parent: "p" })).toBe(1);
  });
});
