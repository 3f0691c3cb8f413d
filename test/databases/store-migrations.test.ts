/** The schema: brought up to date, and refused when it is newer. */
import { randomBytes } from "node:crypto";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { AdvisorySchema } from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { contentOf } from "../../src/resource/index.ts";
import { identities as identityResource } from "../../src/services/iam/identities.ts";
import { indexIdentities } from "../../src/services/index.ts";
import { columnsOf, NotUniqueError, openDatabase } from "../../src/store/index.ts";
import { pack } from "../../src/store/rows/packed.ts";
import { onEveryEmptyDatabase } from "./databases.ts";
import { migrateUpTo } from "./migrate-up-to.ts";
import { advisories, identities, roleBindings, unnamedRow } from "./tables.ts";

type Relationship = NonNullable<MessageInitShape<typeof IdentitySchema>["relationship"]>;

onEveryEmptyDatabase("migrations", (database) => {
  test("run once", async () => {
    const db = await database().open();
    const pending = (await db.pendingMigrations()).length;
    expect(pending).toBeGreaterThan(0);
    expect(await db.migrate()).toBe(pending);
    expect(await db.pendingMigrations()).toEqual([]);
    expect(await db.migrate()).toBe(0);
    expect(await (await database().open()).pendingMigrations()).toEqual([]);
  });

  test("make the columns that a table is said to have", async () => {
    const db = await database().open();
    expect(await db.columns()).toEqual(new Map());
    await db.migrate();
    const columns = await db.columns();
    for (const table of [identities, roleBindings]) {
      expect(columns.get(table.name)).toBeDefined();
      expect([...columnsOf(table)].filter((column) => !columns.get(table.name)!.has(column))).toEqual([]);
    }
    expect(columns.get("identities")!.has("name of none")).toBe(false);
    if (database().name !== "postgresql") return;
    await database().sql("create schema other; create table other.elsewhere (id bigint)");
    expect((await db.columns()).has("elsewhere")).toBe(false);
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

  test("keep every row when they pack it", async () => {
    await migrateUpTo("0007-packed-rows", database());
    const [zeroAndMore, none] = database().name === "sqlite" ? ["x'00ff0a'", "x''"] : ["'\\x00ff0a'", "''"];
    await database().sql(`
      insert into identities (uid, parent, version, create_time_us, update_time_us, body, name, relationship, issuer, subject, last_seen_us)
      values ('a/b', 'a', 300, -1, 1700000000123456, ${zeroAndMore}, 'é', -3, 'i', 's', 7), ('c', '', 1, 0, 0, ${none}, '', 0, '', '', 0)`);
    const db = await database().open();
    expect(await db.migrate()).toBeGreaterThan(0);
    const columns = { name: "é", relationship: -3, issuer: "i", subject: "s", last_seen_us: 7 };
    const row = { uid: "a/b", parent: "a", version: 300, createTimeUs: -1, updateTimeUs: 1_700_000_000_123_456 };
    const empty = { uid: "c", parent: "", version: 1, createTimeUs: 0, updateTimeUs: 0, body: new Uint8Array() };
    const expected = [
      { ...row, body: new Uint8Array([0, 255, 10]), columns },
      { ...empty, columns: { name: "", relationship: 0, issuer: "", subject: "", last_seen_us: 0 } },
    ];
    expect(await db.read.list(identities, { orderBy: [], skip: 0, limit: 100 })).toEqual(expected);
    const packed = await db.read.list(identities, { orderBy: [], skip: 0, limit: 100, columns: [] });
    expect(
      packed.map(({ uid, parent, version, createTimeUs, updateTimeUs, body, columns }) => {
        return { uid, parent, version, createTimeUs, updateTimeUs, body, columns };
      }),
    ).toEqual(expected.map((each) => ({ ...each, columns: {} })));
    expect(await db.transact((session) => session.update(identities, expected[0]!))).toEqual({
      ...expected[0],
      version: 301,
    });
  });

  test("merge role bindings that grant the same, and keep the totals exact", async () => {
    await migrateUpTo("0009-unique-role-bindings", database());
    const db = await database().open();
    const org = "a".repeat(40);
    const [folder, below] = [`${org}/${"1".repeat(16)}`, `${org}/${"1".repeat(16)}/${"2".repeat(16)}`];
    const rows: [place: string, identity: string, role: string, time: number][] = [
      [org, "i", "r", 3],
      [org, "i", "r", 2],
      [org, "i", "other", 1],
      [folder, "i", "r", 5],
      [below, "j", "r", 1],
      [below, "j", "r", 1],
      [below, "j", "r", 4],
      [below, "k", "r", 4],
    ];
    const uids = rows.map(([parent], i) => `${parent}/${String(i).padStart(16, "f")}`);
    await db.transact(async (session) => {
      for (const [i, [parent, identity_uid, role_uid, createTimeUs]] of rows.entries()) {
        const columns = { identity_uid, role_uid };
        const times = { createTimeUs, updateTimeUs: createTimeUs };
        await session.insert(roleBindings, { uid: uids[i]!, parent, ...times, body: new Uint8Array([i]), columns });
      }
    });
    expect(await db.migrate()).toBeGreaterThan(0);
    const left = await db.read.list(roleBindings, { orderBy: [], skip: 0, limit: 100 });
    expect(left.map(({ uid }) => uid).sort()).toEqual([1, 2, 3, 4, 7].map((i) => uids[i]).sort());
    for (const place of ["", org, folder, below]) {
      const within = [{ root: place, self: true }];
      const rowsThere = left.filter(({ uid }) => uid.startsWith(place));
      expect(await db.read.count(roleBindings, { within })).toBe(rowsThere.length);
      const children = left.filter(({ parent }) => parent === place);
      expect(await db.read.count(roleBindings, { parent: place })).toBe(children.length);
    }
    const { parent, columns } = left[0]!;
    const twin = { uid: `${parent}/${"e".repeat(16)}`, parent, createTimeUs: 9, updateTimeUs: 9 };
    const insert = db.transact((session) => session.insert(roleBindings, { ...twin, body: new Uint8Array(), columns }));
    await expect(insert).rejects.toThrow(NotUniqueError);
  });

  test("read the ids and artifacts of advisories from their messages", async () => {
    await migrateUpTo("0011-advisory-orders", database());
    const expected = [];
    const values: string[] = [];
    for (let i = 0; i < 1100; i++) {
      const uid = `a/${String(i).padStart(16, "0")}`;
      const advisoryId = `ADV-é-${"x".repeat(i % 200)}`;
      const body = toBinary(AdvisorySchema, create(AdvisorySchema, { advisoryId, author: "a", artifactName: `p${i}` }));
      const packed = pack({ uid, version: 1, createTimeUs: 0, updateTimeUs: 0, body }).toString("hex");
      expected.push({ uid, advisory_id: advisoryId, artifact_name: `p${i}` });
      const bytes = database().name === "sqlite" ? `x'${packed}'` : `'\\x${packed}'`;
      values.push(`('${uid}', 'a', 1, 0, 0, ${bytes}, '[]', '')`);
    }
    await database().sql(
      `insert into advisories (uid, parent, version, create_time_us, update_time_us, packed, terms, search) values ${values}`,
    );
    await (await database().open()).migrate();
    const rows = await database().sql("select uid, advisory_id, artifact_name from advisories order by uid");
    expect(rows.map((row) => ({ ...row }))).toEqual(expected);
  });

  test("tell from identities whose keys verify tokens, and which have patterns", async () => {
    await migrateUpTo("0008-key-sources", database());
    const claimMatch = (value: object) => ({ case: "claimMatch", value }) as Relationship;
    const literal = { iss: { case: "issuer", value: "https://i" }, sub: { case: "subject", value: "s" } };
    const pattern = (value: string) => claimMatch({ ...literal, iss: { case: "issuerPattern", value } });
    const keys = { issuer: "https://i", subject: "s", issuerKeys: "{}" };
    const expected: [relationship: Relationship, keySource: string, hasPatterns: number][] = [
      [claimMatch(literal), "https://i", 0],
      [{ case: "staticKeys", value: keys } as Relationship, "carried https://i", 0],
      [pattern("https://h\\.example/.*"), "origin https://h.example", 1],
      [pattern("https://.*"), "", 1],
      [claimMatch({ ...literal, sub: { case: "subjectPattern", value: "a.*" } }), "https://i", 1],
      [claimMatch({ ...literal, aud: { case: "audiencePattern", value: "a.*" } }), "https://i", 1],
      [claimMatch({ ...literal, claimPatterns: { ref: "a.*" } }), "https://i", 1],
    ];
    const bytes = (value: Uint8Array) => {
      const hex = Buffer.from(value).toString("hex");
      return database().name === "sqlite" ? `x'${hex}'` : `'\\x${hex}'`;
    };
    for (const [i, [relationship]] of expected.entries()) {
      const { body, columns } = contentOf(identityResource, create(IdentitySchema, { name: "x", relationship }));
      const spine = { uid: `r/${i}`, parent: "r", version: 1, createTimeUs: 0, updateTimeUs: 0 };
      await database().sql(`
        insert into identities (uid, parent, version, create_time_us, update_time_us, packed, name, relationship, issuer, subject, last_seen_us)
        values ('r/${i}', 'r', 1, 0, 0, ${bytes(pack({ ...spine, body }))}, 'x', ${columns.relationship}, '${columns.issuer}', '${columns.subject}', 0)`);
    }
    const db = await database().open();
    await db.migrate();
    await indexIdentities(db);
    const rows = await db.read.list(identityResource.table, { orderBy: [], skip: 0, limit: 100 });
    expect(rows.map(({ columns }) => [columns.key_source, columns.has_patterns])).toEqual(
      expected.map(([, ...columns]) => columns),
    );
    expect(rows.map(({ version, updateTimeUs }) => [version, updateTimeUs])).toEqual(expected.map(() => [1, 0]));
  });

  test("make search indexes of the first version anew", async (context) => {
    if (database().name === "postgresql") return context.skip("PostgreSQL maintains its indexes itself");
    await migrateUpTo("0015-search-vocabularies", database());
    const db = await database().open();
    const row = unnamedRow("a/b", { terms: [], search: "openssl" });
    await db.transact((session) => session.insert(advisories, row));
    await database().sql("insert into advisories_search (advisories_search) values ('delete-all')");
    await database().sql("insert into advisories_search (rowid, search) select row_id, search from advisories");
    for (const table of ["advisories", "artifacts"]) await database().sql(`drop table ${table}_search_trigrams`);
    await db.migrate();
    const found = (contains: string) =>
      db.read.list(advisories, { where: [{ column: "search", contains }], orderBy: [], skip: 0, limit: 9 });
    for (const text of ["o", "ss", "pen", "openssl"]) expect(await found(text), text).toHaveLength(1);
    await db.transact((session) => session.remove(advisories, "a/b"));
    for (const text of ["o", "ss", "pen", "openssl"]) expect(await found(text), text).toEqual([]);
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
