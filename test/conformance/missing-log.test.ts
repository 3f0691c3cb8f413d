/** SQLite files whose write-ahead log is gone: a server starts on none of them as if it were new or whole. */
import { existsSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runPlatform, settingsIn, startPlatformForTest, temporaryFolder } from "../cli/platform-process.ts";

/** A server has stored its installation, and was killed. */
async function killedServer() {
  const folder = await temporaryFolder();
  const settings = settingsIn(folder);
  const server = await startPlatformForTest(settings.serve);
  await server.end("SIGKILL");
  return { ...settings, path: join(folder, "platform.db") };
}

async function expectRefusal(serve: readonly string[], database: readonly string[], sign: string): Promise<void> {
  for (const command of [
    ["serve", ...serve],
    ["token", ...database],
    ["init", ...database],
    ["migrate", ...database],
  ]) {
    const { code, stderr } = await runPlatform(command);
    expect(code, command[0]).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`error: --database: the write-ahead log .*-wal, is missing: ${sign}\\. .*restore`),
    );
  }
}

test("a log that is there is recovered", async () => {
  const { path, serve, database } = await killedServer();
  expect(existsSync(`${path}-wal`)).toBe(true);
  const server = await startPlatformForTest(serve);
  expect((await runPlatform(["token", ...database])).code).toBe(0);
  expect(await server.end("SIGTERM")).toBe(0);
  expect(existsSync(`${path}-wal`)).toBe(false);
  await startPlatformForTest(serve);
});

test("without the log, or with the log removed beside its index, nothing is made", async () => {
  const { path, serve, database } = await killedServer();
  rmSync(`${path}-wal`);
  await expectRefusal(serve, database, "its index is there");
  rmSync(`${path}-shm`);
  await expectRefusal(serve, database, "the file has no tables");
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("a file that has lost its last pages is not whole", async () => {
  const { path, serve, database } = await killedServer();
  const file = new DatabaseSync(path);
  file.exec("pragma wal_checkpoint(truncate)");
  file.close();
  truncateSync(path, 200_000);
  await expectRefusal(serve, database, "pages are missing in the file");
});

test("a file of which all tables were dropped is not taken for a new one, an empty file is", async () => {
  const folder = await temporaryFolder();
  const { serve, database } = settingsIn(folder);
  const path = join(folder, "platform.db");
  const file = new DatabaseSync(path);
  file.exec("create table t (a); drop table t");
  file.close();
  await expectRefusal(serve, database, "the file has no tables");
  rmSync(path);
  writeFileSync(path, "");
  await startPlatformForTest(serve);
});
