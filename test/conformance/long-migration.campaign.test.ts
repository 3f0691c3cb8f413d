/** A start that migrates for long: what probes, calls and the log say meanwhile, and what a kill leaves. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { runPlatform, startCommand, temporaryFolder } from "../cli/platform-process.ts";
import { onCampaignDatabases, type TestDatabase } from "../databases/databases.ts";
import { freePort } from "../free-port.ts";
import { nextRelease } from "../next-release/program.ts";

/** Keeps the first migration of the next release from ending. On PostgreSQL it waits for a lock. */
async function hold(database: TestDatabase): Promise<{ env: Record<string, string>; release(): Promise<void> }> {
  if (database.name === "sqlite") {
    const gate = join(await temporaryFolder(), "gate");
    writeFileSync(gate, "");
    return { env: { TEST_MIGRATION_GATE: gate }, release: async () => rmSync(gate) };
  }
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query("begin; lock table repos in access exclusive mode");
  return { env: {}, release: () => client.end() };
}

onCampaignDatabases("a start that migrates", (database) => {
  test("answers probes with its progress, and can be killed", { timeout: 120_000 }, async () => {
    const on = ["--database", database().url];
    expect((await runPlatform(["init", ...on])).code).toBe(0);
    const { env, release } = await hold(database());
    const ports = { api: await freePort(), admin: await freePort() };
    const args = ["serve", ...on, "--auto-migrate", "on", "--listen", `127.0.0.1:${ports.api}`];
    const start = () => {
      const server = startCommand([...args, "--admin-listen", `127.0.0.1:${ports.admin}`], {
        ...nextRelease,
        env: { ...nextRelease.env, ...env },
      });
      onTestFinished(async () => void (await server.end("SIGKILL")));
      return server;
    };
    const probe = async (port: number, path: string) => {
      try {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`);
        return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body: await answer.json() };
      } catch {
        return undefined; // it does not listen yet
      }
    };
    const progress = {
      status: "migrating the database: 9001-shades, 1 of 2",
      migration: { name: "9001-shades", number: 1, count: 2, statements: env.TEST_MIGRATION_GATE ? 2 : 1 },
    };

    const first = start();
    for (const port of [ports.api, ports.admin]) {
      await expect
        .poll(() => probe(port, "/readyz"), { timeout: 60_000 })
        .toMatchObject({ status: 503, body: progress });
      expect(await probe(port, "/livez")).toMatchObject({ status: 200, body: { status: "ok" } });
    }
    expect(await probe(ports.api, "/iam/v2/groups")).toMatchObject({
      status: 503,
      retryAfter: "1",
      body: { code: 14, message: "Unavailable: the server is starting" },
    });
    await first.printed(/"migrations":2,"first":"9001-shades","msg":"migrating the database"/);
    await first.printed(/"name":"9001-shades",.*"msg":"still migrating"/);
    await first.end("SIGKILL");

    // Nothing has happened. Another start does all of it; a call that it gets meanwhile is answered once it serves.
    expect((await runPlatform(["migrate", "--plan", ...on], nextRelease)).stdout).toMatch(/^9001-.*\n9002-.*\n9003-/);
    const second = start();
    await expect.poll(() => probe(ports.api, "/readyz"), { timeout: 60_000 }).toMatchObject({ body: progress });
    const call = probe(ports.api, "/iam/v2/groups");
    await release();
    expect((await call)?.status).toBe(401);
    await second.wrote(/^platform listens on /);
    expect(await probe(ports.api, "/readyz")).toMatchObject({ status: 200, body: { status: "ok" } });
    await second.printed(/"migrations":2,"seconds":[\d.]+,"msg":"the database is migrated"/);
    expect(await second.end("SIGTERM")).toMatchObject({ code: 0 });
  });

  test("ends when it is told to", { timeout: 120_000 }, async () => {
    const on = ["--database", database().url];
    expect((await runPlatform(["init", ...on])).code).toBe(0);
    const { env, release } = await hold(database());
    const args = ["serve", ...on, "--auto-migrate", "on", "--listen", "127.0.0.1:0"];
    const server = startCommand(args, { ...nextRelease, env: { ...nextRelease.env, ...env } });
    await server.printed(/"msg":"migrating the database"/);
    expect(await server.end("SIGTERM")).toMatchObject({ code: 0 });
    await release();
    expect((await runPlatform(["migrate", "--plan", ...on], nextRelease)).stdout).toMatch(/^9001-.*\n9002-.*\n9003-/);
  });
});
