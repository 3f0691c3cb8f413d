/** Upgrades: what a start may do to an older database, and what a server does when another has upgraded its own. */
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { migrations } from "../../src/store/migrations/index.ts";
import { runPlatform, startPlatformForTest } from "../cli/platform-process.ts";
import { onEveryDatabase, onEveryEmptyDatabase } from "../databases/databases.ts";
import { migrateUpTo } from "../databases/migrate-up-to.ts";

const first = "0013-provisioning";
const missing = migrations.slice(migrations.findIndex(({ name }) => name === first)).map(({ name }) => name);

onEveryEmptyDatabase("an older database", (database) => {
  test("is migrated by a start on SQLite; on PostgreSQL the start says what to run", async () => {
    await migrateUpTo(first, database());
    const settings = ["--database", database().url, "--listen", "127.0.0.1:0"];
    const advice = "`platform migrate` applies them, see docs/upgrade.md";
    expect(await runPlatform(["export", "/dev/null/none.jsonl", "--database", database().url])).toEqual({
      code: 1,
      stdout: "",
      stderr: `error: ${missing.length} migrations missing: ${advice}\n`,
    });
    const { stdout: diagnosis } = await runPlatform(["doctor", "--json", "--database", database().url]);
    const findings = diagnosis.trimEnd().split("\n");
    expect(findings.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ check: "schema", message: `${missing.length} migrations missing`, advice }),
    );
    if (database().name === "sqlite") {
      const kept = await runPlatform(["serve", ...settings, "--auto-migrate", "off"]);
      expect(kept.code).toBe(1);
      expect(kept.stderr).toContain(
        `error: the database needs ${missing.length} migrations, from ${first}: run \`platform migrate`,
      );
      await startPlatformForTest(settings);
      return;
    }
    const refused = await runPlatform(["serve", ...settings]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr.match(/^error: .*$/gm)).toEqual([
      `error: the database needs ${missing.length} migrations, from ${first}: run \`platform migrate --plan\`, then \`platform migrate\`, or start with --auto-migrate=on`,
    ]);
    const migrate = ["migrate", "--database", database().url];
    const planned = missing.map((name) => `${name}: .+\n`).join("");
    expect((await runPlatform([...migrate, "--plan"])).stdout).toMatch(
      new RegExp(`^${planned}derived rows: .* get a new etag and update time\n$`),
    );
    const applied = missing.map((name) => `${name}: [\\d.]+ s\n`).join("");
    expect((await runPlatform(migrate)).stdout).toMatch(
      new RegExp(`^${applied}${missing.length} migrations applied\n$`),
    );
    expect((await runPlatform([...migrate, "--plan"])).stdout).toBe("the database is up to date\n");
    await startPlatformForTest(settings);
  });
});

onEveryDatabase("a newer database", (database) => {
  test("is refused by a start, and makes a running server unready", async () => {
    const settings = ["--database", database().url, "--listen", "127.0.0.1:0"];
    const server = await startPlatformForTest(settings);
    const readiness = async () => {
      const answer = await fetch(`${server.baseUrl}/readyz`);
      return [answer.status, ((await answer.json()) as { status: string }).status];
    };
    expect(await readiness()).toEqual([200, "ok"]);
    const db = await database().open();
    onTestFinished(() => db.close());
    const later = `9999-${randomBytes(2).toString("hex")}`;
    await database().sql(`insert into migrations (name) values ('${later}')`);
    await expect.poll(readiness).toEqual([503, "the database is newer than this server"]);
    await expect.poll(server.stderr).toContain(later);
    const { code, stderr } = await runPlatform(["serve", ...settings]);
    expect(code).toBe(1);
    expect(stderr).toContain(`the database is newer than this program: it has ${later}, and this program ends with 00`);
  });
});
