/** `platform doctor`, from the outside: what is wrong is found, and what to do is said. */
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { create as createMessage } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { DocumentSchema, VulnerabilityMetadataSchema } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { saveDocument, saveFeed, saveVulnerabilityMetadata } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { startIssuer, testKey } from "../auth/local-issuer.ts";
import { startPlatformForTest, temporaryFolder } from "../cli/platform-process.ts";
import { restClient } from "../cli/rest-client.ts";
import { runHere } from "../cli/run-here.ts";
import { runSql } from "../databases/run-sql.ts";
import { startSink } from "../delivery/sinks.ts";
import { selfSigned } from "../http/self-signed.ts";
import { type EmptyDatabase, emptyPostgres, emptySqlite } from "./databases.ts";

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly advice?: string;
  readonly details?: readonly string[];
}

/** Runs the command. Its findings by the name of the check. */
async function examine(...args: readonly string[]) {
  const { code, stdout, stderr } = await runHere(["doctor", "--json", ...args]);
  const lines = stdout.split("\n").filter((line) => line !== "");
  const findings = new Map(lines.map((line) => JSON.parse(line) as Finding).map((one) => [one.check, one]));
  return { code, stderr, findings, of: (check: string) => findings.get(check) };
}

const postgres = inject("postgres");
const databases: [string, (() => Promise<EmptyDatabase>) | undefined][] = [
  ["sqlite", emptySqlite],
  ["postgresql", "url" in postgres ? () => emptyPostgres(postgres.url) : undefined],
];
for (const [name, create] of databases) if (create === undefined) console.warn(`doctor is not tested on ${name}`);

