/** The query plans of lists on SQLite: ranges of the right index, and no sort where an index has the order. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sqlite } from "../../../src/store/engines/sqlite/engine.ts";
import { type ListQuery, openDatabase, type Selection, type TableSpec } from "../../../src/store/index.ts";
import { count } from "../../../src/store/lists/count.ts";
import { list } from "../../../src/store/lists/plan.ts";
import type { Reading } from "../../../src/store/lists/reading.ts";
import { tablesOf } from "../../../src/store/lists/table.ts";
import { counterStatements } from "../../../src/store/logs/counters.ts";
import { parametersOf, type Statement } from "../../../src/store/sql/statement.ts";

const repos: TableSpec = { name: "repos", columns: { name: "text" } };
const versions: TableSpec = { name: "artifact_versions", columns: { artifact_version: "text", version_order: "text" } };
const advisories: TableSpec = { name: "advisories", columns: { terms: "texts", search: "search" } };
const timeUs = 1_700_000_000_000_000;
/** 3000 rows: 100 groups of 15 in one root, a group of 1400 and one of 100 in another. */
const groups = [
  ...Array.from({ length: 1500 }, (_, i) => `r/${i % 100}`),
  ...Array.from({ length: 1400 }, () => "s/big"),
  ...Array.from({ length: 100 }, () => "s/small"),
];
const manyGroups = Array.from({ length: 100 }, (_, i) => ({ root: `r/${i}`, self: false }));

let folder: string;
let raw: DatabaseSync;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-plans-"));
  const path = join(folder, "platform.db");
  const database = await openDatabase(`sqlite:${path}`);
  await database.migrate();
  await database.transact(async (session) => {
    for (const [i, parent] of groups.entries()) {
      const [uid, time] = [`${parent}/${i}`, timeUs + ((i * 7919) % 3000)];
      await session.insert(repos, {
        uid,
        parent,
        createTimeUs: time,
        updateTimeUs: time,
        body: new Uint8Array(),
        columns: { name: `n${(i * 31) % 3000}` },
      });
      await session.insert(versions, {
        uid,
        parent,
        createTimeUs: time,
        updateTimeUs: time,
        body: new Uint8Array(),
        columns: { artifact_version: `${i}`, version_order: `${(i * 31) % 3000}` },
      });
      await session.insert(advisories, {
        uid,
        parent,
        createTimeUs: time,
        updateTimeUs: time,
        body: new Uint8Array(),
        columns: {
          terms: ["type:apk", `name:${i % 300}`, `id:${i}`],
          search: `package ${i % 300} in ${i}${i < 20 ? "!" : ""}`,
        },
      });
    }
  });
  await database.close();
  raw = new DatabaseSync(path);
});

afterAll(async () => {
  raw.close();
  await rm(folder, { recursive: true });
});

const byUid = [{ column: "uid", descending: false }];
const byName = [{ column: "name", descending: false }];
const byTimeDown = [{ column: "create_time_us", descending: true }];
const sorts = "USE TEMP B-TREE FOR ORDER BY";

