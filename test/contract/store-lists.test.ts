/** Lists and counts, compared with a model that sorts and filters in memory. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Condition,
  columnValue,
  type Database,
  type FacetValue,
  type OrderTerm,
  type Row,
  type Selection,
  type TableSpec,
} from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const table: TableSpec = {
  name: "identities",
  facets: { name: "text", relationship: "integer", issuer: "text", subject: "text", last_seen_us: "integer" },
};

// A tree that is wide at the bottom, of ids that sort beside one another.
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
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("setFacets" as const), uid: uids, number: numbers }) },
);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ column: fc.constant("name"), equals: fc.option(names) }),
  fc.record({ column: fc.constant("name"), in: fc.array(names) }),
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
  test("answer what a model in memory answers", { timeout: 120_000 }, async () => {
    const db = await database().open();
    await db.migrate();
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 200, size: "max" }),
        fc.array(query, { minLength: 5, maxLength: 15 }),
        async (changes, queries) => {
          const model = await apply(db, changes);
          for (const { selection, orderBy, pageSize, skip } of queries) {
            const expected = modelList(model, selection, orderBy);
            expect(await db.read.count(table, selection)).toBe(expected.length);
            expect(await db.read.exists(table, selection)).toBe(expected.length > 0);
            expect((await walk(db, selection, orderBy, pageSize, skip)).map(({ uid }) => uid)).toEqual(
              expected.slice(skip).map(({ uid }) => uid),
            );
          }
        },
      ),
      { numRuns: database().name === "sqlite" ? 300 : 60 },
    );
  });
});

/** Replaces what is in the table by the outcome of `changes`, some in the same transaction; gives the rows that must be there. */
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
            await session.insert(table, {
              uid: step.uid,
              parent: step.uid.split("/").slice(0, -1).join("/"),
              createTimeUs: step.time,
              updateTimeUs: step.time,
              body: new Uint8Array([1]),
              facets: {
                name: step.name,
                relationship: step.number,
                issuer: step.name,
                subject: "",
                last_seen_us: null,
              },
            }),
          );
        } else if (row !== undefined && step.kind === "update") {
          model.set(
            step.uid,
            await session.update(table, {
              ...row,
              updateTimeUs: step.time,
              facets: { ...row.facets, name: step.name },
            }),
          );
        } else if (row !== undefined && step.kind === "setFacets") {
          await session.setFacets(table, step.uid, { relationship: step.number });
          model.set(step.uid, { ...row, facets: { ...row.facets, relationship: step.number } });
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

/** Follows cursors to the end. */
async function walk(
  db: Database,
  selection: Selection,
  orderBy: OrderTerm[],
  pageSize: number,
  skip: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  const columns = [...orderBy.map(({ column }) => column), "uid"];
  for (let after: FacetValue[] | undefined; ; ) {
    const page = await db.read.list(table, {
      ...selection,
      orderBy,
      ...(after && { after }),
      skip: after === undefined ? skip : 0,
      limit: pageSize,
    });
    rows.push(...page);
    if (page.length < pageSize) return rows;
    after = columns.map((column) => columnValue(page.at(-1)!, column));
  }
}

function modelList(model: Map<string, Row>, selection: Selection, orderBy: OrderTerm[]): Row[] {
  const tie = { column: "uid", descending: orderBy.at(-1)?.descending ?? false };
  return [...model.values()]
    .filter((row) => isSelected(row, selection))
    .sort((a, b) => {
      for (const { column, descending } of [...orderBy, tie]) {
        const order = compare(columnValue(a, column), columnValue(b, column));
        if (order !== 0) return descending ? -order : order;
      }
      return 0;
    });
}

function isSelected(row: Row, { within, parent, uids, where = [] }: Selection): boolean {
  return (
    (within?.some(({ root, self }) => root === "" || row.uid.startsWith(`${root}/`) || (self && row.uid === root)) ??
      true) &&
    (parent === undefined || row.parent === parent) &&
    (uids?.includes(row.uid) ?? true) &&
    where.every((condition) => {
      const value = columnValue(row, condition.column);
      if ("equals" in condition) return value === (condition.equals ?? "");
      if ("in" in condition) return condition.in.includes(value);
      if ("notIn" in condition) return !condition.notIn.includes(value);
      return (value as number) > condition.greaterThan;
    })
  );
}

function compare(a: FacetValue, b: FacetValue): number {
  return typeof a === "number" ? a - (b as number) : Buffer.compare(Buffer.from(a!), Buffer.from(b as string));
}
