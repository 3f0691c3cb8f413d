/** A server of several processes at one port. */
import { execFileSync } from "node:child_process";
import { request } from "node:http";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { campaign } from "../campaign.ts";
import { type PlatformProcess, runPlatform, startPlatform } from "../cli/platform-process.ts";
import type { Json } from "./contract.ts";
import "../databases/postgres.ts";
import { type EmptyDatabase, migratedPostgres, migratedSqlite } from "./databases.ts";
import { jsonOf, shortType, startSink } from "./event-sink.ts";

const postgres = inject("postgres") ?? { missing: "the conformance project has no global set-up" };
const databases: [string, () => Promise<EmptyDatabase>][] = [["sqlite", migratedSqlite]];
if ("url" in postgres && campaign({ short: false, full: true }))
  databases.push(["postgresql", () => migratedPostgres(postgres.url)]);
if (!("url" in postgres)) console.warn(`workers are not tested on PostgreSQL: ${postgres.missing}`);

interface Answer {
  readonly status: number;
  readonly body: Json;
}

interface Workers {
  readonly server: PlatformProcess;
  readonly root: string;
  /** The processes of the workers. */
  pids(): number[];
  /** A token for an identity; by default the administrator's. */
  token(identity?: string): Promise<string>;
  /** Makes a call over a connection of its own, so that any worker may answer. */
  call(method: string, path: string, body?: Json, token?: string): Promise<Answer>;
  /** Asks the probes. */
  probe(path: string): Promise<Answer>;
  metrics(): Promise<string>;
}

