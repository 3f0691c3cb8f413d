/** The query plans of lists on PostgreSQL: ranges of the right index, and no sort where an index has the order. */
import pg from "pg";
import { expect, test } from "vitest";
import { postgres } from "../../src/store/engines/postgres/engine.ts";
import { sessionSettings } from "../../src/store/engines/postgres/session-settings.ts";
import { types } from "../../src/store/engines/postgres/statements.ts";
import type { Database, ListQuery, TableSpec } from "../../src/store/index.ts";
import { count } from "../../src/store/lists/count.ts";
import { list } from "../../src/store/lists/plan.ts";
import type { Reading } from "../../src/store/lists/reading.ts";
import { tablesOf } from "../../src/store/lists/table.ts";
import { counterStatements } from "../../src/store/logs/counters.ts";
import { parametersOf, type Statement, type Values } from "../../src/store/sql/statement.ts";
import { onPostgres } from "./databases.ts";
import { repos } from "./tables.ts";

const versions: TableSpec = { name: "artifact_versions", columns: { artifact_version: "text", version_order: "text" } };
const timeUs = 1_700_000_000_000_000;
/** 3000 rows: 100 groups of 15 in one root, a group of 1400 and one of 100 in another. */
const groups = [
  ...Array.from({ length: 1500 }, (_, i) => `r/${i % 100}`),
  ...Array.from({ length: 1400 }, () => "s/big"),
  ...Array.from({ length: 100 }, () => "s/small"),
];
const manyGroups = Array.from({ length: 100 }, (_, i) => ({ root: `r/${i}`, self: false }));

async function fill(database: Database): Promise<void> {
  await database.transact(async (session) => {
    for (const [i, parent] of groups.entries()) {
      const [uid, time] = [`${parent}/${i}`, timeUs + ((i * 7919) % 3000)];
      const row = { uid, parent, createTimeUs: time, updateTimeUs: time, body: new Uint8Array() };
      await session.insert(repos, { ...row, columns: { name: `n${(i * 31) % 3000}` } });
      await session.insert(versions, {
        ...row,
        columns: { artifact_version: `${i}`, version_order: `${(i * 31) % 3000}` },
      });
    }
  });
}

const by = (column: string, descending = false) => [{ column, descending }];
const small = [{ root: "s/small", self: true }];
const large = [{ root: "s", self: false }];

interface Case {
  readonly title: string;
  readonly table?: TableSpec;
  readonly query: Partial<ListQuery>;
  /** The scans and sorts of its page, and of a total that the counters do not have. */
  readonly plan: readonly string[];
  readonly total?: readonly string[];
}

