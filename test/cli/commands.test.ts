/**
 * The commands beside `serve`: in a process of their own where exit status, environment or standard streams are the
 * subject, else in this one.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { groups } from "../../src/services/iam/groups.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { roleBindings } from "../../src/services/iam/role-bindings.ts";
import { openDatabase, type WriteSession } from "../../src/store/index.ts";
import { repository, runPlatform, settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";
import { restClient } from "./rest-client.ts";
import { runHere } from "./run-here.ts";

/** Changes a database beside its server, as no method does. @param flags `--database URL`. */
async function withDatabase(flags: readonly string[], work: (session: WriteSession) => Promise<unknown>) {
  const database = await openDatabase(flags[1]!);
  await database.transact(work);
  await database.close();
}

const uid = /^[0-9a-f]{40}$/;

describe("init", () => {
  test("--json prints one object of exactly these facts, and the token works", async () => {
    const { database, serve } = settingsIn(await temporaryFolder());
    const startMs = Date.now();
    const { code, stdout, stderr } = await runPlatform(["init", "--json", ...database]);
    expect({ code, stderr, lines: stdout.split("\n").length }).toEqual({ code: 0, stderr: "", lines: 2 });
    const facts = JSON.parse(stdout);
    expect(facts).toEqual({
      baseUrl: "http://127.0.0.1:8080",
      rootGroupUid: expect.stringMatching(uid),
      identityUid: expect.stringMatching(uid),
      token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
    });
    expect(Object.keys(facts)).toEqual(["baseUrl", "rootGroupUid", "identityUid", "token", "expireTime"]);
    expect(decodeJwt(facts.token)).toMatchObject({
      sub: facts.identityUid,
      iss: facts.baseUrl,
      exp: Date.parse(facts.expireTime) / 1000,
    });
    expect(Date.parse(facts.expireTime)).toBeGreaterThan(startMs + 3500_000);
    const server = await startPlatformForTest(serve);
    expect(server.stdout()).toBe(`platform listens on ${server.baseUrl}\n`);
    const { body } = await restClient(server.baseUrl, facts.token).get("/iam/v2/groups");
    expect(body.groups).toMatchObject([{ uid: facts.rootGroupUid }]);
  });

  test("without --json it prints the same facts, a line each", async () => {
    const { database } = settingsIn(await temporaryFolder());
    const { code, stdout } = await runHere([
      "init",
      ...database,
      "--base-url",
      "https://platform.example.com/",
      "--issuer",
      "https://issuer.example.com",
    ]);
    expect(code).toBe(0);
    const facts = Object.fromEntries(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => line.split(/ +/)),
    );
    expect(Object.keys(facts)).toEqual(["baseUrl", "rootGroupUid", "identityUid", "token", "expireTime"]);
    expect(facts.baseUrl).toBe("https://platform.example.com");
    expect(decodeJwt(facts.token)).toMatchObject({
      iss: "https://issuer.example.com",
      aud: "https://issuer.example.com",
    });
  });

  test("refuses a database that is initialised", async () => {
    const { database } = settingsIn(await temporaryFolder());
    await runHere(["init", ...database]);
    expect(await runPlatform(["init", "--json", ...database])).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: the database is already initialised; `--recover` creates a new administrator token\n",
    });
  });

  test("--recover brings back an administrator who was deleted, while the server runs", async () => {
    const { database, serve } = settingsIn(await temporaryFolder());
    const facts = JSON.parse((await runHere(["init", "--json", ...database])).stdout);
    const server = await startPlatformForTest(serve);
    const rest = restClient(server.baseUrl, facts.token);
    await withDatabase(database, (session) => session.remove(identities.table, facts.identityUid));
    expect(await runHere(["token", ...database])).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: the administrator was deleted or lost its role; `platform init --recover` restores it\n",
    });
    expect((await rest.get("/iam/v2/groups")).body.groups ?? []).toEqual([]);

    const { code, stdout } = await runHere(["init", "--recover", "--json", ...database]);
    expect(code).toBe(0);
    const recovered = JSON.parse(stdout);
    expect(recovered).toMatchObject({ rootGroupUid: facts.rootGroupUid, identityUid: facts.identityUid });
    const { status, body } = await restClient(server.baseUrl, recovered.token).post("/iam/v2/groups", {
      name: "new org",
    });
    expect(status, JSON.stringify(body)).toBe(200);
  });

  test("--recover brings back an administrator whose group was deleted", async () => {
    const { database, serve } = settingsIn(await temporaryFolder());
    const facts = JSON.parse((await runHere(["init", "--json", ...database])).stdout);
    const server = await startPlatformForTest(serve);
    await withDatabase(database, async (session) => {
      for (const { uid } of await session.list(roleBindings.table, { limit: 10 }))
        await session.remove(roleBindings.table, uid);
      await session.remove(groups.table, facts.rootGroupUid);
    });
    expect((await runHere(["token", ...database])).stderr).toContain("platform init --recover");

    const { code, stdout, stderr } = await runHere(["init", "--recover", "--json", ...database]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const recovered = JSON.parse(stdout);
    const rest = restClient(server.baseUrl, recovered.token);
    expect((await rest.get(`/iam/v2/groups/${recovered.rootGroupUid}`)).status).toBe(200);
    const { body } = await rest.get("/iam/v2/roleBindings");
    expect(body.roleBindings).toMatchObject([
      { group: { uid: recovered.rootGroupUid }, role: { name: "platform.admin" } },
    ]);
  });

  test("--recover on an empty database says what to do", async () => {
    const { database } = settingsIn(await temporaryFolder());
    await runHere(["migrate", ...database]);
    expect(await runHere(["init", "--recover", ...database])).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: the database is not initialised; run `platform init` or `platform serve`\n",
    });
  });
});

