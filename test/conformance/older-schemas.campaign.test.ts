/**
 * What servers of every earlier schema have stored opens in today's. `npm test` tries the schemas that are recorded.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RoleSchema } from "../../gen/platform/iam/v2/roles_pb.ts";
import { readInstallation, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { builtInRoles } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { campaign } from "../campaign.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import { onEveryEmptyDatabase, type TestDatabase } from "../databases/databases.ts";
import { copySqlite } from "../databases/migrated.ts";
import { schemaOf } from "../databases/schema-of.ts";
import type { Json } from "./contract.ts";
import { type Listed, type Lists, makeOlder, olderSchemas, recordedSchemas } from "./older-databases.ts";

onEveryEmptyDatabase("what a server has stored", (database) => {
  test.each(campaign({ short: recordedSchemas, full: olderSchemas }))(
    "with the schema $title is listed equal by today's, counted and changed",
    async (schema) => {
      const lists = await makeOlder(schema, database());
      expect(Object.keys(lists).length).toBeGreaterThan(4);
      await using server = await startOn(database().url);
      for (const [path, listed] of Object.entries(lists)) await expectListed(server, path, listed);
      await expectBuiltInRoles(server);
      await expectFound(server, lists);
      await expectChangeable(server, lists["/iam/v2/groups"]!.items[1].uid);
      await expectNewSchema(database());
    },
  );
});

type Server = Awaited<ReturnType<typeof startOn>>;

/** Starts today's server on a database. */
async function startOn(url: string) {
  const flags = { listen: "127.0.0.1:0", adminListen: "off", drainDelay: "0", database: url, autoMigrate: "on" };
  const server = await startServer(readConfig({ flags, env: {}, warn: () => {} }), createLogger("silent"));
  const database = await openDatabase(url);
  const { administratorUid } = (await readInstallation(database.read))!;
  await database.close();
  const token = await server.mintToken(administratorUid, 600);
  /** Calls as the administrator. */
  async function call(method: string, path: string, body?: Json): Promise<Json> {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const answer = await fetch(`${server.baseUrl}${path}`, init);
    expect(answer.status, `${method} ${path}`).toBe(200);
    const text = await answer.text();
    return text === "" ? undefined : JSON.parse(text);
  }
  return {
    call,
    /** All that a list has; the total is their number. */
    async list(path: string, filter: Record<string, string> = {}): Promise<Json[]> {
      const url = new URL(path, server.baseUrl);
      for (const [name, value] of Object.entries({ page_size: "200", ...filter })) url.searchParams.set(name, value);
      const { totalCount, ...answer } = await call("GET", `${url.pathname}${url.search}`);
      const [items] = Object.values(answer).filter(Array.isArray) as Json[][];
      expect(totalCount, path).toBe(String(items!.length));
      return items!;
    },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** A list has what was listed, as a whole and by filters. */
async function expectListed({ list }: Server, path: string, { totalCount, items }: Listed) {
  const all = await list(path);
  const byUid = new Map(all.map((item) => [item.uid, item]));
  for (const item of items) expect(byUid.get(item.uid), `${path} ${item.uid}`).toMatchObject(withoutEtag(item));
  // Built-in roles have become more.
  if (path !== "/iam/v2/roles") expect(String(all.length), path).toBe(totalCount);
  const parents = new Set(items.map(({ uid }) => parentOf(uid)).filter((parent) => parent !== ""));
  for (const parent of parents) {
    const children = items.filter(({ uid }) => parentOf(uid) === parent);
    expect(uidsOf(await list(path, { "uidp.children_of": parent }))).toEqual(uidsOf(children));
    const below = items.filter(({ uid }) => uid.startsWith(`${parent}/`));
    expect(uidsOf(await list(path, { "uidp.descendants_of": parent }))).toEqual(uidsOf(below));
  }
  const { name } = items[0];
  if (name === undefined || path.includes("?")) return;
  const named = items.filter((item) => item.name === name);
  expect(uidsOf(await list(path, { name }))).toEqual(uidsOf(named));
}

/** Texts of one to four characters are found, and what the versions of artifacts are. */
async function expectFound({ list }: Server, lists: Lists) {
  const [advisories, artifacts] = [
    "/vulnerabilities/v2/advisories",
    "/libraries/v2/artifacts?ecosystems=ECOSYSTEM_JAVA",
  ];
  const itemsOf = (path: string) => lists[path]?.items ?? [];
  const ofZlib = itemsOf(advisories).filter(({ artifactName }) => artifactName === "zlib");
  for (const query of ["z", "zl", "zli", "zlib"])
    expect(uidsOf(await list(advisories, { query }))).toEqual(uidsOf(ofZlib));
  for (const query of ["c", "co", "cor", "core"])
    expect(uidsOf(await list(artifacts, { query }))).toEqual(uidsOf(itemsOf(artifacts)));
  for (const { uid, versionCount } of itemsOf(artifacts))
    expect(await list(`/libraries/v2/artifacts/${uid}/versions`)).toHaveLength(versionCount);
}

/** The built-in roles are those of this version. */
async function expectBuiltInRoles({ list }: Server) {
  const told = ({ name, description, capabilities }: Json) => ({ name, description, capabilities });
  const listed = await list("/iam/v2/roles", { "uidp.in_root": "true" });
  expect(Object.fromEntries(listed.map((role) => [role.uid, told(role)]))).toEqual(
    Object.fromEntries([...builtInRoles].map(([uid, role]) => [uid, told(toJson(RoleSchema, role))])),
  );
}

/** What is in a group can be changed, and is counted. */
async function expectChangeable({ call, list }: Server, group: string) {
  const before = await list("/registry/v2/repos");
  const repo = await call("POST", `/registry/v2/repos/${group}`, { name: "after-the-upgrade" });
  expect(uidsOf(await list("/registry/v2/repos"))).toEqual(uidsOf([...before, repo]));
  await call("DELETE", `/registry/v2/repos/${repo.uid}`);
  expect(uidsOf(await list("/registry/v2/repos"))).toEqual(uidsOf(before));
  const changed = await call("PATCH", `/iam/v2/groups/${group}?update_mask=description`, { description: "changed" });
  expect(await call("GET", `/iam/v2/groups/${group}`)).toEqual(changed);
}

/** A SQLite file has the tables and indexes of a new one. On PostgreSQL, today's migrations have made all of them. */
async function expectNewSchema(database: TestDatabase) {
  if (database.name !== "sqlite") return;
  const path = join(await temporaryFolder(), "new.db");
  await copySqlite(path);
  using file = new DatabaseSync(path);
  const sql = async (text: string) => file.prepare(text).all();
  const linesOf = async (of: Pick<TestDatabase, "name" | "sql">) =>
    // The counters of the first schema have a row id, which nothing reads.
    (await schemaOf(of)).map((line) => line.replace(/ without rowid$/, ""));
  expect(await linesOf(database)).toEqual(await linesOf({ name: "sqlite", sql }));
}

function uidsOf(items: readonly Json[]): string[] {
  return items.map(({ uid }) => uid).sort();
}

function parentOf(uid: string): string {
  return uid.split("/").slice(0, -1).join("/");
}

/** How an etag is written has changed; clients only compare it. */
function withoutEtag({ etag: _, ...rest }: Json): Json {
  return rest;
}