const lists: { title: string; query: Partial<ListQuery>; plan: string[] }[] = [
  {
    title: "all by uid",
    query: { orderBy: byUid },
    plan: ["SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)"],
  },
  {
    title: "a later page by uid",
    query: { orderBy: byUid, after: ["s/big/2000"] },
    plan: ["SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)"],
  },
  {
    title: "a subtree by uid, descending",
    query: { within: [{ root: "s", self: true }], orderBy: [{ column: "uid", descending: true }] },
    plan: ["SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)"],
  },
  { title: "all by name", query: { orderBy: byName }, plan: ["SCAN t USING INDEX repos_name"] },
  {
    title: "a later page by name",
    query: { orderBy: byName, after: ["n5", "r/1"] },
    plan: ["SEARCH t USING INDEX repos_name ((name,uid)>(?,?))"],
  },
  {
    title: "a later page by time, descending",
    query: { orderBy: byTimeDown, after: [timeUs + 500, "r/1"] },
    plan: ["SEARCH t USING INDEX repos_create_time_us ((create_time_us,uid)<(?,?))"],
  },
  {
    title: "a later page in mixed directions",
    query: { orderBy: [...byName, { column: "uid", descending: true }], after: ["n5", "r/1"] },
    plan: ["SEARCH t USING INDEX repos_name (name>?)", "USE TEMP B-TREE FOR LAST TERM OF ORDER BY"],
  },
  {
    title: "a large subtree by name",
    query: { within: [{ root: "s", self: false }], orderBy: byName },
    plan: ["SCAN t USING INDEX repos_name"],
  },
  {
    title: "a later page of a large subtree by name",
    query: { within: [{ root: "s", self: false }], orderBy: byName, after: ["n5", "r/1"] },
    plan: ["SEARCH t USING INDEX repos_name ((name,uid)>(?,?))"],
  },
  {
    title: "a small subtree by name",
    query: { within: [{ root: "s/small", self: true }], orderBy: byName, after: ["n5", "r/1"] },
    plan: ["SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)", sorts],
  },
  {
    title: "children by uid",
    query: { parent: "s/big", orderBy: byUid },
    plan: ["SEARCH t USING INDEX repos_parent (parent=? AND uid>? AND uid<?)"],
  },
  {
    title: "children by name",
    query: { parent: "s/big", orderBy: byName },
    plan: ["SEARCH t USING INDEX repos_parent_name (parent=?)"],
  },
  {
    title: "a later page of children by name",
    query: { parent: "s/big", orderBy: byName, after: ["n5", "r/1"] },
    plan: ["SEARCH t USING INDEX repos_parent_name (parent=? AND name>?)"],
  },
  {
    title: "few children by time",
    query: { parent: "s/small", orderBy: byTimeDown },
    plan: ["SEARCH t USING INDEX repos_parent (parent=?)", sorts],
  },
  {
    title: "many children by time",
    query: { parent: "s/big", orderBy: byTimeDown },
    plan: ["SCAN t USING INDEX repos_create_time_us"],
  },
  {
    title: "few names with a prefix, by name",
    query: { where: [{ column: "name", startsWith: "n299" }], orderBy: [{ column: "name", descending: false }] },
    plan: ["SEARCH t USING INDEX repos_name (name>? AND name<?)"],
  },
  {
    title: "many names with a prefix, by name",
    query: { where: [{ column: "name", startsWith: "n2" }], orderBy: [{ column: "name", descending: false }] },
    plan: ["SEARCH t USING INDEX repos_name (name>? AND name<?)"],
  },
  {
    title: "a later page of names with a prefix, by name",
    query: { where: [{ column: "name", startsWith: "n2" }], orderBy: byName, after: ["n21", "r/1"] },
    plan: ["SEARCH t USING INDEX repos_name ((name,uid)>(?,?) AND name<?)"],
  },
  {
    title: "a later page of names with a prefix, by name, descending",
    query: {
      where: [{ column: "name", startsWith: "n2" }],
      orderBy: [{ column: "name", descending: true }],
      after: ["n21", "r/1"],
    },
    plan: ["SEARCH t USING INDEX repos_name (name>? AND (name,uid)<(?,?))"],
  },
  {
    title: "many names with a prefix, by time",
    query: { where: [{ column: "name", startsWith: "n2" }], orderBy: byTimeDown },
    plan: ["SEARCH t USING COVERING INDEX repos_name (name>? AND name<?)", "SCAN t USING INDEX repos_create_time_us"],
  },
  {
    title: "many names with a prefix in a small subtree, by name",
    query: { within: [{ root: "s/small", self: true }], where: [{ column: "name", startsWith: "n" }], orderBy: byName },
    plan: ["SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)", sorts],
  },
  {
    title: "few names with a prefix in a large subtree, by name",
    query: { within: [{ root: "s", self: true }], where: [{ column: "name", startsWith: "n299" }], orderBy: byName },
    plan: ["SEARCH t USING INDEX repos_name (name>? AND name<?)"],
  },
  {
    title: "many names with a prefix in a large subtree, by name",
    query: { within: [{ root: "s", self: true }], where: [{ column: "name", startsWith: "n" }], orderBy: byName },
    plan: ["SEARCH t USING INDEX repos_name (name>? AND name<?)"],
  },
  {
    title: "names with a prefix in many subtrees, by name",
    query: { within: manyGroups, where: [{ column: "name", startsWith: "n2" }], orderBy: byName },
    plan: [
      "SEARCH t USING COVERING INDEX repos_name (name>? AND name<?)",
      "SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid=?)",
      sorts,
      "SEARCH t USING COVERING INDEX repos_name ((name,uid)>(?,?) AND name<?)",
    ],
  },
  {
    title: "a name in a subtree, by time",
    query: { within: [{ root: "s", self: true }], where: [{ column: "name", equals: "n7" }], orderBy: byTimeDown },
    plan: [
      "SEARCH t USING COVERING INDEX repos_name (name=? AND uid>? AND uid<?)",
      "SEARCH t USING INDEX repos_name (name=? AND uid>? AND uid<?)",
      sorts,
    ],
  },
  {
    title: "many subtrees by name",
    query: { within: manyGroups, orderBy: byName },
    plan: ["SCAN t USING COVERING INDEX repos_name", "SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid=?)", sorts],
  },
  {
    title: "few rows of many subtrees by name",
    query: { within: manyGroups.slice(0, 5), orderBy: byName },
    plan: ["SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)", sorts],
  },
  {
    title: "many subtrees by uid",
    query: { within: manyGroups, orderBy: byUid },
    plan: [
      "SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)",
      "SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid=?)",
    ],
  },
  {
    title: "named uids",
    query: { uids: ["r/1/1", "r/1/101"], orderBy: byName },
    plan: ["SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid=?)", sorts],
  },
];

