/** Content columns: sets of texts and search texts. */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { postgres } from "../../src/store/engines/postgres/engine.ts";
import type { Condition, Database, OrderTerm, Row, Selection } from "../../src/store/index.ts";
import { listStatements, type Shape } from "../../src/store/lists/statements.ts";
import { onEveryDatabase } from "./databases.ts";
import { modelList, walk, waysToRead } from "./list-model.ts";
import { advisories, unnamedRow } from "./tables.ts";

// A few members that many rows share, and some that resemble each other or the query syntax of an index.
const members = fc.constantFrom(
  "a",
  "b",
  "ab",
  "A",
  "",
  "type:apk",
  "AND",
  "none",
  "é",
  "a b",
  '"',
  ",",
  "\\",
  "\u{1f600}",
  "78",
);
const sets = fc.array(members, { maxLength: 6 });
const signs = [
  "%",
  "_",
  '"',
  "*",
  "\\",
  "'",
  "\n",
  "[",
  "?",
  "(",
  "\u{1f600}",
  "é",
  "\u0301",
  "\ufffd",
  "\ufffe",
  "\u{10ffff}",
];
const letters = fc.oneof({ weight: 2, arbitrary: fc.constantFrom("a", "b", "A") }, fc.constantFrom(...signs));
const texts = fc.array(letters, { maxLength: 12 }).map((all) => all.join(""));
const parts = fc
  .oneof({ weight: 3, arbitrary: fc.array(letters, { maxLength: 3 }) }, fc.array(letters, { maxLength: 5 }))
  .map((all) => all.join(""));
const uids = fc
  .tuple(fc.constantFrom("r", "s"), fc.constantFrom("g", "gg", "h"), fc.integer({ min: 0, max: 30 }).map(String))
  .chain((ids) => fc.constantFrom(ids, ids, ids, ids.slice(0, 2), ids.slice(0, 1)))
  .map((ids) => ids.join("/"));
const times = fc.constantFrom(0, 1, 2, 1_700_000_000_000_000);

const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("insert" as const), uid: uids, terms: sets, search: texts, time: times }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), uid: uids }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("update" as const), uid: uids, terms: sets, search: texts }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("setColumns" as const), uid: uids, terms: sets }) },
);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const condition: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ column: fc.constant("terms"), hasAny: fc.array(members, { maxLength: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ column: fc.constant("terms"), hasNone: fc.array(members, { maxLength: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ column: fc.constant("search"), contains: parts }) },
  fc.record({ column: fc.constant("parent"), equals: fc.constantFrom("", "r", "r/g", "s/gg") }),
  fc.record({ column: fc.constant("create_time_us"), in: fc.array(times, { maxLength: 2 }) }),
);
const roots = fc.oneof(uids, fc.constantFrom("r", "s", "r/g", "r/gg", "s/h", ""));
const within = fc.array(fc.record({ root: roots, self: fc.boolean() }), { minLength: 1, maxLength: 12 });
const where = fc.array(condition, { minLength: 1, maxLength: 3 });
const selection: fc.Arbitrary<Selection> = fc.oneof(
  fc.record({ where }),
  fc.record({ within, where }),
  fc.record(
    { within, parent: fc.constantFrom("", "r", "r/g", "s/gg"), uids: fc.array(uids), where },
    { requiredKeys: ["where"] },
  ),
);
const orderBy: fc.Arbitrary<OrderTerm[]> = fc.array(
  fc.record({ column: fc.constantFrom("uid", "create_time_us", "update_time_us"), descending: fc.boolean() }),
  { maxLength: 2 },
);
const query = fc.record({
  selection,
  orderBy,
  pageSize: fc.integer({ min: 1, max: 12 }),
  skip: fc.constantFrom(0, 0, 3),
});

