/** Upgrades: what a start may do to an older database, and what a server does when another has upgraded its own. */
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { runPlatform, startPlatformForTest } from "../cli/platform-process.ts";
import { onEveryDatabase, onEveryEmptyDatabase } from "../databases/databases.ts";
import { migrateUpTo } from "../databases/migrate-up-to.ts";

onEveryEmptyDatabase("an older database", (database) => {
  test("is migrated by a start on SQLite; on PostgreSQL the start says what to run", async () => {
    await migrateUpTo("0013-provisioning", database());
    const settings = ["--database", database().url, "--listen", "127.0.0.1:0"];
    if (database().name === "sqlite") {
      const kept = await runPlatform(["serve", ...settings, "--auto-migrate", "off"]);
      expect(kept.code).toBe(1);
      expect(kept.stderr).toContain(
        "error: the database needs 6 migrations, from 0013-provisioning: run `platform migrate",
      );
      await startPlatformForTest(settings);
      return;
    }
    const refused = await runPlatform(["serve", ...settings]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr.match(/^error: .*$/gm)).toEqual([
      "error: the database needs 6 migrations, from 0013-provisioning: run `platform migrate --plan`, then `platform migrate`, or start with --auto-migrate=on",
    ]);
    const migrate = ["migrate", "--database", database().url];
    expect((await runPlatform([...migrate, "--plan"])).stdout).toMatch(
      /^0013-provisioning: creates tables, locks nothing\n0014-text-scans: builds indexes .*\n0015-.*\n0016-.*\n0017-.*\n0018-.*\n$/,
    );
    expect((await runPlatform(migrate)).stdout).toMatch(
      /^0013-provisioning: [\d.]+ s\n0014-text-scans: [\d.]+ s\n0015-.*: [\d.]+ s\n0016-.*: [\d.]+ s\n0017-.*: [\d.]+ s\n0018-.*: [\d.]+ s\n6 migrations applied\n$/,
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
