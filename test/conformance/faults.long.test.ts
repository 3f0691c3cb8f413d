/**
 * Faults made on purpose, on servers in processes of their own: what `/metrics`, `/readyz` and the log show of each,
 * and that docs/operations.md has a section under the name of its alarm or its message.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { migrations } from "../../src/store/migrations/index.ts";
import {
  type PlatformProcess,
  repository,
  runPlatform,
  startPlatformForTest,
  temporaryFolder,
} from "../cli/platform-process.ts";
import { migrateUpTo } from "../databases/migrate-up-to.ts";
import { runSql } from "../databases/run-sql.ts";
import { certificateOf } from "../http/self-signed.ts";
import { openProxy } from "./database-proxy.ts";
import { emptyPostgres } from "./databases.ts";
import { fill, mountDisk } from "./small-disk.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are checked by the expectations of the tests
type Json = any;

const operations = readFileSync(join(repository, "docs/operations.md"), "utf8");
const alarms = readFileSync(join(repository, "deploy/prometheus/alerts.yaml"), "utf8");

/** That whoever is on call finds what to do: an alarm with a section, or a row that begins with a message. */
function isExplained(name: string): boolean {
  const isAlarm = alarms.includes(`alert: ${name}\n`) && operations.includes(`\n### ${name}\n`);
  return isAlarm || operations.includes(`| \`${name}`);
}

interface Faulty {
  readonly server: PlatformProcess;
  readonly root: string;
  readonly lines: () => Json[];
  /** The value of a series, by its name and a part of its labels. */
  metric(name: string, labels?: string): Promise<number>;
  admin(path: string): Promise<string>;
  debugUrl(path: string): string;
  call(path: string, body?: unknown, token?: string): Promise<Response>;
}

