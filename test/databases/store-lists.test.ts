/** Lists and counts, compared with a model that sorts and filters in memory. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Condition, Database, OrderTerm, Row, Selection } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";
import { modelList, walk, waysToRead } from "./list-model.ts";
import { identityRow, identities as table } from "./tables.ts";

// A tree that is wide at the bottom, with ids that sort next to each other.
const path = (depth: number) =>
  fc
    .tuple(
      fc.constantFrom("a", "a0"),
      fc.constantFrom("b", "bb", "b0", "0", "z"),
      fc.constantFrom("1", "2", "3", "4", "a", "aa", "f", "~"),
    )
    .map((ids) => ids.slice(0, depth).join("/"));
const uids = fc.oneof(
  { weight: 12, arbitrary: path(3) },
  { weight: 2, arbitrary: path(2) },
  { weight: 1, arbitrary: path(1) },
);
const roots = fc.oneof(
  { weight: 8, arbitrary: path(2) },
  { weight: 3, arbitrary: path(3) },
  { weight: 1, arbitrary: path(1) },
  fc.constant(""),
);
const names = fc.constantFrom("", "a", "A", "b", "ba", "é", "z", "\uffff", "\u{1f600}", "a b", "a'b", "%");
const numbers = fc.constantFrom(0, 1, 2, 3, -1, 1_700_000_000_000_000);

const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("insert" as const),
      uid: uids,
      name: names,
      number: numbers,
      time: numbers,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), uid: uids }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("update" as const), uid: uids, name: names, time: numbers }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("setColumns" as const), uid: uids, number: numbers }) },
);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ column: fc.constant("name"), equals: fc.option(names) }),
  fc.record({ column: fc.constant("name"), in: fc.array(names) }),
  fc.record({ column: fc.constant("name"), startsWith: names }),
  fc.record({ column: fc.constant("issuer"), notIn: fc.array(names) }),
  fc.record({ column: fc.constant("relationship"), equals: numbers }),
  fc.record({ column: fc.constant("relationship"), in: fc.array(numbers) }),
  fc.record({ column: fc.constant("update_time_us"), greaterThan: numbers }),
);

const within = fc.array(fc.record({ root: roots, self: fc.boolean() }), { maxLength: 10 });
const where = fc.array(condition, { minLength: 1, maxLength: 2 });
const selection: fc.Arbitrary<Selection> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ within }) },
  { weight: 1, arbitrary: fc.record({ parent: roots }) },
  fc.record({ within, where }),
  fc.record({ within, parent: roots, uids: fc.array(uids), where }, { requiredKeys: [] }),
);

const orderBy: fc.Arbitrary<OrderTerm[]> = fc.array(
  fc.record({
    column: fc.constantFrom("uid", "name", "create_time_us", "update_time_us", "relationship"),
    descending: fc.boolean(),
  }),
  { maxLength: 3 },
);

const query = fc.record({
  selection,
  orderBy,
  pageSize: fc.integer({ min: 1, max: 12 }),
  skip: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 })),
});

onEveryDatabase("lists", (database) => {
  test.each(waysToRead)(
    "answer what a model in memory answers, %s",
    { timeout: 120_000 },
    async (_, options, reading) => {
      const db = await database().open(options);
      await fc.assert(
        fc.asyncProperty(
          fc.array(change, { maxLength: 200, size: "max" }),
          fc.array(query, { minLength: 5, maxLength: 15 }),
          async (changes, queries) => {
            const model = await apply(db, changes);
            for (const { selection, orderBy, pageSize, skip } of queries) {
              const expected = modelList(model, selection, orderBy);
              const read = reading(db);
              expect(await read.count(table, selection)).toBe(expected.length);
              expect(await read.exists(table, selection)).toBe(expected.length > 0);
              expect(await read.first(table, { ...selection, orderBy, skip })).toEqual(expected[skip]);
              const rows = await walk({ read }, table, { ...selection, orderBy, skip, limit: pageSize });
              expect(rows.map(({ uid }) => uid)).toEqual(expected.slice(skip).map(({ uid }) => uid));
            }
          },
        ),
        { numRuns: database().name === "sqlite" ? 200 : 40 },
      );
    },
  );

  test("read ranges in their order, whatever the database believes to know about the table", async () => {
    const db = await database().open();
    const insert = (uid: string) => db.transact((session) => session.insert(table, identityRow(uid, { name: "" })));
    await insert("q/1");
    await database().sql(database().name === "sqlite" ? "analyze" : `vacuum ${table.name}`);
    for (const uid of ["a/b/1", "a/bb/1", "a/z/1"]) await insert(uid);
    const within = ["a/bb", "a/z", "a/b", "a0/b"].map((root) => ({ root, self: false }));
    for (const descending of [false, true]) {
      const order = [{ column: "uid", descending }];
      const first = await db.read.first(table, { within, orderBy: order, skip: 0 });
      expect(first?.uid).toBe(descending ? "a/z/1" : "a/b/1");
      const rows = await walk(db, table, { within, orderBy: order, limit: 1 });
      expect(rows.map(({ uid }) => uid)).toHaveLength(3);
    }
  });

  test("neither repeat nor miss a row that stays while others come and go", async () => {
    const db = await database().open();
    const uidsOf = (prefix: string) => Array.from({ length: 60 }, (_, i) => `r/${i % 7}/${prefix}${i}`);
    const insert = (uid: string) =>
      db.transact((session) => session.insert(table, identityRow(uid, { name: uid.slice(-2) })));
    const staying = uidsOf("s");
    for (const uid of [...staying, ...uidsOf("g")]) await insert(uid);
    const going = uidsOf("g").values();
    const coming = uidsOf("n").values();
    for (const column of ["uid", "name", "create_time_us"]) {
      for (const descending of [false, true]) {
        const seen: string[] = [];
        const query = { within: [{ root: "r", self: true }], orderBy: [{ column, descending }], limit: 7 };
        for await (const page of db.read.pages(table, query)) {
          seen.push(...page.map(({ uid }) => uid));
          const [gone, come] = [going.next().value, coming.next().value];
          if (gone !== undefined) await db.transact((session) => session.remove(table, gone));
          if (come !== undefined) await insert(come);
        }
        expect(seen.filter((uid) => staying.includes(uid)).sort()).toEqual(staying.toSorted());
        expect(new Set(seen).size).toBe(seen.length);
      }
    }
  });

  test("come in pages whose rows may be removed before the next", async () => {
    const db = await database().open();
    const removed = await db.transact(async (session) => {
      for (let i = 0; i < 10; i++) await session.insert(table, identityRow(`r/${i}`));
      const sizes: number[] = [];
      for await (const rows of session.pages(table, { parent: "r", limit: 4, columns: [] })) {
        sizes.push(rows.length);
        for (const { uid } of rows) await session.remove(table, uid);
      }
      return sizes;
    });
    expect(removed).toEqual([4, 4, 2]);
    expect(await db.read.count(table, {})).toBe(0);
  });

  test("refuse what no caller may ask for", async () => {
    const db = await database().open();
    const page = { orderBy: [], skip: 0, limit: 10 };
    await expect(async () =>
      db.read.list(table, { ...page, orderBy: [{ column: "body", descending: false }] }),
    ).rejects.toThrow("no column body");
    await expect(async () =>
      db.read.list(table, { ...page, orderBy: [{ column: "constructor", descending: false }] }),
    ).rejects.toThrow("no column");
    await expect(async () => db.read.count(table, { where: [{ column: "colour", equals: "red" }] })).rejects.toThrow(
      "no column colour",
    );
    await expect(async () =>
      db.read.list(table, { ...page, orderBy: [{ column: "name", descending: false }], after: ["a"] }),
    ).rejects.toThrow("cursor");
    await expect(async () => db.read.list(table, { ...page, after: [1] })).rejects.toThrow(TypeError);
    expect(await db.read.list(table, { ...page, limit: 0 })).toEqual([]);
  });
});

/**
 * Replaces the rows of the table by the outcome of `changes`, some in the same transaction, and returns the expected
 * rows.
 */