onEveryDatabase("content columns", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });
  const insert = (uid: string, terms: readonly string[], search = "") =>
    db.transact((session) => session.insert(advisories, unnamedRow(uid, { terms, search })));
  const found = async (...where: Condition[]) => {
    const rows = await db.read.list(advisories, { where, orderBy: [], skip: 0, limit: 100 });
    expect(await db.read.count(advisories, { where })).toBe(rows.length);
    return rows.map(({ uid }) => uid);
  };

  test("are read as they were stored, a set with each member once", async () => {
    const stored = await insert("a", ["x", "y", "x", ""], "x%_");
    expect(stored.columns).toEqual({ terms: ["x", "y", ""], search: "x%_" });
    expect(await db.read.get(advisories, "a")).toEqual(stored);
    const empty = await db.transact((session) =>
      session.insert(advisories, unnamedRow("b", { terms: null, search: null })),
    );
    expect(empty.columns).toEqual({ terms: [], search: "" });
    expect(await db.read.get(advisories, "b")).toEqual(empty);
  });

  test("follow every change of their rows", async () => {
    const row = await insert("a", ["x", "y"], "openssl");
    await insert("b", ["x"], "curl");
    const changed = { ...row, columns: { terms: ["y", "z"], search: "libcurl" } };
    const updated = await db.transact((session) => session.update(advisories, changed));
    expect(updated.columns).toEqual(changed.columns);
    expect(await found({ column: "terms", hasAny: ["x"] })).toEqual(["b"]);
    expect(await found({ column: "terms", hasAny: ["z", "x"] })).toEqual(["a", "b"]);
    expect(await found({ column: "search", contains: "openssl" })).toEqual([]);
    expect(await found({ column: "search", contains: "curl" })).toEqual(["a", "b"]);
    expect(await db.transact((session) => session.setColumns(advisories, "a", { terms: ["w"] }))).toBe(true);
    expect(await db.transact((session) => session.setColumns(advisories, "c", { terms: ["w"] }))).toBe(false);
    expect(await found({ column: "terms", hasAny: ["y"] })).toEqual([]);
    expect(await found({ column: "terms", hasAny: ["w"] }, { column: "search", contains: "libcurl" })).toEqual(["a"]);
    const removed = await db.transact((session) => session.remove(advisories, "a"));
    expect(removed?.columns).toEqual({ terms: ["w"], search: "libcurl" });
    expect(await found({ column: "terms", hasAny: ["w"] })).toEqual([]);
    expect(await found({ column: "search", contains: "libcurl" })).toEqual([]);
    await insert("c", ["w"]);
    expect(await found({ column: "terms", hasAny: ["w"] })).toEqual(["c"]);
  });

  test("are as they were when a transaction is rolled back", async () => {
    await insert("a", ["x"], "openssl");
    const work = db.transact(async (session) => {
      await session.setColumns(advisories, "a", { terms: ["y"], search: "curl" });
      await session.insert(advisories, unnamedRow("b", { terms: ["y"], search: "curl" }));
      throw new Error("taken back");
    });
    await expect(work).rejects.toThrow("taken back");
    expect(await found({ column: "terms", hasAny: ["x"] })).toEqual(["a"]);
    expect(await found({ column: "terms", hasAny: ["y"] })).toEqual([]);
    expect(await found({ column: "search", contains: "curl" })).toEqual([]);
  });

  test("stay with their rows when the file is rewritten", async (context) => {
    if (database().name !== "sqlite") return context.skip("only SQLite renumbers rows");
    for (let i = 0; i < 20; i++) await insert(`a/${i}`, [`t${i}`, "all"], `text ${i} end`);
    for (let i = 0; i < 20; i += 3) await db.transact((session) => session.remove(advisories, `a/${i}`));
    await database().sql("vacuum");
    expect(await found({ column: "terms", hasAny: ["t7", "t6"] })).toEqual(["a/7"]);
    expect(await found({ column: "search", contains: "text 1" })).toHaveLength(8);
    await db.transact((session) => session.setColumns(advisories, "a/7", { terms: ["new"] }));
    expect(await found({ column: "terms", hasAny: ["t7"] })).toEqual([]);
    expect(await found({ column: "terms", hasAny: ["all"] })).toHaveLength(12);
  });

  test("are unique and stale like other rows", async () => {
    const row = await insert("a", ["x"]);
    await expect(insert("a", ["y"])).rejects.toMatchObject({ name: "NotUniqueError", constraint: "advisories_uid" });
    await db.transact((session) => session.update(advisories, row));
    await expect(db.transact((session) => session.update(advisories, row))).rejects.toThrow("stale");
    expect(await found({ column: "terms", hasAny: ["x"] })).toEqual(["a"]);
  });

  test("hold many members, and are asked for many", async () => {
    const many = Array.from({ length: 1500 }, (_, i) => `member ${i}`);
    await insert("a", many);
    await insert("b", many.slice(0, 10));
    expect(await found({ column: "terms", hasAny: many })).toEqual(["a", "b"]);
    expect(await found({ column: "terms", hasAny: many.slice(10) })).toEqual(["a"]);
    expect(await found({ column: "terms", hasNone: many.slice(10) })).toEqual(["b"]);
    const long = "é".repeat(4900);
    await insert("c", [`${long}1`], long);
    expect(await found({ column: "terms", hasAny: [`${long}1`] })).toEqual(["c"]);
    expect(await found({ column: "terms", hasAny: [`${long}2`] })).toEqual([]);
    expect(await found({ column: "search", contains: long })).toEqual(["c"]);
    expect(await found({ column: "search", contains: `${long}é` })).toEqual([]);
  });

  describe("find a part of a text", () => {
    test.each([
      "100%",
      "a_b",
      'say "hi"',
      "a*b",
      "c\\d",
      "it's",
      "[x]",
      "a?b",
      "x y",
      "été",
      "\u{1f600}\u{1f601}\u{1f602}",
      "a\nb",
      "--;",
    ])("%j character by character", async (text) => {
      await insert("a", [], `before ${text} after`);
      const [first, , ...rest] = text;
      await insert("b", [], `before ${first}.${rest.join("")} after`);
      await insert("c", [], text.toUpperCase() === text ? "" : text.toUpperCase());
      expect(await found({ column: "search", contains: text })).toEqual(["a"]);
    });

    test("of one to three characters", async () => {
      const stored = { one: "one", end: "end", odd: "x\ufffex\u{10ffff}", sign: "\u{1f600}\u{1f601}e\u0301\ufffd" };
      for (const [uid, text] of Object.entries(stored)) await insert(uid, [], text);
      const asked: Record<string, string[]> = {
        one: ["o", "on", "one", "ne"],
        end: ["d", "en", "nd", "end"],
        odd: ["x\ufffe", "x\ufffex", "\ufffe", "x\u{10ffff}", "\u{10ffff}"],
        sign: ["\u{1f600}", "\u{1f600}\u{1f601}", "\u{1f601}e\u0301", "e\u0301", "\u0301", "\ufffd", "\u0301\ufffd"],
        none: ["ed", "eo", "oned", "E", '"', '""', "x\ufffd", "x\ufffdx", "x\uffff", "e\u{10ffff}", "d\u{10ffff}d"],
      };
      for (const [uid, texts] of Object.entries(asked)) {
        for (const text of texts)
          expect(await found({ column: "search", contains: text }), text).toEqual(uid === "none" ? [] : [uid]);
      }
      expect(await found({ column: "search", contains: "e" })).toEqual(["end", "one", "sign"]);
      expect(await found({ column: "search", contains: "n" })).toEqual(["end", "one"]);
    });

    test("in texts that changed, short as it is", async () => {
      await insert("a", [], "end");
      await insert("b", [], "end");
      await db.transact((session) => session.setColumns(advisories, "a", { search: "one" }));
      await db.transact((session) => session.remove(advisories, "b"));
      for (const [text, uids] of [
        ["d", []],
        ["nd", []],
        ["end", []],
        ["o", ["a"]],
        ["ne", ["a"]],
        ["one", ["a"]],
      ] as const)
        expect(await found({ column: "search", contains: text })).toEqual(uids);
    });

    test("several at once", async () => {
      const long = "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijk";
      await insert("a", [], long);
      await insert("b", [], `${long} q!`);
      const contains = (text: string) => ({ column: "search", contains: text });
      expect(await found(contains(long), contains("!"))).toEqual(["b"]);
      expect(await found(contains("q!"), contains("89a"), contains("cdefg"))).toEqual(["b"]);
      expect(await found(contains("q!"), contains("q?"))).toEqual([]);
    });

    test("however short, and nothing in every text", async () => {
      await insert("a", [], "é%");
      await insert("b", [], "");
      expect(await found({ column: "search", contains: "%" })).toEqual(["a"]);
      expect(await found({ column: "search", contains: "é%" })).toEqual(["a"]);
      expect(await found({ column: "search", contains: "é%?" })).toEqual([]);
      expect(await found({ column: "search", contains: "" })).toEqual(["a", "b"]);
      expect(await found({ column: "search", contains: "\0" })).toEqual([]);
    });
  });

  test("are not found by nothing, nor by what cannot be stored", async () => {
    await insert("a", ["x"]);
    expect(await found({ column: "terms", hasAny: [] })).toEqual([]);
    expect(await found({ column: "terms", hasAny: ["\0", "\ud800"] })).toEqual([]);
    expect(await found({ column: "terms", hasNone: [] })).toEqual(["a"]);
    expect(await found({ column: "terms", hasNone: ["\0"] })).toEqual(["a"]);
    expect(await found({ column: "terms", hasAny: ["x"] }, { column: "terms", hasNone: [] })).toEqual(["a"]);
  });

  test.each([
    ["a text for a set", { terms: "x" }],
    ["a set for a text", { search: ["x"] }],
    ["a member with NUL", { terms: ["a\0"] }],
    ["a lone surrogate in a member", { terms: ["\ud800"] }],
    ["a lone surrogate in a text", { search: "\ud800" }],
    ["a member that no index would hold whole", { terms: ["x".repeat(5001)] }],
  ])("refuse %s", async (_, columns) => {
    const work = db.transact((session) =>
      session.insert(advisories, unnamedRow("a", { terms: [], search: "", ...columns })),
    );
    await expect(work).rejects.toThrow(TypeError);
    expect(await db.read.count(advisories, {})).toBe(0);
  });

  test("refuse what no caller may ask for", async () => {
    const asked: [Condition, string][] = [
      [{ column: "search", hasAny: ["x"] }, "is not texts"],
      [{ column: "uid", hasNone: ["x"] }, "no column uid"],
      [{ column: "terms", contains: "x" }, "is not search"],
      [{ column: "terms", equals: "x" }, "is not compared"],
      [{ column: "search", in: ["x"] }, "is not compared"],
      [{ column: "colour", hasAny: ["x"] }, "no column colour"],
    ];
    for (const [condition, message] of asked)
      await expect(async () => db.read.count(advisories, { where: [condition] })).rejects.toThrow(message);
    for (const column of ["terms", "search"]) {
      const orderBy = [{ column, descending: false }];
      await expect(async () => db.read.list(advisories, { orderBy, skip: 0, limit: 1 })).rejects.toThrow(
        "is not compared",
      );
    }
  });

  test("are found by their indexes (PostgreSQL)", async (context) => {
    if (database().name !== "postgresql") return context.skip("SQLite's plans are a unit test");
    if (database().isDistributed) return context.skip("Citus has no generic plans");
    await database().sql(`
      insert into advisories (uid, parent, version, create_time_us, update_time_us, packed, terms, search)
      select 'r/' || i, 'r', 1, i, i, repeat('x', 1000)::bytea, '["all", "name:' || i || '"]', 'package ' || i
      from generate_series(1, 10000) as s(i)`);
    await database().sql("analyze advisories");
    const [{ name }] = (await database().sql("select current_database() as name")) as [{ name: string }];
    for (const scan of ["seqscan", "bitmapscan"]) // as the store sets them
      await database().sql(`alter database ${name} set enable_${scan} = off`);
    const has = { column: "terms", operator: "has" } as const;
    const hasAny = { column: "terms", operator: "hasAny" } as const;
    const contains = { column: "search", operator: "contains" } as const;
    const statement = listStatements(postgres, advisories);
    const order = [{ column: "create_time_us", descending: true }];
    const found = {
      source: "found",
      roots: "all",
      parent: false,
      after: false,
      plan: "sort",
      order,
      columns: ["terms", "search"],
      isByScope: false,
      isStoppable: false,
    } as const;
    const shapes: [Shape, string][] = [
      [{ ...found, read: "rows", comparisons: [has], drivingIndex: "terms" }, "advisories_terms"],
      [
        { ...found, read: "rows", comparisons: [has, hasAny, contains], drivingIndex: "terms", after: true },
        "advisories_terms",
      ],
      [
        { ...found, read: "rows", comparisons: [has], drivingIndex: "terms", source: "foundInRanges" },
        "advisories_terms",
      ],
      [{ ...found, read: "count", comparisons: [hasAny], drivingIndex: "terms", parent: true }, "advisories_terms"],
      [{ ...found, read: "foundCount", comparisons: [has, hasAny], drivingIndex: "terms" }, "advisories_terms"],
      [{ ...found, read: "rows", comparisons: [contains, has], drivingIndex: "search" }, "advisories_search"],
      [{ ...found, read: "count", comparisons: [contains], drivingIndex: "search" }, "advisories_search"],
    ];
    for (const [shape, index] of shapes) {
      const plan = await database().sql(`explain (generic_plan) ${statement(shape).text}`);
      const scans = plan.map((step) => String(step["QUERY PLAN"])).filter((step) => /Scan.* on advisories/.test(step));
      expect(scans, JSON.stringify(shape)).toEqual([
        expect.stringContaining("Bitmap Heap Scan on advisories "),
        expect.stringContaining(`Bitmap Index Scan on ${index} `),
      ]);
    }
  });

  test.each(waysToRead)(
    "answer what a model in memory answers, %s",
    { timeout: 120_000 },
    async (_, options, reading) => {
      const db = await database().open(options);
      await fc.assert(
        fc.asyncProperty(
          fc.array(change, { maxLength: 150, size: "max" }),
          fc.array(query, { minLength: 8, maxLength: 20 }),
          async (changes, queries) => {
            const model = await apply(db, changes);
            if (database().name === "sqlite") await database().sql("vacuum");
            for (const { selection, orderBy, pageSize, skip } of queries) {
              const expected = modelList(model, selection, orderBy);
              const read = reading(db);
              expect(await read.count(advisories, selection)).toBe(expected.length);
              const rows = await walk({ read }, advisories, { ...selection, orderBy, skip, limit: pageSize });
              expect(rows.map(({ uid }) => uid)).toEqual(expected.slice(skip).map(({ uid }) => uid));
            }
          },
        ),
        { numRuns: database().name === "sqlite" ? 70 : 20 },
      );
    },
  );
});

