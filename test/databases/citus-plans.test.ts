/** On Citus, the statements of one tenant go to one shard, and those of several to no more than they need. */
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { distributedDialect } from "../../src/store/engines/postgres/citus.ts";
import { postgres } from "../../src/store/engines/postgres/engine.ts";
import { checkServer } from "../../src/store/engines/postgres/server-check.ts";
import { distributedSessionSettings } from "../../src/store/engines/postgres/session-settings.ts";
import { types } from "../../src/store/engines/postgres/statements.ts";
import { type ListQuery, openDatabase } from "../../src/store/index.ts";
import { count } from "../../src/store/lists/count.ts";
import { list } from "../../src/store/lists/plan.ts";
import type { Reading } from "../../src/store/lists/reading.ts";
import { type Table, tablesOf } from "../../src/store/lists/table.ts";
import { parametersOf, type SqlConnection, type Statement, type Values } from "../../src/store/sql/statement.ts";
import { type CitusDatabase, createCitus, onCitus, shards } from "./citus.ts";
import { newRow, repos } from "./tables.ts";

const tenants = ["a", "b"].map((letter) => letter.repeat(40));
const [one, other] = tenants as [string, string];
const groups = Array.from({ length: 12 }, (_, i) => `${one}/g${i}`);

onCitus("statements", () => {
  let database: CitusDatabase;
  let client: pg.Client;
  let table: Table;

  beforeAll(async () => {
    database = await createCitus();
    const opened = await openDatabase(database.url);
    await opened.transact(async (session) => {
      for (const parent of [...groups, other])
        for (let i = 0; i < 10; i++) await session.insert(repos, newRow(`${parent}/${i}`, { name: `n${i}` }));
    });
    await opened.close();
    client = new pg.Client({ connectionString: database.url, types });
    await client.connect();
    const { distributedTables } = await checkServer(client);
    await client.query(distributedSessionSettings);
    table = tablesOf(distributedDialect(postgres, distributedTables))(repos);
  });

  afterAll(async () => {
    await client.end();
    await database.remove();
  });

  /** How many shards each of the statements that `run` runs is sent to. */
  async function shardsOf(run: (connection: SqlConnection) => unknown): Promise<number[]> {
    const tasks: number[] = [];
    const rows = async (statement: Statement, values: Values) => {
      const parameters = parametersOf(statement, values);
      const { rows: lines } = await client.query<string[]>({
        text: `explain (costs off) ${statement.text}`,
        values: parameters,
        rowMode: "array",
      });
      for (const [line] of lines) {
        const [, found] = /Task Count: (\d+)/.exec(line!) ?? [];
        if (found !== undefined) tasks.push(Number(found));
      }
      return (await client.query<unknown[]>({ text: statement.text, values: parameters, rowMode: "array" })).rows;
    };
    await client.query("begin");
    await run({ rows, run: () => 0, send: () => {} });
    await client.query("rollback");
    return tasks;
  }

  const read = (query: Partial<ListQuery>) => (connection: SqlConnection) => {
    const total = async () => 1000;
    const reading: Reading = { table, connection, longQueries: undefined, total };
    return list(reading, { orderBy: [], skip: 0, limit: 20, ...query });
  };
  const counted = (query: Partial<ListQuery>) => (connection: SqlConnection) =>
    count({ table, connection, longQueries: undefined, total: async () => 1000 }, query);

  test("on a row go to one shard", async () => {
    const { row } = table;
    const uid = `${one}/g0/1`;
    const values = {
      ...{ uid, parent: `${one}/g0`, version: 2, read_version: 1, create_time_us: 1, update_time_us: 1 },
      ...{ packed: new Uint8Array(), name: "n1", lo: `${one}/`, hi: `${one}0`, uids: JSON.stringify([uid]) },
      ...[`${one}/g0`, `${one}/g1`],
    };
    const { get, has, getMany, hold, getToChange, getToRemove, lockRange, update, remove } = row;
    const statements = { get, has, getMany, hold, getToChange, getToRemove, lockRange, update, remove };
    const more = { child: row.child("name", true), anyChild: row.anyChild(2), setColumns: row.setColumns(["name"]) };
    for (const [name, statement] of Object.entries({ ...statements, ...more, insert: row.insert })) {
      const isNew = name === "insert" && { uid: `${one}/g0/new`, name: "new" };
      const found = await shardsOf((connection) => connection.rows(statement, { ...values, ...isNew }));
      expect({ name, shards: found }).toEqual({ name, shards: [1] });
    }
  });

  const within = (...roots: string[]) => roots.map((root) => ({ root, self: false }));
  const by = (column: string, descending = false) => [{ column, descending }];

  test.each<[string, Partial<ListQuery>]>([
    ["by uid", { within: within(one) }],
    ["after a row", { within: within(one), orderBy: by("uid"), after: [`${one}/g0/3`] }],
    ["backwards, after a row", { within: within(one), orderBy: by("uid", true), after: [`${one}/g1/3`] }],
    ["with its root", { within: [{ root: one, self: true }] }],
    ["by name", { within: within(one), orderBy: by("name") }],
    ["by name, after a row", { within: within(one), orderBy: by("name"), after: ["n3", ""] }],
    ["of a parent", { parent: groups[0]!, orderBy: by("create_time_us", true) }],
    ["of a parent by name", { parent: groups[0]!, orderBy: by("name") }],
    ["with a condition", { within: within(one), where: [{ column: "name", equals: "n3" }] }],
    ["in several groups", { within: within(...groups) }],
    ["in several groups, with many rows", { within: within(...groups), limit: 1000 }],
    ["of named uids", { uids: [`${one}/g0/1`, `${one}/g1/2`], orderBy: by("name") }],
  ])("of a list of one tenant go to one shard: %s", async (_title, query) => {
    const found = await shardsOf(read({ ...query, columns: ["name"] }));
    expect(found.length).toBeGreaterThan(0);
    expect(new Set(found)).toEqual(new Set([1]));
    expect(new Set([1, ...(await shardsOf(counted(query)))])).toEqual(new Set([1]));
  });

  test("that write on the coordinator and on a worker commit in two phases", async () => {
    const prepared = async () => (await database.sql("select gid from pg_dist_transaction")).map(({ gid }) => gid);
    const before = await prepared();
    const opened = await openDatabase(database.url);
    await opened.transact((session) => session.insert(repos, newRow(`${one}/g0/twice`)));
    await opened.close();
    expect((await prepared()).filter((gid) => !before.includes(gid))).toHaveLength(1);
  });

  test("of a list of some tenants go to their shards, of all to all", async () => {
    const uids = [`${one}/g0/1`, `${other}/1`];
    const needed = (
      await database.sql(
        `select distinct get_shard_id_for_distribution_column('repos', root) from unnest('{${tenants.join()}}'::text[]) as t(root)`,
      )
    ).length;
    expect(await shardsOf(read({ uids }))).toEqual([needed]);
    expect(await shardsOf(read({ limit: 5 }))).toEqual([shards]);
  });
});