const cases: readonly Case[] = [
  {
    title: "all by uid",
    query: {},
    plan: ["Index Scan using repos_uid on repos t", "Index Cond: ((uid >= $1) AND (uid < $2))"],
  },
  {
    title: "a later page by uid",
    query: { after: ["s/big/2000"], orderBy: by("uid") },
    plan: ["Index Scan using repos_uid on repos t", "Index Cond: ((uid >= $1) AND (uid < $2))"],
  },
  {
    title: "a subtree by uid",
    query: { within: small },
    plan: ["Index Scan using repos_uid on repos t", "Index Cond: ((uid >= $1) AND (uid < $2))"],
    total: ["Index Only Scan using repos_uid on repos t", "Index Cond: (uid = ANY (uids))"],
  },
  {
    title: "a subtree by uid, descending",
    query: { within: large, orderBy: by("uid", true) },
    plan: ["Index Scan Backward using repos_uid on repos t", "Index Cond: ((uid >= $1) AND (uid < $2))"],
  },
  { title: "all by name", query: { orderBy: by("name") }, plan: ["Index Scan using repos_name on repos t"] },
  {
    title: "a later page by name",
    query: { orderBy: by("name"), after: ["n5", "r/1"] },
    plan: ["Index Scan using repos_name on repos t", "Index Cond: (ROW(name, uid) > ROW($1, $2))"],
  },
  {
    title: "all by time, descending",
    query: { orderBy: by("create_time_us", true) },
    plan: ["Index Scan Backward using repos_create_time_us on repos t"],
  },
  {
    title: "a later page by time, descending",
    query: { orderBy: by("create_time_us", true), after: [timeUs + 500, "r/1"] },
    plan: [
      "Index Scan Backward using repos_create_time_us on repos t",
      "Index Cond: (ROW(create_time_us, uid) < ROW($1, $2))",
    ],
  },
  {
    title: "all by update time",
    query: { orderBy: by("update_time_us") },
    plan: ["Index Scan using repos_update_time_us on repos t"],
  },
  { title: "all by parent", query: { orderBy: by("parent") }, plan: ["Index Scan using repos_parent on repos t"] },
  {
    title: "by two columns",
    query: { orderBy: [...by("parent"), ...by("name", true)] },
    plan: [
      "Incremental Sort",
      'Sort Key: parent COLLATE "C", name COLLATE "C" DESC, uid COLLATE "C" DESC',
      "Index Scan using repos_parent_name on repos t",
    ],
  },
  {
    title: "a later page by two columns",
    query: { orderBy: [...by("parent"), ...by("name", true)], after: ["s/big", "n5", "s/big/7"] },
    plan: [
      "Incremental Sort",
      'Sort Key: parent COLLATE "C", name COLLATE "C" DESC, uid COLLATE "C" DESC',
      "Index Scan using repos_parent on repos t",
      "Index Cond: (parent >= $1)",
      "Filter: (((parent || ''::text) > $2) OR (((parent || ''::text) = $3) AND (((name || ''::text) < $4) OR (((name || ''::text) = $5) AND ((uid || ''::text) < $6)))))",
    ],
  },
  {
    title: "a large subtree by name",
    query: { within: large, orderBy: by("name") },
    plan: [
      "Index Scan using repos_name on repos t",
      "Filter: (((uid || ''::text) >= $1) AND ((uid || ''::text) < $2))",
    ],
  },
  {
    title: "a later page of a large subtree by name",
    query: { within: large, orderBy: by("name"), after: ["n5", "r/1"] },
    plan: [
      "Index Scan using repos_name on repos t",
      "Index Cond: (ROW(name, uid) > ROW($3, $4))",
      "Filter: (((uid || ''::text) >= $1) AND ((uid || ''::text) < $2))",
    ],
  },
  {
    title: "a small subtree by name",
    query: { within: small, orderBy: by("name") },
    plan: [
      "Sort",
      "Sort Key: ((name || ''::text)) COLLATE \"C\", ((uid || ''::text)) COLLATE \"C\"",
      "Index Scan using repos_uid on repos t",
      "Index Cond: ((uid >= $1) AND (uid < $2))",
    ],
    total: ["Index Only Scan using repos_uid on repos t", "Index Cond: (uid = ANY (uids))"],
  },
  {
    title: "children by uid",
    query: { parent: "s/big" },
    plan: ["Index Scan using repos_parent on repos t", "Index Cond: ((parent = $3) AND (uid >= $1) AND (uid < $2))"],
  },
  {
    title: "children by name",
    query: { parent: "s/big", orderBy: by("name") },
    plan: [
      "Incremental Sort",
      'Sort Key: name COLLATE "C", uid COLLATE "C"',
      "Index Scan using repos_parent_name on repos t",
      "Index Cond: (parent = $1)",
    ],
  },
  {
    title: "a later page of children by name",
    query: { parent: "s/big", orderBy: by("name"), after: ["n5", "s/big/7"] },
    plan: [
      "Incremental Sort",
      'Sort Key: name COLLATE "C", uid COLLATE "C"',
      "Index Scan using repos_parent_name on repos t",
      "Index Cond: ((parent = $1) AND (name >= $2))",
      "Filter: (ROW(name, uid) > ROW($2, $3))",
    ],
  },
  {
    title: "few children by time",
    query: { parent: "s/small", orderBy: by("create_time_us", true) },
    plan: [
      "Sort",
      "Sort Key: ((create_time_us + 0)) DESC, ((uid || ''::text)) COLLATE \"C\" DESC",
      "Index Scan using repos_parent on repos t",
      "Index Cond: (parent = $1)",
    ],
  },
  {
    title: "many children by time",
    query: { parent: "s/big", orderBy: by("create_time_us", true) },
    plan: [
      "Index Scan Backward using repos_create_time_us on repos t",
      "Filter: (((uid || ''::text) >= $1) AND ((uid || ''::text) < $2) AND ((parent || ''::text) = $3))",
    ],
  },
  {
    title: "a name",
    query: { where: [{ column: "name", equals: "n7" }] },
    plan: ["Index Scan using repos_name on repos t", "Index Cond: ((name = $3) AND (uid >= $1) AND (uid < $2))"],
    total: ["Index Only Scan using repos_name on repos t", "Index Cond: (name = $1)"],
  },
  {
    title: "names with a prefix, by name",
    query: { where: [{ column: "name", startsWith: "n2" }], orderBy: by("name") },
    plan: ["Index Scan using repos_name on repos t", "Index Cond: ((name >= $1) AND (name < $2))"],
    total: ["Index Only Scan using repos_name on repos t", "Index Cond: ((name >= $1) AND (name < $2))"],
  },
  {
    title: "a later page of names with a prefix, by name",
    query: { where: [{ column: "name", startsWith: "n2" }], orderBy: by("name"), after: ["n21", "r/1"] },
    plan: [
      "Index Scan using repos_name on repos t",
      "Index Cond: ((name < $2) AND (ROW(name, uid) > ROW($3, $4)))",
      "Filter: ((name || ''::text) >= $1)",
    ],
    total: ["Index Only Scan using repos_name on repos t", "Index Cond: ((name >= $1) AND (name < $2))"],
  },
  {
    title: "many names with a prefix, by time",
    query: { where: [{ column: "name", startsWith: "n2" }], orderBy: by("create_time_us") },
    plan: [
      "Index Only Scan using repos_name on repos t",
      "Index Cond: ((name >= $1) AND (name < $2))",
      "Index Scan using repos_create_time_us on repos t",
      "Filter: (((name || ''::text) >= $1) AND ((name || ''::text) < $2))",
    ],
    total: ["Index Only Scan using repos_name on repos t", "Index Cond: ((name >= $1) AND (name < $2))"],
  },
  {
    title: "many names with a prefix in a small subtree, by name",
    query: { within: small, where: [{ column: "name", startsWith: "n" }], orderBy: by("name") },
    plan: [
      "Sort",
      "Sort Key: ((name || ''::text)) COLLATE \"C\", ((uid || ''::text)) COLLATE \"C\"",
      "Index Scan using repos_uid on repos t",
      "Index Cond: ((uid >= $1) AND (uid < $2))",
      "Filter: (((name || ''::text) >= $3) AND ((name || ''::text) < $4))",
    ],
    total: [
      "Index Scan using repos_uid on repos t",
      "Index Cond: ((uid >= $1) AND (uid < $2))",
      "Filter: (((name || ''::text) >= $3) AND ((name || ''::text) < $4))",
    ],
  },
  {
    title: "few names with a prefix in a large subtree, by name",
    query: { within: large, where: [{ column: "name", startsWith: "n299" }], orderBy: by("name") },
    plan: [
      "Index Scan using repos_name on repos t",
      "Index Cond: ((name >= $3) AND (name < $4))",
      "Filter: (((uid || ''::text) >= $1) AND ((uid || ''::text) < $2))",
    ],
    total: [
      "Index Scan using repos_uid on repos t",
      "Index Cond: ((uid >= $1) AND (uid < $2))",
      "Filter: ((name >= $3) AND (name < $4))",
    ],
  },
  {
    title: "many names with a prefix in a large subtree, by name",
    query: { within: large, where: [{ column: "name", startsWith: "n" }], orderBy: by("name") },
    plan: [
      "Index Scan using repos_name on repos t",
      "Index Cond: ((name >= $3) AND (name < $4))",
      "Filter: (((uid || ''::text) >= $1) AND ((uid || ''::text) < $2))",
    ],
    total: [
      "Index Scan using repos_uid on repos t",
      "Index Cond: ((uid >= $1) AND (uid < $2))",
      "Filter: ((name >= $3) AND (name < $4))",
    ],
  },
  {
    title: "a name in a subtree",
    query: { within: large, where: [{ column: "name", equals: "n7" }] },
    plan: ["Index Scan using repos_name on repos t", "Index Cond: ((name = $3) AND (uid >= $1) AND (uid < $2))"],
    total: ["Index Only Scan using repos_name on repos t", "Index Cond: ((name = $3) AND (uid >= $1) AND (uid < $2))"],
  },
  {
    title: "a name of a child",
    query: { parent: "s/big", where: [{ column: "name", equals: "n7" }] },
    plan: [
      "Index Scan using repos_name on repos t",
      "Index Cond: ((name = $4) AND (uid >= $1) AND (uid < $2))",
      "Filter: (parent = $3)",
    ],
    total: [
      "Index Scan using repos_name on repos t",
      "Index Cond: ((name = $4) AND (uid >= $1) AND (uid < $2))",
      "Filter: (parent = $3)",
    ],
  },
  {
    title: "many subtrees by uid",
    query: { within: manyGroups },
    plan: [
      "Index Scan using repos_uid on repos t",
      "Index Cond: ((uid >= $1) AND (uid < $2))",
      "Index Only Scan using repos_uid on repos s",
      "Index Cond: ((uid >= (r.value ->> 0)) AND (uid < (r.value ->> 1)))",
      "Index Scan using repos_uid on repos i",
      "Index Cond: (uid = s.uid)",
    ],
  },
  {
    title: "many subtrees by name",
    query: { within: manyGroups, orderBy: by("name") },
    plan: [
      "Index Only Scan using repos_name on repos t",
      "Sort",
      "Sort Key: ((t.name || ''::text)) COLLATE \"C\", ((t.uid || ''::text)) COLLATE \"C\"",
      "Index Scan using repos_uid on repos t",
      "Index Cond: (uid = ANY (uids))",
    ],
  },
  {
    title: "named uids",
    query: { uids: ["r/1/1", "r/1/101"], orderBy: by("name") },
    plan: [
      "Sort",
      "Sort Key: ((t.name || ''::text)) COLLATE \"C\", ((t.uid || ''::text)) COLLATE \"C\"",
      "Index Scan using repos_uid on repos t",
      "Index Cond: (uid = ANY (uids))",
    ],
    total: ["Index Only Scan using repos_uid on repos t", "Index Cond: (uid = ANY (uids))"],
  },
  {
    title: "children by a column of theirs",
    table: versions,
    query: { parent: "s/big", orderBy: by("version_order", true) },
    plan: [
      "Index Scan Backward using artifact_versions_parent_version_order on artifact_versions t",
      "Index Cond: (parent = $1)",
    ],
  },
];