test.each(lists)("a page of $title", async ({ query, plan }) => {
  const plans = await plansOf(repos, (reading) => list(reading, { orderBy: [], skip: 0, limit: 20, ...query }));
  expect(distinct(plans.filter((step) => /^(SCAN|SEARCH) t\b|TEMP B-TREE/.test(step)))).toEqual(plan);
  expect(plans.filter((step) => /^SCAN (?!t USING|[rcb]$|.* VIRTUAL TABLE)/.test(step))).toEqual([]);
});

const counts: { title: string; selection: Selection; plan: string[] }[] = [
  { title: "all", selection: {}, plan: [] },
  { title: "subtrees", selection: { within: manyGroups }, plan: [] },
  { title: "children", selection: { parent: "s/big" }, plan: [] },
  {
    title: "a subtree with its root",
    selection: { within: [{ root: "s", self: true }] },
    plan: ["SEARCH t USING COVERING INDEX sqlite_autoindex_repos_1 (uid=?)"],
  },
  {
    title: "a name",
    selection: { where: [{ column: "name", equals: "n7" }] },
    plan: ["SEARCH t USING COVERING INDEX repos_name (name=?)"],
  },
  {
    title: "a name in a subtree",
    selection: { within: [{ root: "s", self: false }], where: [{ column: "name", equals: "n7" }] },
    plan: ["SEARCH t USING COVERING INDEX repos_name (name=? AND uid>? AND uid<?)"],
  },
  {
    title: "a name of a child",
    selection: { parent: "s/big", where: [{ column: "name", equals: "n7" }] },
    plan: ["SEARCH t USING COVERING INDEX repos_parent_name (parent=? AND name=?)"],
  },
];

test.each(counts)("the total of $title", async ({ selection, plan }) => {
  const plans = await plansOf(repos, (reading) => count(reading, selection));
  expect(plans.filter((step) => /^(SCAN|SEARCH) t\b/.test(step))).toEqual(plan);
});

const byVersion = [{ column: "version_order", descending: true }];
const ofBig = { where: [{ column: "parent", equals: "s/big" }] };
const inOrder = "SEARCH t USING INDEX artifact_versions_parent_version_order (parent=?)";

