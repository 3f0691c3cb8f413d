/** Rows and settings. */
import { beforeEach, describe, expect, test } from "vitest";
import { columnValue, type Database, NotUniqueError, StaleError } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";
import { identities, identityRow, newRow, repos } from "./tables.ts";

onEveryDatabase("rows", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });

  test("are read as they were stored", async () => {
    const row = {
      ...identityRow("a/b", { name: "é\u{1f600}'\"%", relationship: -3, last_seen_us: 1_700_000_000_123_456 }),
      body: new Uint8Array([0, 1, 255]),
    };
    const stored = await db.transact((session) => session.insert(identities, row));
    expect(stored).toEqual({ ...row, version: 1, columns: { ...row.columns, issuer: "", subject: "" } });
    const read = await db.read.get(identities, "a/b");
    expect(read).toEqual(stored);
    expect(read!.body.constructor).toBe(Uint8Array);
    expect(await db.read.getMany(identities, ["a", "a/b", "a/b", "a/c"])).toEqual(new Map([["a/b", stored]]));
    expect(await db.read.getMany(identities, [])).toEqual(new Map());
    expect(await db.read.get(identities, "a")).toBeUndefined();
    expect(await db.read.has(identities, "a/b")).toBe(true);
    expect(await db.read.has(identities, "a")).toBe(false);
    expect(await db.read.get(repos, "a/b")).toBeUndefined();
    expect(
      ["uid", "parent", "version", "create_time_us", "relationship"].map((column) => columnValue(read!, column)),
    ).toEqual(["a/b", "a", 1, row.createTimeUs, -3]);
  });

  test("store a column without a value as its zero", async () => {
    await db.transact((session) => session.insert(identities, identityRow("a", { name: null, relationship: null })));
    expect((await db.read.get(identities, "a"))!.columns).toEqual({
      name: "",
      relationship: 0,
      issuer: "",
      subject: "",
      last_seen_us: 0,
    });
    expect(await db.read.count(identities, { where: [{ column: "relationship", equals: null }] })).toBe(1);
  });

  test("change with their version", async () => {
    const row = await db.transact((session) => session.insert(identities, identityRow("a")));
    const changed = {
      ...row,
      updateTimeUs: row.updateTimeUs + 5,
      body: new Uint8Array([7]),
      columns: { ...row.columns, name: "new" },
    };
    expect(await db.transact((session) => session.update(identities, changed))).toEqual({ ...changed, version: 2 });
    expect(await db.read.get(identities, "a")).toEqual({ ...changed, version: 2 });
    await expect(db.transact((session) => session.update(identities, changed))).rejects.toThrow(StaleError);
    await expect(db.transact((session) => session.update(identities, { ...row, uid: "gone" }))).rejects.toThrow(
      StaleError,
    );
  });

  test("change single columns and nothing else", async () => {
    const row = await db.transact((session) => session.insert(identities, identityRow("a", { relationship: 2 })));
    expect(await db.transact((session) => session.setColumns(identities, "a", { last_seen_us: 9 }))).toBe(true);
    expect(await db.read.get(identities, "a")).toEqual({ ...row, columns: { ...row.columns, last_seen_us: 9 } });
    expect(await db.transact((session) => session.setColumns(identities, "b", { last_seen_us: 9 }))).toBe(false);
  });

  test("are removed once", async () => {
    const row = await db.transact((session) => session.insert(identities, identityRow("a")));
    expect(await db.transact((session) => session.remove(identities, "a"))).toEqual(row);
    expect(await db.transact((session) => session.remove(identities, "a"))).toBeUndefined();
    expect(await db.read.get(identities, "a")).toBeUndefined();
  });

  test("are unique by uid and by the table's unique indexes", async () => {
    await db.transact((session) => session.insert(repos, newRow("a/1", { name: "x" })));
    await db.transact((session) => session.insert(repos, newRow("b/1", { name: "x" })));
    const second = await db.transact((session) => session.insert(repos, newRow("a/2", { name: "y" })));
    const clashes = [
      {
        clash: () => db.transact((session) => session.insert(repos, newRow("a/3", { name: "x" }))),
        constraint: "repos_parent_name",
      },
      {
        clash: () => db.transact((session) => session.insert(repos, newRow("a/1", { name: "z" }))),
        constraint: "repos_uid",
      },
      {
        clash: () => db.transact((session) => session.update(repos, { ...second, columns: { name: "x" } })),
        constraint: "repos_parent_name",
      },
      {
        clash: () => db.transact((session) => session.setColumns(repos, "a/2", { name: "x" })),
        constraint: "repos_parent_name",
      },
    ];
    for (const { clash, constraint } of clashes) {
      const error = await clash().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(NotUniqueError);
      expect(error).toMatchObject({ table: "repos", constraint });
    }
    expect(await db.read.count(repos, {})).toBe(3);
  });

  test("are found by what is unique below a parent, and known to be there", async () => {
    await db.transact(async (session) => {
      for (const [uid, name] of [
        ["a/1", "x"],
        ["a/2", "y"],
        ["b/1", "y"],
        ["b/1/c", "z"],
      ] as const)
        await session.insert(repos, newRow(uid, { name }));
      expect(await session.childUid(repos, "b", "name", "y")).toBe("b/1");
    });
    const uidOf = (parent: string, name: string) => db.read.childUid(repos, parent, "name", name);
    expect(await uidOf("a", "y")).toBe("a/2");
    expect(await uidOf("b", "x")).toBeUndefined();
    expect(await uidOf("b", "z")).toBeUndefined();
    const areThere = (...parents: string[]) => db.read.hasChildren(repos, parents);
    expect(await areThere("a")).toBe(true);
    expect(await areThere("c", "b/1")).toBe(true);
    expect(await areThere("c", "a/1", "")).toBe(false);
    expect(await areThere()).toBe(false);
  });

  describe("are refused", () => {
    test.each([
      ["text with NUL", identityRow("a", { name: "a\0b" })],
      ["a lone surrogate", identityRow("a", { name: "\ud800" })],
      ["text in an integer", identityRow("a", { relationship: "1" })],
      ["a fraction", identityRow("a", { relationship: 0.5 })],
      ["a number in text", identityRow("a", { name: 1 })],
      ["an unknown column", identityRow("a", { colour: "red" })],
      ["a uid with NUL", identityRow("a\0")],
      ["an empty uid", identityRow("")],
      ["an empty segment", identityRow("a//b")],
      ["a character below the slash", identityRow("a-b")],
      ["a character above ASCII", identityRow("é")],
      ["another's parent", { ...identityRow("a/b"), parent: "" }],
    ])("%s", async (_, row) => {
      await expect(db.transact((session) => session.insert(identities, row))).rejects.toThrow();
      expect(await db.read.count(identities, {})).toBe(0);
    });

    test("without a value of a column, as rows are that were read without it", async () => {
      const fault = "a row of table identities is written without column relationship";
      await expect(db.transact((session) => session.insert(identities, newRow("a")))).rejects.toThrow(fault);
      await db.transact((session) => session.insert(identities, identityRow("a")));
      const [row] = await db.read.list(identities, { columns: ["name"], limit: 1 });
      await expect(db.transact((session) => session.update(identities, row!))).rejects.toThrow(fault);
    });

    test("on update and on setting columns too", async () => {
      const row = await db.transact((session) => session.insert(identities, identityRow("a")));
      await expect(
        db.transact((session) => session.update(identities, { ...row, columns: { ...row.columns, name: "\0" } })),
      ).rejects.toThrow(TypeError);
      await expect(db.transact((session) => session.setColumns(identities, "a", { name: "\0" }))).rejects.toThrow(
        TypeError,
      );
      expect(await db.read.get(identities, "a")).toEqual(row);
    });
  });

  test("are not found by text that cannot be stored", async () => {
    await db.transact((session) => session.insert(identities, identityRow("a", { name: "" })));
    expect(await db.read.count(identities, { where: [{ column: "name", equals: "\0" }] })).toBe(0);
    expect(await db.read.count(identities, { where: [{ column: "name", in: ["\0", "\ud800", ""] }] })).toBe(1);
    expect(await db.read.count(identities, { where: [{ column: "name", notIn: ["\0"] }] })).toBe(1);
  });

  test("settings are put, added once and read", async () => {
    const [one, two] = [new Uint8Array([1]), new Uint8Array([2, 0])];
    expect(await db.read.setting("key")).toBeUndefined();
    expect(await db.transact((session) => session.addSetting("key", one))).toBe(true);
    expect(await db.transact((session) => session.addSetting("key", two))).toBe(false);
    expect(await db.read.setting("key")).toEqual(one);
    await db.transact((session) => session.putSetting("key", two));
    await db.transact((session) => session.putSetting("other", one));
    expect(await db.read.setting("key")).toEqual(two);
    expect(await db.transact((session) => session.setting("other"))).toEqual(one);
  });
});
