/**
 * A server whose database file is on a disk that is full: what it refuses and what it still answers, and that it is
 * well again when there is space.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { fill, mountDisk } from "./small-disk.ts";

test("writes are UNAVAILABLE and reads go on while the disk is full; then both do", async ({ skip }) => {
  const disk = mountDisk();
  if ("missing" in disk) {
    console.warn(`a full disk is not tested: ${disk.missing}`);
    return skip(disk.missing);
  }
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "info", base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const flags = {
    listen: "127.0.0.1:0",
    adminListen: "off",
    drainDelay: "0",
    database: `sqlite:${join(disk.folder, "platform.db")}`,
  };
  const server = await startServer(readConfig({ flags, env: {}, warn: expect.fail }), log);
  onTestFinished(() => server.stop());
  const { rootGroupUid: root, administratorUid } = server.installed!;
  const headers = {
    authorization: `Bearer ${await server.mintToken(administratorUid, 3600)}`,
    "content-type": "application/json",
  };
  const create = (name: string) =>
    fetch(`${server.baseUrl}/registry/v2/repos/${root}`, { method: "POST", headers, body: JSON.stringify({ name }) });
  const list = async () => {
    const answer = await fetch(`${server.baseUrl}/registry/v2/repos`, { headers });
    return [answer.status, ((await answer.json()) as { totalCount: string }).totalCount];
  };
  const readiness = async () => (await fetch(`${server.baseUrl}/readyz`)).status;
  expect((await create("before")).status).toBe(200);

  fill(join(disk.folder, "filler"));
  let made = 1;
  let refused = await create("full-0"); // what was given to the log before may be used again
  for (; refused.status === 200 && made < 5000; made++) refused = await create(`full-${made}`);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await refused.json()).toMatchObject({ code: 14, details: [{ reason: "UNAVAILABLE" }, { retryDelay: "1s" }] });
  expect(await list()).toEqual([200, String(made)]);
  await expect.poll(readiness).toBe(503);
  expect((await fetch(`${server.baseUrl}/livez`)).status).toBe(200);
  for (let i = 0; i < 5; i++) expect((await create("full-again")).status).toBe(503);
  expect(lines.flatMap(({ msg }) => (/database unavailable|bug/.test(String(msg)) ? [msg] : []))).toEqual([
    "database unavailable",
  ]);

  rmSync(join(disk.folder, "filler"));
  await expect.poll(readiness).toBe(200);
  expect((await create("after")).status).toBe(200);
  expect(await list()).toEqual([200, String(made + 1)]);
});