const children: { title: string; query: Partial<ListQuery>; plan: string[] }[] = [
  { title: "by a column that an index has", query: { ...ofBig, orderBy: byVersion }, plan: [inOrder] },
  { title: "of a small parent", query: { parent: "s/small", orderBy: byVersion }, plan: [inOrder] },
  {
    title: "by it, a later page",
    query: { ...ofBig, orderBy: byVersion, after: ["5", "s/big/5"] },
    plan: ["SEARCH t USING INDEX artifact_versions_parent_version_order (parent=? AND (version_order,uid)<(?,?))"],
  },
  {
    title: "by a column that is unique among them",
    query: { ...ofBig, orderBy: [{ column: "artifact_version", descending: false }] },
    plan: ["SEARCH t USING INDEX artifact_versions_parent_artifact_version (parent=?)"],
  },
  {
    title: "by the parent that they share",
    query: { ...ofBig, orderBy: [{ column: "parent", descending: false }] },
    plan: ["SEARCH t USING INDEX artifact_versions_parent (parent=?)"],
  },
  {
    title: "by a column that no such index has",
    query: { ...ofBig, orderBy: byTimeDown },
    plan: ["SCAN t USING INDEX artifact_versions_create_time_us"],
  },
];

test.each(children)("a page of children $title; their total needs no row", async ({ query, plan }) => {
  const planned = async (read: (reading: Reading) => unknown) =>
    distinct((await plansOf(versions, read)).filter((step) => /^(SCAN|SEARCH) t\b|TEMP B-TREE/.test(step)));
  expect(await planned((reading) => list(reading, { orderBy: [], skip: 0, limit: 20, ...query }))).toEqual(plan);
  expect(await planned((reading) => count(reading, query))).toEqual([]);
});

const byFilter = (...terms: string[]) => terms.map((term) => ({ column: "terms", hasAny: [term] }));
const byPart = (contains: string) => ({ column: "search", contains });
const inS = [{ root: "s", self: true }];
const terms = "SCAN advisories_terms VIRTUAL TABLE INDEX 0:M1";
const search = "SCAN advisories_search VIRTUAL TABLE INDEX 0:M1";
const trigrams = "SCAN advisories_search_trigrams VIRTUAL TABLE INDEX 1537:";
const foundRow = "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)";
const coveringTable = "SCAN t USING COVERING INDEX advisories_uid_parent_search";
const coveringRange = "SEARCH t USING COVERING INDEX advisories_uid_parent_search (uid>? AND uid<?)";
const byTerms = { list: [terms, foundRow, sorts], count: [terms] };
const bySearch = { list: [search, trigrams, foundRow, sorts], count: [search, trigrams, foundRow] };
/** Counted in the index alone. */
const byShort = { list: bySearch.list, count: [search, trigrams] };
/** Counted in the index, but so many that the page comes sooner from a walk. */
const walked = (plan: string) => ({ list: [terms, plan], count: [terms] });