onPostgres("lists", (database) => {
  test("read ranges of the right index", async () => {
    await fill(await database().open());
    await database().sql("analyze");
    const client = new pg.Client({ connectionString: database().url, types });
    await client.connect();
    try {
      await client.query(sessionSettings);
      const plans: Case[] = [];
      for (const { title, table = repos, query } of cases) {
        const all = { orderBy: [], skip: 0, limit: 20, ...query };
        const total = await plansOf(client, table, (reading) => count(reading, query));
        plans.push({
          title,
          ...(table !== repos && { table }),
          query,
          plan: await plansOf(client, table, (reading) => list(reading, all)),
          ...(total.length > 0 && { total }),
        });
      }
      expect(plans).toEqual(cases);
    } finally {
      await client.end();
    }
  });
});

/** The scans and sorts of the statements that `read` runs. */
async function plansOf(client: pg.Client, spec: TableSpec, read: (reading: Reading) => unknown): Promise<string[]> {
  const steps: string[] = [];
  const { sumMany } = counterStatements(postgres);
  const rowsOf = async (statement: Statement, values: Values) =>
    (await client.query<unknown[]>({ text: statement.text, values: parametersOf(statement, values), rowMode: "array" }))
      .rows;
  await read({
    table: tablesOf(postgres)(spec),
    connection: {
      rows: async (statement, values) => {
        steps.push(...(await explain(client, statement, values)));
        return rowsOf(statement, values);
      },
      run: () => 0,
      send: () => {},
    },
    longQueries: undefined,
    total: async (counterClass, ancestors) => {
      const counted = { table: spec.name, class: counterClass, ancestors: JSON.stringify(ancestors) };
      return (await rowsOf(sumMany, counted))[0]![0] as number;
    },
  });
  return [...new Set(steps)];
}

/** The generic plan of a statement, as the server runs it. */
async function explain(client: pg.Client, statement: Statement, values: Values): Promise<string[]> {
  await client.query(`prepare explained as ${statement.text}`);
  try {
    const literals = parametersOf(statement, values).map((value) =>
      typeof value === "number" ? `${value}` : pg.escapeLiteral(`${value}`),
    );
    const parameters = literals.length > 0 ? `(${literals.join(", ")})` : "";
    const { rows } = await client.query<string[]>({
      text: `explain (costs off) execute explained${parameters}`,
      rowMode: "array",
    });
    return rows
      .map(([line]) =>
        line!.replace(/^[ ]*(-> )?[ ]*/, "").replace(/ANY \((\(InitPlan \d+\)\.col1|\$\d+)\)/, "ANY (uids)"),
      )
      .filter(
        (line) => /Scan|Sort$|Sort Key|Index Cond|Filter/.test(line) && !/^(Function|CTE|Subquery) Scan/.test(line),
      );
  } finally {
    await client.query("deallocate explained");
  }
}