/**
 * Replaces the rows of the table by the outcome of `changes`, in a few transactions, and returns the expected rows.
 */
async function apply(db: Database, changes: readonly Change[]): Promise<Map<string, Row>> {
  const model = new Map<string, Row>();
  await db.transact(async (session) => {
    for (const { uid } of await session.list(advisories, { orderBy: [], skip: 0, limit: 1000 }))
      await session.remove(advisories, uid);
  });
  for (let i = 0; i < changes.length; i += 60) {
    await db.transact(async (session) => {
      for (const step of changes.slice(i, i + 60)) {
        const row = model.get(step.uid);
        if (step.kind === "insert" && row === undefined) {
          const { uid, terms, search, time } = step;
          model.set(uid, await session.insert(advisories, unnamedRow(uid, { terms, search }, time)));
        } else if (row !== undefined && step.kind === "update") {
          const columns = { terms: step.terms, search: step.search };
          model.set(step.uid, await session.update(advisories, { ...row, columns }));
        } else if (row !== undefined && step.kind === "setColumns") {
          await session.setColumns(advisories, step.uid, { terms: step.terms });
          model.set(step.uid, { ...row, columns: { ...row.columns, terms: [...new Set(step.terms)] } });
        } else if (step.kind === "remove") {
          expect(await session.remove(advisories, step.uid)).toEqual(row);
          model.delete(step.uid);
        }
      }
    });
  }
  return model;
}