const lookups: { title: string; query: Partial<ListQuery>; list: string[]; count: string[] }[] = [
  { title: "a filter", query: { where: byFilter("id:7") }, ...byTerms },
  { title: "a filter of many values", query: { where: [{ column: "terms", hasAny: ["id:7", "id:8"] }] }, ...byTerms },
  { title: "several filters", query: { where: byFilter("type:apk", "name:7") }, ...byTerms },
  {
    title: "a filter and an exclusion",
    query: { where: [...byFilter("name:7"), { column: "terms", hasNone: ["id:7"] }] },
    ...byTerms,
  },
  {
    title: "an exclusion in a subtree",
    query: { where: [{ column: "terms", hasNone: ["id:7"] }], within: inS },
    ...walked("SEARCH t USING INDEX advisories_uid (uid>? AND uid<?)"),
  },
  { title: "an exclusion of almost all", query: { where: [{ column: "terms", hasNone: ["type:apk"] }] }, ...byTerms },
  { title: "a filter by time", query: { where: byFilter("name:7"), orderBy: byTimeDown }, ...byTerms },
  {
    title: "a later page of a filter by time",
    query: { where: byFilter("name:7"), orderBy: byTimeDown, after: [timeUs + 500, "r/1"] },
    ...byTerms,
  },
  { title: "a filter in a subtree", query: { where: byFilter("name:7"), within: inS }, ...byTerms },
  { title: "several filters in a subtree", query: { where: byFilter("type:apk", "name:7"), within: inS }, ...byTerms },
  { title: "a filter of children", query: { where: byFilter("name:7"), parent: "s/big" }, ...byTerms },
  {
    title: "a filter in a few subtrees",
    query: { where: byFilter("name:7"), within: manyGroups.slice(0, 3) },
    ...byTerms,
  },
  {
    title: "a filter in many subtrees",
    query: { where: byFilter("name:7"), within: manyGroups },
    list: [terms, foundRow, sorts, "SEARCH t USING INDEX advisories_uid (uid=?)"],
    count: [terms, foundRow, sorts, "SEARCH t USING INDEX advisories_uid (uid=?)"],
  },
  {
    title: "a filter that all meet",
    query: { where: byFilter("type:apk") },
    ...walked("SEARCH t USING INDEX advisories_uid (uid>? AND uid<?)"),
  },
  {
    title: "a filter that all meet, by time",
    query: { where: byFilter("type:apk"), orderBy: byTimeDown },
    ...walked("SCAN t USING INDEX advisories_create_time_us"),
  },
  {
    title: "a filter that all meet, in a subtree",
    query: { where: byFilter("type:apk"), within: inS },
    ...walked("SEARCH t USING INDEX advisories_uid (uid>? AND uid<?)"),
  },
  {
    title: "a filter that all children meet",
    query: { where: byFilter("type:apk"), parent: "s/big" },
    ...walked("SEARCH t USING INDEX advisories_parent (parent=? AND uid>? AND uid<?)"),
  },
  { title: "a part", query: { where: [byPart("e 77")] }, ...bySearch },
  { title: "a part of three characters", query: { where: [byPart("e 7")] }, ...byShort },
  { title: "a part of two characters", query: { where: [byPart("77")] }, ...byShort },
  { title: "a part of one character", query: { where: [byPart("!")], orderBy: byTimeDown }, ...byShort },
  { title: "a part of two characters in a subtree", query: { where: [byPart("77")], within: inS }, ...bySearch },
  { title: "a part in a subtree", query: { where: [byPart("age 7 in")], within: inS }, ...bySearch },
  {
    title: "a part, and a filter that all meet",
    query: { where: [byPart("age 7 in"), ...byFilter("type:apk")] },
    list: [terms, ...bySearch.list],
    count: [terms, ...bySearch.count],
  },
  {
    title: "a part that all contain, and a filter",
    query: { where: [byPart("package"), ...byFilter("name:7")] },
    list: [terms, search, trigrams, foundRow, sorts],
    count: [terms, search, trigrams, foundRow],
  },
  {
    title: "a part of one character that all have",
    query: { where: [byPart("a")] },
    list: [search, trigrams, "SEARCH t USING INDEX advisories_uid_parent_search (uid>? AND uid<?)"],
    count: [search, trigrams],
  },
  {
    title: "a part that all contain",
    query: { where: [byPart("package")] },
    list: [search, trigrams, "SEARCH t USING INDEX advisories_uid_parent_search (uid>? AND uid<?)"],
    count: [search, trigrams, coveringTable],
  },
  {
    title: "a part that all contain, in a subtree",
    query: { where: [byPart("package")], within: inS },
    list: [search, trigrams, "SEARCH t USING INDEX advisories_uid_parent_search (uid>? AND uid<?)"],
    count: [search, trigrams, coveringRange],
  },
  {
    title: "a part that all contain, in a few subtrees",
    query: { where: [byPart("package")], within: manyGroups.slice(0, 3) },
    list: [
      search,
      trigrams,
      "SEARCH t USING INDEX advisories_uid (uid=?)",
      "SEARCH t USING INDEX advisories_uid_parent_search (uid>? AND uid<?)",
    ],
    count: [search, trigrams, coveringRange],
  },
  {
    title: "a part that all children contain",
    query: { where: [byPart("package")], parent: "s/big" },
    list: [search, trigrams, "SEARCH t USING INDEX advisories_uid_parent_search (uid>? AND uid<?)"],
    count: [search, trigrams, coveringRange],
  },
  {
    title: "a part that all contain, by time",
    query: { where: [byPart("package")], orderBy: byTimeDown },
    list: [search, trigrams, coveringTable, "SCAN t USING INDEX advisories_create_time_us"],
    count: [search, trigrams, coveringTable],
  },
  {
    title: "a part that all of few children contain, by time",
    query: { where: [byPart("package")], parent: "s/small", orderBy: byTimeDown },
    list: [
      search,
      trigrams,
      coveringRange,
      "SEARCH t USING INDEX advisories_uid_parent_search (uid>? AND uid<?)",
      sorts,
    ],
    count: [search, trigrams, coveringRange],
  },
];