async function startWorkers(create: () => Promise<EmptyDatabase>, ...more: string[]): Promise<Workers> {
  const database = await create();
  onTestFinished(() => database.remove());
  const url = ["--database", database.url];
  const listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const server = await startPlatform([...url, ...listen, "--workers", "2", ...more]);
  onTestFinished(async () => void (await server.end("SIGTERM")));
  const adminPort = () => /"adminPort":(\d+)[^\n]*"admin listener"/.exec(server.stderr())?.[1];
  await expect.poll(adminPort).toBeDefined();
  const admins = `http://127.0.0.1:${adminPort()}`;
  const token = async (identity?: string) => {
    const { code, stdout, stderr } = await runPlatform([
      "token",
      ...url,
      ...(identity ? ["--identity", identity] : []),
    ]);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const admin = await token();
  const call: Workers["call"] = (method, path, body, as = admin) => ask(`${server.baseUrl}${path}`, method, as, body);
  const probe = (path: string) => ask(`${admins}${path}`, "GET");
  await expect.poll(async () => (await probe("/readyz")).body).toEqual({ status: "ok", workers: ["ok", "ok"] });
  const { body } = await call("GET", "/iam/v2/groups?uidp.in_root=true");
  return {
    server,
    root: body.groups[0].uid,
    pids: () =>
      execFileSync("pgrep", ["-P", String(server.pid)], { encoding: "utf8" })
        .trim()
        .split("\n")
        .map(Number),
    token,
    call,
    probe,
    metrics: async () => (await fetch(`${admins}/metrics`)).text(),
  };
}

function ask(url: string, method: string, token?: string, body?: Json): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const sent = request(url, { method, agent: false, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece) => {
        text += piece;
      });
      answer.on("error", reject).on("end", () => {
        try {
          resolve({ status: answer.statusCode!, body: text === "" ? undefined : JSON.parse(text) });
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** So many connections reach both workers, but for one time in millions. */
const manyConnections = 24;

describe.each(databases)("workers (%s)", (_, create) => {
  test("share the port, and a change through one is seen by the other at once", async () => {
    const { root, call, token } = await startWorkers(create);
    const claimMatch = { issuer: "https://issuer.example.com", subject: "reader" };
    const { body: identity } = await call("POST", `/iam/v2/identities/${root}`, { name: "reader", claimMatch });
    const { body: roles } = await call("GET", "/iam/v2/roles?name=viewer");
    const reader = await token(identity.uid);
    const statuses = async () => {
      const calls = Array.from({ length: manyConnections }, () =>
        call("GET", `/iam/v2/groups/${root}`, undefined, reader),
      );
      return [...new Set((await Promise.all(calls)).map(({ status }) => status))];
    };
    for (let i = 0; i < 3; i++) {
      const role = { identityUid: identity.uid, roleUid: roles.roles[0].uid };
      const { body: binding } = await call("POST", `/iam/v2/roleBindings/${root}`, role);
      expect(await statuses()).toEqual([200]);
      await call("DELETE", `/iam/v2/roleBindings/${encodeURIComponent(binding.uid)}`);
      expect(await statuses()).toEqual([403]);
    }
  });

  test("start again when they end, and lose only their own connections", async () => {
    const { server, pids, root, call, probe } = await startWorkers(create);
    for (let i = 0; i < 2; i++) {
      const before = pids();
      let isOver = false;
      let answered = 0;
      let lost = 0;
      const load = Array.from({ length: 4 }, async () => {
        while (!isOver) {
          await call("GET", `/iam/v2/groups/${root}`).then(
            ({ status }) => {
              expect(status).toBe(200);
              answered++;
            },
            () => lost++,
          );
        }
      });
      await expect.poll(() => answered).toBeGreaterThan(10);
      process.kill(before[0]!, "SIGKILL");
      await expect.poll(() => pids().filter((pid) => !before.includes(pid)).length).toBe(1);
      await expect.poll(async () => (await probe("/readyz")).body.workers).toEqual(["ok", "ok"]);
      isOver = true;
      await Promise.all(load);
      expect(lost, "at most one connection of each loop, and those that were not accepted yet").toBeLessThan(20);
    }
    const ended = server
      .stderr()
      .split("\n")
      .filter((line) => line.includes('"msg":"worker ended"'));
    expect(ended).toHaveLength(2);
    expect(new Set(ended.map((line) => JSON.parse(line).worker))).toEqual(new Set([0, 1]));
  });

  test("deliver each event once, whichever of them has recorded it, also after the first has ended", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const { pids, root, call, probe } = await startWorkers(create, "--allow-loopback-sinks");
    const { status } = await call("POST", `/events/v2/subscriptions/${root}`, { sink: sink.url("/all") });
    expect(status).toBe(200);
    const names: string[] = [];
    const makeGroups = async () => {
      const more = Array.from({ length: manyConnections }, (_, i) => `group-${names.length + i}`);
      names.push(...more);
      const made = await Promise.all(more.map((name) => call("POST", `/iam/v2/groups/${root}`, { name })));
      expect(made.map(({ status }) => status)).toEqual(more.map(() => 200));
    };
    const delivered = () =>
      sink
        .at("/all")
        .filter((event) => shortType(event) === "iam.group.created")
        .map((event) => jsonOf(event).body?.name ?? jsonOf(event).name)
        .sort();
    await makeGroups();
    await expect.poll(delivered).toEqual(names.toSorted());
    const [first] = pids();
    process.kill(first!, "SIGKILL");
    await expect.poll(() => pids().includes(first!)).toBe(false);
    await expect.poll(async () => (await probe("/readyz")).body.workers).toEqual(["ok", "ok"]);
    await makeGroups();
    await expect.poll(delivered).toEqual(names.toSorted());
  });
});

describe("workers", () => {
  test("count together, also those that have ended", async () => {
    const { pids, root, call, probe, metrics } = await startWorkers(migratedSqlite);
    const counted = async () => {
      const text = await metrics();
      return Number(/platform_v1_calls_total\{method="platform.iam.v1.Groups\/List"\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    const ofV1 = () =>
      Promise.all(Array.from({ length: manyConnections }, () => call("GET", `/iam/v1/groups?id=${root}`)));
    await ofV1();
    await expect.poll(counted).toBe(manyConnections);
    for (const worker of [0, 1]) {
      const profile = await probe(`/debug/profile?seconds=1&worker=${worker}`);
      expect(profile).toMatchObject({ status: 200, body: { samples: expect.anything() } });
    }
    for (const pid of pids()) {
      process.kill(pid, "SIGKILL");
      await expect.poll(() => pids().includes(pid)).toBe(false);
      await expect.poll(async () => (await probe("/readyz")).body.workers).toEqual(["ok", "ok"]);
    }
    await ofV1();
    await expect.poll(counted).toBe(2 * manyConnections);
  });

  test("stop together, and with their supervisor", async () => {
    const first = await startWorkers(migratedSqlite);
    const ofFirst = first.pids();
    expect(await first.server.end("SIGTERM")).toBe(0);
    expect(ofFirst.filter(isRunning)).toEqual([]);
    const second = await startWorkers(migratedSqlite);
    const ofSecond = second.pids();
    await second.server.end("SIGKILL");
    await expect.poll(() => ofSecond.filter(isRunning)).toEqual([]);
  });

  test("do not share the port of another server", async () => {
    const { server } = await startWorkers(migratedSqlite);
    const { host } = new URL(server.baseUrl);
    const { code, stderr } = await runPlatform([
      "serve",
      "--workers",
      "2",
      "--listen",
      host,
      "--database",
      "sqlite::memory:",
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: --listen: port \d+ of 127\.0\.0\.1 is in use/);
  });

  test("end the server when the first cannot start", async () => {
    const options = ["--workers", "2", "--listen", "127.0.0.1:0", "--database", "postgres://127.0.0.1:1/none"];
    const { code, stdout, stderr } = await runPlatform(["serve", ...options, "--database-wait", "1ms"]);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain("error: --database: the database at 127.0.0.1:1/none cannot be reached");
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
