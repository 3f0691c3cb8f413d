/** Servers of this release and of a next one, on one database: additions suit both, and what does not waits. */
import { expect, test } from "vitest";
import { type PlatformProcess, runPlatform, startPlatformForTest } from "../cli/platform-process.ts";
import { onCampaignDatabases } from "../databases/databases.ts";
import { nextRelease } from "../next-release/program.ts";

onCampaignDatabases("the schema of a next release", (database) => {
  test("suits servers of both releases until it is finished", { timeout: 120_000 }, async () => {
    const on = ["--database", database().url];
    const serve = [...on, "--listen", "127.0.0.1:0"];
    const old = await startPlatformForTest(serve);
    const token = (await runPlatform(["token", ...on])).stdout.trim();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const call = async ({ baseUrl }: PlatformProcess, method: string, path: string, body?: object) => {
      const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
    };
    const root = (await call(old, "GET", "/iam/v2/groups")).body.groups[0].uid;
    const create = (server: PlatformProcess, name: string) =>
      call(server, "POST", `/registry/v2/repos/${root}`, { name });
    const names = async (server: PlatformProcess) =>
      (await call(server, "GET", "/registry/v2/repos?order_by=name")).body.repos.map(
        (each: { name: string }) => each.name,
      );
    expect((await create(old, "a")).status).toBe(200);

    // The first phase: both work on it.
    const plan = await runPlatform(["migrate", "--plan", ...on], nextRelease);
    expect(plan.stdout).toMatch(/^9001-shades: .*\n9002-shades-index: .*\n9003-.* \(with --finish\): .*\n$/);
    const migrated = await runPlatform(["migrate", ...on], nextRelease);
    expect(migrated).toMatchObject({ code: 0 });
    expect(migrated.stdout).toMatch(/\n2 migrations applied\n1 to finish: run `platform migrate --finish`/);
    if (database().name === "postgresql")
      expect(
        await database().sql("select from pg_index where indexrelid = 'repos_shade'::regclass and indisvalid"),
      ).toHaveLength(1);
    const next = await startPlatformForTest(serve, nextRelease);
    for (const [i, server] of [old, next, old, next].entries())
      expect((await create(server, `b${i}`)).status).toBe(200);
    for (const server of [old, next]) expect(await names(server)).toEqual(["a", "b0", "b1", "b2", "b3"]);
    expect((await call(old, "GET", "/readyz")).status).toBe(200);
    expect((await runPlatform(["doctor", ...on])).stdout).toMatch(/^ok +schema +/m);
    const doctor = await runPlatform(["doctor", ...on], nextRelease);
    expect(doctor.stdout).toMatch(/^ok +schema .*\n +- to finish: 9003-.*\n +→ `platform migrate --finish`/m);

    // Back by one release: the older one starts.
    const back = await startPlatformForTest(serve);
    expect((await create(back, "c")).status).toBe(200);
    expect((await runPlatform(["migrate", ...on])).stdout).toBe("the database is up to date\n");
    expect((await names(next)).at(-1)).toBe("c");
    const newest = await startPlatformForTest(serve, nextRelease);
    await back.end("SIGTERM");

    // The second phase: older servers stop before it runs, and are not started again.
    const finished = await runPlatform(["migrate", "--finish", ...on], nextRelease);
    expect(finished).toMatchObject({ code: 0 });
    expect(finished.stderr).toContain("until servers of the version before take no calls");
    expect(finished.stdout).toMatch(/^9003-.*\n1 migration applied\n$/);
    const refused = await create(old, "d");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(refused.body).toMatchObject({ code: 14, message: "Unavailable: the database is newer than this server" });
    expect(await call(old, "GET", "/readyz")).toMatchObject({
      status: 503,
      body: { status: "the database is newer than this server" },
    });
    expect((await call(old, "GET", "/livez")).status).toBe(200);
    expect((await create(newest, "d")).status).toBe(200);
    expect(await names(newest)).toEqual(["a", "b0", "b1", "b2", "b3", "c", "d"]);
    const started = await runPlatform(["serve", ...serve]);
    expect(started.code).toBe(1);
    expect(started.stderr).toContain("the database is newer than this program: it has 9002-shades-index, 9003-");
    expect((await runPlatform(["doctor", ...on], nextRelease)).stdout).toMatch(/^ok +schema .*version\n(?! )/m);
  });
});