/** Starts a server with an admin listener. */
async function start(
  database: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Faulty> {
  const server = await startPlatformForTest(
    ["--database", database, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", ...args],
    { env: { PLATFORM_ALLOW_LOOPBACK_SINKS: "true", PLATFORM_ALLOW_LOOPBACK_ISSUERS: "true", ...env } },
  );
  const lines = () =>
    server
      .stderr()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  await expect.poll(lines).toContainEqual(expect.objectContaining({ msg: "listening" }));
  const { adminPort } = lines().find(({ msg }) => msg === "listening");
  const debugUrl = (path: string) => `http://127.0.0.1:${adminPort}${path}`;
  const admin = async (path: string) => (await fetch(debugUrl(path))).text();
  const { stdout } = await runPlatform(["token", "--database", database], { env });
  const root = /^ {2}root group +(\S+)$/m.exec(server.stdout())?.[1] ?? "";
  return {
    server,
    root,
    lines,
    admin,
    debugUrl,
    async metric(name, labels = "") {
      const text = await admin("/metrics");
      const sample = text.split("\n").find((line) => line.startsWith(name) && line.includes(labels));
      return sample === undefined ? Number.NaN : Number(sample.split(" ").at(-1));
    },
    call: (path, body, token = stdout.trim()) =>
      fetch(`${server.baseUrl}${path}`, {
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      }),
  };
}

/** Whether a text is in an answer that is too large for a string. */
async function appearsIn({ body }: Response, text: string): Promise<boolean> {
  let [before, appears] = ["", false];
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    appears ||= (before + chunk).includes(text);
    before = chunk.slice(-text.length);
  }
  return appears;
}

const sqliteIn = (folder: string) => `sqlite:${join(folder, "platform.db")}`;
/** Runs in every process before the program, but not in its threads. */
const preload = (source: string) => `--import=data:text/javascript,${encodeURIComponent(source)}`;
const messageOf = (msg: string, more: object = {}) => expect.objectContaining({ msg, ...more });

const postgres = inject("postgres") ?? { missing: "the project has no global set-up" };
if ("missing" in postgres) console.warn(`faults of PostgreSQL are not tested: ${postgres.missing}`);

async function emptyForTest() {
  const empty = await emptyPostgres("url" in postgres ? postgres.url : "");
  onTestFinished(() => empty.remove());
  return empty;
}

describe.skipIf("missing" in postgres)("of PostgreSQL", () => {
  test("the database is gone", async () => {
    const proxy = await openProxy((await emptyForTest()).url);
    const { metric, admin, lines } = await start(proxy.url);
    expect(await metric("platform_database_up")).toBe(1);
    await proxy.refuse();
    await expect.poll(() => metric("platform_database_up")).toBe(0);
    await expect.poll(() => admin("/readyz?verbose")).toContain("[-]database failed: the database is not available");
    await expect.poll(lines).toContainEqual(messageOf("database unavailable", { code: "ECONNREFUSED" }));
    expect(isExplained("PlatformDatabaseDown")).toBe(true);
    await proxy.mend();
    await expect.poll(() => metric("platform_database_up")).toBe(1);
  });

  test("an upgrade was not finished", async () => {
    const { url } = await emptyForTest();
    await migrateUpTo("0012-vuln-reports", { name: "postgresql", url, sql: (text) => runSql(url, text) });
    const { code, stderr } = await runPlatform(["serve", "--database", url, "--listen", "127.0.0.1:0"]);
    expect(code).toBe(1);
    const missing = migrations.filter(({ name }) => name >= "0012-vuln-reports").length;
    expect(stderr).toMatch(new RegExp(`^error: the database needs ${missing} migrations.*\`platform migrate\``, "m"));
    expect(isExplained("the database needs")).toBe(true);
  });
});

test("the disk is full", async ({ skip }) => {
  const disk = mountDisk();
  if ("missing" in disk) {
    console.warn(`a full disk is not tested: ${disk.missing}`);
    return skip(disk.missing);
  }
  const { metric, lines, call, root } = await start(sqliteIn(disk.folder));
  expect(await metric("platform_database_disk_available_bytes")).toBeGreaterThan(1e6);
  fill(join(disk.folder, "filler"));
  const write = async () => (await call(`/registry/v2/repos/${root}`, { name: randomBytes(8).toString("hex") })).status;
  await expect.poll(write).toBe(503);
  await expect.poll(() => metric("platform_database_up")).toBe(0);
  expect(await metric("platform_database_disk_available_bytes")).toBeLessThan(1e5);
  await expect.poll(lines).toContainEqual(messageOf("database unavailable", { code: "SQLITE 13" }));
  expect(isExplained("PlatformDiskFull")).toBe(true);
});

test("the clock is off by an hour", async () => {
  const ahead = preload("const { now } = Date; Date.now = () => now() + 3_600_000;");
  const { metric } = await start(sqliteIn(await temporaryFolder()), [], { NODE_OPTIONS: ahead });
  // The alarm compares it with the clock of whoever scrapes.
  expect((await metric("platform_clock_time_seconds")) - Date.now() / 1000).toBeGreaterThan(3590);
  expect(isExplained("PlatformClockOff")).toBe(true);
});

test("an issuer is down", async () => {
  const { metric, lines, call, root } = await start(sqliteIn(await temporaryFolder()));
  const issuer = "http://localhost:1/issuer";
  const claimMatch = { issuer, subject: "robot", audience: "platform" };
  expect((await call(`/iam/v2/identities/${root}`, { name: "robot", claimMatch })).status).toBe(200);
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const { kid = "a" } = await exportJWK(publicKey);
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: "ES256", kid })
    .setIssuer(issuer)
    .setSubject("robot")
    .setAudience("platform")
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(privateKey);
  expect((await call("/iam/v2/groups", undefined, token)).status).toBe(401);
  expect(await metric("platform_auth_key_fetches_total", 'issuer="named",result="failed"')).toBe(1);
  await expect
    .poll(lines)
    .toContainEqual(
      messageOf("token refused", { reason: expect.stringContaining("keys of the issuer cannot be fetched") }),
    );
  expect(isExplained("PlatformKeyFetches")).toBe(true);
});

test("a sink is down", async () => {
  const { metric, call, root } = await start(sqliteIn(await temporaryFolder()));
  const made = await call(`/events/v2/subscriptions/${root}`, { sink: "http://localhost:1/sink" });
  expect(made.status).toBe(200);
  const { uid } = (await made.json()) as Json;
  await call(`/registry/v2/repos/${root}`, { name: "a" });
  await expect.poll(() => metric("platform_deliveries", `state="pending",subscription="${uid}"`)).toBe(1);
  await expect
    .poll(() => metric("platform_delivery_attempts_total", `subscription="${uid}"`))
    .toBeGreaterThanOrEqual(1);
  await expect.poll(() => metric("platform_delivery_oldest_pending_age_seconds")).toBeGreaterThan(0);
  expect(isExplained("PlatformDeliveriesLate")).toBe(true);
});