describe.each(databases.filter(([, create]) => create !== undefined))("on %s", (name, create) => {
  let database: EmptyDatabase;
  let on: string[];
  const sql = async (text: string) => {
    if (name === "postgresql") return void (await runSql(database.url, text));
    using file = new DatabaseSync(database.url.slice("sqlite:".length));
    file.exec(text);
  };

  beforeAll(async () => {
    database = await create!();
    on = ["--database", database.url];
    expect((await runHere(["init", ...on])).code).toBe(0);
  });
  afterAll(() => database?.remove());

  test("an installation from before audit records ended by default keeps all of them, and says so", async () => {
    expect((await examine(...on)).of("audit log")).toMatchObject({
      state: "ok",
      message: "records are kept for 400 days",
    });
    const db = await openDatabase(database.url);
    onTestFinished(() => db.close());
    const setting = (await db.read.setting("installation"))!;
    const { auditRetentionDays, ...older } = JSON.parse(Buffer.from(setting).toString());
    expect(auditRetentionDays).toBe(400);
    await db.transact((session) => session.putSetting("installation", Buffer.from(JSON.stringify(older))));
    const { code, of } = await examine(...on);
    expect([code, of("audit log")]).toMatchObject([
      0,
      { state: "warning", message: expect.stringContaining("for ever") },
    ]);
    expect(of("audit log")!.advice).toContain("--audit-retention-days");
    expect((await examine(...on, "--audit-retention-days", "30")).of("audit log")).toMatchObject({
      state: "ok",
      message: "records are kept for 30 days",
    });
    await db.transact((session) => session.putSetting("installation", setting));
  });

  test("feeds that findings need, and that are older than a week, are named", async () => {
    expect((await examine(...on)).of("feeds")).toMatchObject({ state: "skipped", message: "no feed was imported" });
    const db = await openDatabase(database.url);
    onTestFinished(() => db.close());
    const nowMs = Date.now();
    const metadata = createMessage(VulnerabilityMetadataSchema, { id: "CVE-2026-1" });
    const document = createMessage(DocumentSchema, { id: "openssl" });
    await db.transact(async (session) => {
      await saveVulnerabilityMetadata(session, metadata, nowMs);
      await saveDocument(session, { feed: "f", document, nowMs });
    });
    const { code, of } = await examine(...on);
    expect([code, of("feeds")]).toMatchObject([0, { state: "warning" }]);
    expect(of("feeds")!.details!.map((detail) => detail.replace(/^.*run /, ""))).toEqual([
      "`platform import osv` again",
      "`platform import advisories` again",
      "`platform import epss`",
      "`platform import kev`",
    ]);
    const imported = (importMs: number) =>
      db.transact(async (session) => {
        for (const command of ["osv", "advisories", "epss", "kev"])
          await saveFeed(session, { feed: "f", command, importMs, claims: undefined });
      });
    await imported(nowMs - 8 * 86_400_000);
    expect((await examine(...on)).of("feeds")).toMatchObject({
      state: "warning",
      details: expect.arrayContaining(["the feed f (import osv) was imported 8 days ago"]),
    });
    await imported(nowMs);
    expect((await examine(...on)).of("feeds")).toMatchObject({ state: "ok" });
  });

  test("a sound installation has nothing that fails", async () => {
    const { code, stderr, findings } = await examine("--deep", ...on);
    expect([...findings.values()].filter(({ state }) => state === "failure" || state === "warning")).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "0 failed, 0 warnings\n" });
    const { stdout } = await runHere(["doctor", ...on]);
    expect(stdout).toMatch(/^ok +schema +the tables are those of this version\n/m);
  });

  test("totals that differ from the rows fail, and are corrected when told", async () => {
    await sql("update counters set count = count + 3 where table_name = 'roles' and class = 'below'");
    const wrong = await examine(...on);
    expect(wrong).toMatchObject({ code: 1, stderr: "error: 1 failed, 0 warnings\n" });
    expect(wrong.of("counters")).toMatchObject({
      state: "failure",
      advice: expect.stringContaining("--repair"),
      details: expect.arrayContaining([expect.stringMatching(/^roles below at the root: \d+ counted, \d+ found$/)]),
    });
    expect((await examine("--repair", ...on)).of("counters")).toMatchObject({
      state: "ok",
      message: expect.stringMatching(/^\d+ totals? corrected$/),
    });
    expect((await examine(...on)).of("counters")?.state).toBe("ok");
  });

  test("an unfinished import, a missing and an unknown migration are found", async () => {
    await sql("insert into settings (name, value) values ('snapshot_import', '{}')");
    expect((await examine(...on)).of("schema")).toMatchObject({
      state: "failure",
      advice: expect.stringContaining("import snapshot"),
    });
    await sql("delete from settings where name = 'snapshot_import'");
    await sql("insert into migrations (name) values ('9999-later')");
    expect((await examine(...on)).of("schema")).toMatchObject({
      state: "failure",
      message: expect.stringContaining("9999-later"),
    });
    await sql("delete from migrations where name = '9999-later'");
  });

  test("a subscription whose secret has another key, and issuers and sinks that cannot be reached, are found", async () => {
    const key = ["--secret-key", "ab".repeat(32)];
    const loopback = ["--allow-loopback-issuers", "--allow-loopback-sinks"];
    const settings = [...on, ...key, ...loopback];
    const issuer = await startIssuer(await testKey("ES256", "k"));
    onTestFinished(() => issuer.close());
    const sink = await startSink();
    const server = await startPlatformForTest([...settings, "--listen", "127.0.0.1:0", "--log-level", "error"]);
    const token = (await runHere(["token", ...on])).stdout.trim();
    const rest = restClient(server.baseUrl, token);
    const root = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
    const gone = "https://gone.invalid";
    for (const url of [issuer.url, gone]) {
      const claimMatch = { issuer: url, subject: "ci" };
      const made = await rest.post(`/iam/v2/identities/${root}`, { name: "ci", claimMatch });
      expect(made.status, JSON.stringify(made.body)).toBe(200);
    }
    for (const url of [sink.url, "https://gone.invalid/hook"])
      expect((await rest.post(`/events/v2/subscriptions/${root}`, { sink: url })).status).toBe(200);

    await server.end("SIGTERM"); // it sends events, too
    const before = { requests: sink.received.length, connections: sink.connections(), fetches: issuer.requests.length };

    const { of } = await examine(...settings);
    expect(of("secrets")).toMatchObject({ state: "ok", message: "2 secrets can be decrypted" });
    for (const [check, url] of [
      ["issuers", gone],
      ["sinks", `${gone}/hook`],
    ] as const)
      expect(of(check)).toMatchObject({
        state: "warning",
        message: `1 of 2 ${check} failed`,
        details: [expect.stringContaining(`${url}: `)],
      });
    expect(issuer.requests.length).toBe(before.fetches + 2);
    expect(sink.received.length).toBe(before.requests);
    expect(of("clock")).toMatchObject({ state: "ok", message: expect.stringMatching(/^less than 5 s/) });
    // Without leave, nothing on this machine is connected to.
    const strict = await examine(...on, ...key);
    expect(strict.of("sinks")?.details?.length).toBe(2);
    expect(sink.connections()).toBe(before.connections + 1);
    expect((await examine(...on)).of("secrets")?.state).toBe("failure");
  });
});