test.each(lookups)("a page and the total of $title", async ({ query, list: page, count: total }) => {
  const steps = (plans: string[]) =>
    new Set(plans.filter((step) => /^(SCAN|SEARCH) (t|advisories\w*)\b|TEMP B-TREE/.test(step)));
  const listed = await plansOf(advisories, (reading) =>
    list(reading, { orderBy: byUid, skip: 0, limit: 20, ...query }),
  );
  expect(steps(listed)).toEqual(new Set(page));
  expect(steps(await plansOf(advisories, (reading) => count(reading, query)))).toEqual(new Set(total));
});

test.each<[string, Selection]>([
  ["names that begin with a text", { where: [{ column: "name", startsWith: "n" }] }],
  ["times after another", { where: [{ column: "create_time_us", greaterThan: timeUs }] }],
])("the total of %s reads a small scope, and not what the index has of others", async (_what, { where }) => {
  const scope = "SEARCH t USING INDEX sqlite_autoindex_repos_1 (uid>? AND uid<?)";
  const selection = { within: [{ root: "s/small", self: true }], where: where! };
  expect(await plansOf(repos, (reading) => count(reading, selection))).toEqual([scope]);
});

test("counters are read by their key", () => {
  const search = "SEARCH c USING PRIMARY KEY (ancestor=? AND table_name=? AND class=?)";
  const { sum, sumMany } = counterStatements(sqlite);
  expect(explain(sum)).toEqual([search]);
  expect(explain(sumMany)).toEqual([expect.stringMatching(/^SCAN .*VIRTUAL TABLE/), search]);
});

test("rows and children are found by their indexes", () => {
  const { row } = tablesOf(sqlite)(repos);
  expect(explain(row.has)).toEqual(["SEARCH repos USING COVERING INDEX sqlite_autoindex_repos_1 (uid=?)"]);
  expect(explain(row.child("name", true))).toEqual([
    "SEARCH repos USING INDEX repos_parent_name (parent=? AND name=?)",
  ]);
  const search = expect.stringMatching(/^SEARCH repos USING COVERING INDEX repos_parent\w* \(parent=\?\)$/);
  expect(explain(row.anyChild(3)).filter((step) => step.includes("repos"))).toEqual([search, search, search]);
});

test.each([["uid"], ["create_time_us"]])(
  "rows read as one value come in the order of %s: the ordered query runs by itself",
  async (column) => {
    const orderBy = [{ column, descending: false }];
    for (const selection of [{}, { within: [{ root: "a", self: false }] }, { uids: ["a/1", "a/2"] }]) {
      const plans = await plansOf(repos, (reading) =>
        list(reading, { ...selection, orderBy, skip: 0, limit: 20, columns: [] }),
      );
      expect(plans).toContain("CO-ROUTINE b");
      expect(plans.at(-1)).toBe("SCAN b");
    }
  },
);

const distinct = (steps: readonly string[]) => [...new Set(steps)];

/** The steps of the statements that `read` runs, with those that a step repeats. */
async function plansOf(table: TableSpec, read: (reading: Reading) => unknown): Promise<string[]> {
  const steps: string[] = [];
  const { sumMany } = counterStatements(sqlite);
  const rowsOf = (statement: Statement, values: Readonly<Record<string, unknown>>) => {
    const prepared = raw.prepare(statement.text);
    prepared.setReturnArrays(true);
    return prepared.all(...(parametersOf(statement, values) as SQLInputValue[])) as unknown as unknown[][];
  };
  await read({
    table: tablesOf(sqlite)(table),
    connection: {
      rows: (statement, values) => {
        steps.push(...explain(statement));
        return rowsOf(statement, values);
      },
      run: () => 0,
      send: () => {},
    },
    longQueries: undefined,
    total: async (counterClass, ancestors) =>
      rowsOf(sumMany, {
        table: table.name,
        class: counterClass,
        ancestors: JSON.stringify(ancestors),
      })[0]![0] as number,
  });
  return steps;
}

function explain({ text, slots }: Statement): string[] {
  return raw
    .prepare(`explain query plan ${text}`)
    .all(...slots.map(() => null))
    .map(({ detail }) => detail as string);
}