test("the certificate has expired", async () => {
  const folder = await temporaryFolder();
  const { cert, key } = certificateOf({ notAfter: new Date(Date.now() - 3_600_000) });
  writeFileSync(join(folder, "cert.pem"), cert);
  writeFileSync(join(folder, "key.pem"), key);
  const files = ["--tls-cert", join(folder, "cert.pem"), "--tls-key", join(folder, "key.pem")];
  const { metric, lines } = await start(sqliteIn(folder), files);
  expect((await metric("platform_tls_certificate_expiry_seconds")) - Date.now() / 1000).toBeLessThan(-3500);
  expect(lines()).toContainEqual(messageOf("certificate has expired"));
  expect(isExplained("PlatformCertificateExpires")).toBe(true);
});

test("one caller makes expensive searches", async () => {
  const database = sqliteIn(await temporaryFolder());
  const { metric, lines, call, root } = await start(database, ["--slow-call", "5ms"]);
  const create = (name: string) => call(`/registry/v2/repos/${root}`, { name });
  for (let i = 0; i < 40; i++)
    await Promise.all(Array.from({ length: 50 }, (_, k) => create(`repo-${i}-${k}-${randomBytes(4).toString("hex")}`)));
  const { uid: caller } = (await (
    await call(`/iam/v2/identities/${root}`, {
      name: "searcher",
      claimMatch: { issuer: "https://a.test", subject: "s" },
    })
  ).json()) as Json;
  const roles = (await (await call("/iam/v2/roles?name=viewer")).json()) as Json;
  const bound = await call(`/iam/v2/roleBindings/${root}`, { identityUid: caller, roleUid: roles.roles[0].uid });
  expect(bound.status).toBe(200);
  const minted = await runPlatform(["token", "--database", database, "--identity", caller]);
  const search = () =>
    call(
      `/registry/v2/repos?uidp.descendants_of=${root}&order_by=name&page_size=200&skip=1500`,
      undefined,
      minted.stdout.trim(),
    );
  await Promise.all(Array.from({ length: 40 }, search));
  const slow = () => lines().filter(({ msg, method }) => msg === "slow call" && method.endsWith("/ListRepos"));
  await expect.poll(() => slow().length).toBeGreaterThan(10);
  expect(new Set(slow().map((line) => line.caller))).toEqual(new Set([caller]));
  expect(await metric("rpc_server_call_duration_seconds_sum", "ReposService/ListRepos")).toBeGreaterThan(0.05);
  expect(await metric("db_client_operation_duration_seconds_count", 'db_operation_name="read"')).toBeGreaterThan(0);
  expect(isExplained("PlatformSlow")).toBe(true);
});

test("memory leaks", async () => {
  // It stops before the process would end. Numbers make the snapshot small: it has each reference.
  const leak = preload(
    "import { isMainThread } from 'node:worker_threads'; import { getHeapSpaceStatistics } from 'node:v8';" +
      "class LeakedByTest { rest = new Array(2000).fill(0.5) }" +
      "const old = () => getHeapSpaceStatistics().filter((space) => !space.space_name.startsWith('new_'))" +
      ".reduce((sum, space) => sum + space.space_used_size, 0);" +
      "if (isMainThread && process.argv.includes('serve')) { globalThis.leaked = []; setInterval(() => {" +
      "for (let i = 0; i < 200 && old() < 0.86 * 400 * 2 ** 20; i++) leaked.push(new LeakedByTest()) }, 20).unref() }",
  );
  const { metric, debugUrl } = await start(sqliteIn(await temporaryFolder()), [], {
    NODE_OPTIONS: `${leak} --max-old-space-size=400`,
  });
  const share = async () =>
    (await metric("v8js_memory_heap_used_bytes")) / (await metric("v8js_memory_heap_limit_bytes"));
  await expect.poll(share).toBeGreaterThan(0.8);
  expect(await appearsIn(await fetch(debugUrl("/debug/heap")), '"LeakedByTest"')).toBe(true);
  expect(isExplained("PlatformMemory")).toBe(true);
});

test("the key of secrets is lost", async () => {
  const database = sqliteIn(await temporaryFolder());
  const key = (letter: string) => ["--secret-key", letter.repeat(64)];
  const { server, call, root } = await start(database, key("a"));
  expect((await call(`/events/v2/subscriptions/${root}`, { sink: "http://localhost:1/sink" })).status).toBe(200);
  await server.end("SIGTERM");
  const { code, stderr } = await runPlatform(["serve", "--database", database, "--listen", "127.0.0.1:0", ...key("b")]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: --secret-key: the secrets in the database were encrypted with another key/m);
  expect(isExplained("--secret-key: the secrets in the database were encrypted with another key")).toBe(true);
});
