/** A server whose SQLite file has pages that cannot be read: it lives, says so, and serves everything else. */
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runPlatform, settingsIn, startPlatformForTest, temporaryFolder } from "../cli/platform-process.ts";

/** Overwrites a page of the table, and returns how many rows it had. */
function damagePage(path: string, table: string): number {
  using file = new DatabaseSync(path);
  const pages = file
    .prepare("select pageno, ncell from dbstat where name = ? and pagetype = 'leaf' order by path")
    .all(table) as { readonly pageno: number; readonly ncell: number }[];
  const { page_size: size } = file.prepare("pragma page_size").get() as { readonly page_size: number };
  const { pageno, ncell } = pages[Math.floor(pages.length / 2)]!;
  file.close();
  const descriptor = openSync(path, "r+");
  writeSync(descriptor, Buffer.alloc(size, 0xff), 0, size, (pageno - 1) * size);
  closeSync(descriptor);
  return ncell;
}

test("a damaged page fails the calls that need it, and nothing else", async () => {
  const folder = await temporaryFolder();
  const settings = settingsIn(folder);
  const first = await startPlatformForTest(settings.serve);
  const made = await runPlatform(["token", ...settings.database]);
  const headers = { authorization: `Bearer ${made.stdout.trim()}`, "content-type": "application/json" };
  const call = async (baseUrl: string, method: string, path: string, body?: object) => {
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  };
  const groups = await call(first.baseUrl, "GET", "/iam/v2/groups");
  const root = groups.body.groups[0].uid as string;
  const create = (baseUrl: string, name: string) =>
    call(baseUrl, "POST", `/registry/v2/repos/${root}`, { name, description: "x".repeat(500) });
  const uids: string[] = [];
  for (let i = 0; i < 60; i++) uids.push((await create(first.baseUrl, `repo-${i}`)).body.uid);
  await first.end("SIGTERM");

  const lost = damagePage(join(folder, "platform.db"), "repos");
  const server = await startPlatformForTest(settings.serve);
  const { baseUrl } = server;
  const statuses = async () => Promise.all(uids.map((uid) => call(baseUrl, "GET", `/registry/v2/repos/${uid}`)));
  for (let round = 0; round < 3; round++) {
    const answers = await statuses();
    const failed = answers.filter(({ status }) => status !== 200);
    expect(failed.length).toBe(lost);
    for (const answer of failed) expect(answer).toMatchObject({ status: 500, body: { code: 15 } });
    expect(failed[0]!.body.details[0]).toMatchObject({ reason: "DATA_LOSS" });
  }
  expect((await call(baseUrl, "GET", "/registry/v2/repos?page_size=100")).body.code).toBe(15);

  // Changes of rows on the damaged page fail alone, also where they share a transaction with others.
  const update = (uid: string) => call(baseUrl, "PATCH", `/registry/v2/repos/${uid}`, { description: "y" });
  const [updates, creates] = await Promise.all([
    Promise.all(uids.map(update)),
    Promise.all(
      Array.from({ length: 20 }, (_, i) => call(baseUrl, "POST", `/iam/v2/groups/${root}`, { name: `g${i}` })),
    ),
  ]);
  expect(updates.filter(({ body }) => body.code === 15).length).toBe(lost);
  expect(updates.filter(({ status }) => status === 200).length).toBe(uids.length - lost);
  expect(creates.map(({ status }) => status)).toEqual(creates.map(() => 200));

  const readyz = async () => {
    const answer = await fetch(`${baseUrl}/readyz`);
    return [answer.status, ((await answer.json()) as { status: string }).status];
  };
  await expect.poll(readyz).toEqual([503, expect.stringContaining("platform doctor --deep")]);
  expect((await fetch(`${baseUrl}/livez`)).status).toBe(200);
  const doctor = await runPlatform(["doctor", "--deep", ...settings.database]);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/^failure +integrity +the file is damaged$/m);
  expect(doctor.stderr).not.toContain("internal error");
  expect(await server.end("SIGTERM")).toBe(0);
  expect(server.stderr().match(/database unavailable/g)).toHaveLength(1);
});