test("files with secrets that others can read, and files of another time, are found", async () => {
  const cwd = await temporaryFolder();
  const path = join(cwd, "platform.db");
  const on = ["--database", `sqlite:${path}`];
  expect((await examine(...on)).of("database files")?.state).toBe("failure");
  await runHere(["init", ...on]);
  chmodSync(path, 0o640);
  expect((await examine(...on)).of("file rights")).toMatchObject({ state: "warning", advice: `chmod go= ${path}` });
  const config = join(cwd, "config.json");
  writeFileSync(config, JSON.stringify({ secretKey: "ab".repeat(32) }), { mode: 0o644 });
  chmodSync(path, 0o604);
  const { of, code } = await examine(...on, "--config", config);
  expect(code).toBe(1);
  expect(of("file rights")).toMatchObject({
    state: "failure",
    details: [`${path} (--database) has mode 604`, `${config} (--config) has mode 644`],
  });
  chmodSync(path, 0o600);
  expect((await examine(...on)).of("file rights")?.state).toBe("ok");
  utimesSync(path, new Date(), new Date(Date.now() + 3_600_000));
  expect((await examine(...on)).of("clock")).toMatchObject({
    state: "failure",
    advice: expect.stringContaining("NTP"),
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a certificate that is of another key, or none, is found", async () => {
  const cwd = await temporaryFolder();
  await runHere(["init", "--database", `sqlite:${cwd}/platform.db`]);
  const { cert, key } = selfSigned();
  writeFileSync(join(cwd, "cert"), cert);
  writeFileSync(join(cwd, "key"), key, { mode: 0o600 });
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(join(cwd, "other"), privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  const certificateWith = async (cert: string, key: string) => {
    const files = ["--tls-cert", join(cwd, cert), "--tls-key", join(cwd, key)];
    return (await examine("--database", `sqlite:${cwd}/platform.db`, ...files)).of("certificate");
  };
  expect(await certificateWith("cert", "key")).toMatchObject({ state: "ok", message: expect.stringContaining("2049") });
  expect(await certificateWith("cert", "other")).toMatchObject({
    state: "failure",
    message: expect.stringContaining("is not the key of"),
  });
  expect((await certificateWith("key", "key"))?.state).toBe("failure");
  expect((await certificateWith("missing", "key"))?.state).toBe("failure");
});

test("a damaged file is found", async () => {
  const cwd = await temporaryFolder();
  const on = ["--database", `sqlite:${cwd}/platform.db`];
  await runHere(["init", ...on]);
  const path = join(cwd, "platform.db");
  {
    using file = new DatabaseSync(path);
    const [root] = file.prepare("select rootpage from sqlite_master where type = 'index' and tbl_name = 'tags'").all();
    const bytes = readFileSync(path);
    bytes.fill(0xff, (Number(root!.rootpage) - 1) * 4096, Number(root!.rootpage) * 4096);
    writeFileSync(path, bytes);
  }
  expect((await examine("--deep", ...on)).of("integrity")).toMatchObject({ state: "failure" });
  writeFileSync(path, "no database");
  expect((await examine(...on)).of("database")).toMatchObject({
    state: "failure",
    message: expect.stringContaining("is not a SQLite database"),
  });
});