describe("token", () => {
  test("prints a token and nothing else: the administrator's, or another identity's, for as long as asked", async () => {
    const { database, serve } = settingsIn(await temporaryFolder());
    const facts = JSON.parse((await runHere(["init", "--json", ...database])).stdout);
    const server = await startPlatformForTest(serve);
    const { body: identity } = await restClient(server.baseUrl, facts.token).post(
      `/iam/v2/identities/${facts.rootGroupUid}`,
      {
        name: "ci",
        claimMatch: { issuer: "https://issuer.example.com", subject: "ci" },
      },
    );
    for (const [args, subject, seconds] of [
      [[], facts.identityUid, 3600],
      [["--ttl", "90s"], facts.identityUid, 90],
      [["--ttl", "15m", "--identity", identity.uid], identity.uid, 900],
      [["--ttl", "30d"], facts.identityUid, 30 * 86_400],
    ] as const) {
      const { code, stdout, stderr } = await runHere(["token", ...args, ...database]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
      const claims = decodeJwt(stdout.trim());
      expect(claims.sub).toBe(subject);
      expect(claims.exp! - claims.iat!).toBe(seconds);
      expect(decodeProtectedHeader(stdout.trim()).alg).toBe("ES256");
      expect((await restClient(server.baseUrl, stdout.trim()).get("/iam/v2/groups")).status).toBe(200);
    }
  });

  let shared: string[];
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), "platform-"));
    shared = settingsIn(folder).database;
    await runHere(["init", ...shared]);
    return () => rm(folder, { recursive: true });
  });

  const nobody = "0".repeat(40);
  test.each([
    [["--ttl", "0s"], '--ttl must be like 90s, 15m, 1h or 7d and at most 30d, not "0s"'],
    [["--ttl", "31d"], '--ttl must be like 90s, 15m, 1h or 7d and at most 30d, not "31d"'],
    [["--ttl", "1.5h"], '--ttl must be like 90s, 15m, 1h or 7d and at most 30d, not "1.5h"'],
    [["--ttl", "3600"], '--ttl must be like 90s, 15m, 1h or 7d and at most 30d, not "3600"'],
    [["--identity", nobody], `there is no identity "${nobody}"`],
    [["--identity", "administrator"], 'there is no identity "administrator"'],
  ])("%j is refused", async (args, message) => {
    expect(await runHere(["token", ...args, ...shared])).toEqual({
      code: 1,
      stdout: "",
      stderr: `error: ${message}\n`,
    });
  });

  test("on a database that is not initialised it says what to do", async () => {
    const { database } = settingsIn(await temporaryFolder());
    await runHere(["migrate", ...database]);
    const { code, stderr } = await runHere(["token", ...database]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "error: the database is not initialised; run `platform init` or `platform serve`\n",
    });
  });
});

test.each([
  ["token"],
  ["keys", "list"],
  ["audit"],
  ["events", "list"],
  ["init", "--recover"],
  ["import", "osv", "package.json"],
])("%s %s on a database that is missing makes nothing and says so", async (...args) => {
  const cwd = await temporaryFolder();
  const { code, stdout, stderr } = await runHere([...args, "--database", "sqlite:data/missing.db"], { cwd });
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "error: --database: there is no database at data/missing.db; `platform serve` or `platform init` makes one\n",
  });
  expect(readdirSync(cwd)).toEqual([]);
});