async function apply(db: Database, changes: readonly Change[]): Promise<Map<string, Row>> {
  const model = new Map<string, Row>();
  await db.transact(async (session) => {
    for (const { uid } of await session.list(table, { orderBy: [], skip: 0, limit: 1000 }))
      await session.remove(table, uid);
  });
  expect(await db.read.count(table, {})).toBe(0);
  for (let i = 0; i < changes.length; i += 60) {
    await db.transact(async (session) => {
      for (const step of changes.slice(i, i + 60)) {
        const row = model.get(step.uid);
        if (step.kind === "insert" && row === undefined) {
          model.set(
            step.uid,
            await session.insert(
              table,
              identityRow(step.uid, { name: step.name, relationship: step.number, issuer: step.name }, step.time),
            ),
          );
        } else if (row !== undefined && step.kind === "update") {
          model.set(
            step.uid,
            await session.update(table, {
              ...row,
              updateTimeUs: step.time,
              columns: { ...row.columns, name: step.name },
            }),
          );
        } else if (row !== undefined && step.kind === "setColumns") {
          await session.setColumns(table, step.uid, { relationship: step.number });
          model.set(step.uid, { ...row, columns: { ...row.columns, relationship: step.number } });
        } else if (step.kind === "remove") {
          expect(await session.remove(table, step.uid)).toEqual(row);
          model.delete(step.uid);
        }
      }
      expect(await session.count(table, {})).toBe(model.size);
    });
  }
  return model;
}