test("token does not reach a database in memory", async () => {
  const { code, stderr } = await runHere(["token", "--database", "sqlite::memory:"]);
  expect([code, stderr]).toEqual([
    1,
    "error: --database: an in-memory database exists only in the server that opened it\n",
  ]);
});

test("--version prints the version of the package", async () => {
  const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
  expect(await runPlatform(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test("migrate: once it does something, twice it does not", async () => {
  const { database } = settingsIn(await temporaryFolder());
  expect(await runHere(["migrate", ...database])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^(\d{4}-[\w-]+: [\d.]+ s\n)+\d+ migrations? applied\n$/),
    stderr: "",
  });
  expect(await runHere(["migrate", ...database])).toEqual({
    code: 0,
    stdout: "the database is up to date\n",
    stderr: "",
  });
});

test("routes prints the REST address of every method", async () => {
  const { code, stdout } = await runHere(["routes"]);
  expect(code).toBe(0);
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(lines.every((line) => line.length === 4)).toBe(true);
  for (const row of [
    ["GET", "/ping/v2/ping", "-", "platform.ping.v2.PingService.Ping"],
    ["GET", "/registry/v2/repos", "-", "platform.registry.v2.ReposService.ListRepos"],
    ["PATCH", "/registry/v2/repos/{repo.uid=**}", "repo", "platform.registry.v2.ReposService.UpdateRepo"],
    [
      "POST",
      "/iam/v2/roleBindings/{parent=**}",
      "role_binding",
      "platform.iam.v2.RoleBindingsService.CreateRoleBinding",
    ],
  ]) {
    expect(lines).toContainEqual(row);
  }
});

describe("a command line or setting that cannot be used: exit status 2", () => {
  test.each([
    [["serve", "--no-such-flag"], "error: unknown option '--no-such-flag'"],
    [["serve", "--listn", "127.0.0.1:0"], "(Did you mean --listen?)"],
    [["token", "--listen", "127.0.0.1:0"], "error: unknown option '--listen'"],
    [["contract", "check", "--no-such-flag"], "error: unknown option '--no-such-flag'"],
    [["events", "list", "--limit", "few"], "It must be a whole number from 0."],
    [["bogus"], "error: unknown command 'bogus'"],
    [["serve", "surplus"], "error: too many arguments"],
    [["serve", "--listen", "nonsense"], 'error: --listen: must be HOST:PORT, not "nonsense"'],
    [["serve", "--config", "settings.json"], 'error: settings.json: unknown key "lisen"'],
    [["serve", "--config", "missing.json"], "error: missing.json: ENOENT"],
  ])("platform %j", async (args, message) => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, "settings.json"), '{"lisen":"127.0.0.1:0"}');
    const { code, stdout, stderr } = await runPlatform(args, { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test("--help is not a failure", async () => {
    const { code, stdout } = await runPlatform(["serve", "--help"]);
    expect(code).toBe(0);
    for (const flag of [
      "--listen <HOST:PORT>",
      "--database <URL>",
      "--base-url <URL>",
      "--tls-cert <FILE>",
      "--config <FILE>",
    ]) {
      expect(stdout).toContain(flag);
    }
  });
});

test("flags win over the environment, that over the file; unknown variables are told and ignored", async () => {
  const cwd = await temporaryFolder();
  const settings = {
    database: "sqlite:by-file.db",
    baseUrl: "http://by-file.example.com",
    issuer: "http://issuer.by-file.example.com",
  };
  writeFileSync(join(cwd, "settings.json"), JSON.stringify(settings));
  const { code, stdout, stderr } = await runPlatform(["init", "--json", "--base-url", "http://by-flag.example.com"], {
    cwd,
    env: {
      PLATFORM_CONFIG: "settings.json",
      PLATFORM_BASE_URL: "http://by-variable.example.com",
      PLATFORM_ISSUER: "http://issuer.by-variable.example.com",
      PLATFORM_LISTN: "127.0.0.1:0",
    },
  });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: "warning: unknown environment variable PLATFORM_LISTN is ignored; did you mean PLATFORM_LISTEN?\n",
  });
  const { baseUrl, token } = JSON.parse(stdout);
  expect(baseUrl).toBe("http://by-flag.example.com");
  expect(decodeJwt(token).iss).toBe("http://issuer.by-variable.example.com");
  expect((await runHere(["token", "--database", "sqlite:by-file.db"], { cwd })).code).toBe(0);
});

test("a command that is done ends, though something is left open", async () => {
  const open = "data:text/javascript,setInterval(() => {}, 1000)";
  expect(await runPlatform(["routes"], { env: { NODE_OPTIONS: `--import="${open}"` } })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\/ping\/v2\/ping/),
    stderr: "",
  });
});
