/** `platform audit --output`: a file that survives its process. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/store/index.ts";
import { campaign } from "../campaign.ts";
import { installed, record, write } from "./audit-records.ts";
import { startCommand } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

const kills = campaign({ short: 1, full: 10 });

test(`an export that is killed (${kills}×) has every record once`, { timeout: 300_000 }, async () => {
  const { folder, settings, url } = await installed();
  const file = join(folder, "audit.jsonl");
  const database = await openDatabase(url);
  const args = ["audit", "--output", file, "--rotate-size", "30KiB", "--rotate-count", "1000", ...settings];
  let isWriting = true;
  const writing = (async () => {
    for (let i = 0; isWriting; i++) {
      await write(
        database,
        Array.from({ length: 5 }, (_, j) => record({ requestId: `${i} ${j}` })),
      );
      await setTimeout(10);
    }
  })();
  for (let i = 0; i < kills; i++) {
    const child = startCommand([...args, "--follow"]);
    const before = await bytesIn(folder);
    await expect.poll(() => bytesIn(folder)).toBeGreaterThan(before);
    await setTimeout(Math.random() * 1500);
    await child.end("SIGKILL");
  }
  isWriting = false;
  await writing;
  expect(await runHere(args)).toMatchObject({ code: 0, stderr: "" });
  const stored = (await runHere(["audit", "--json", ...settings])).stdout.split("\n").slice(0, -1);
  const names = (await exportsIn(folder)).map((name) => join(folder, name));
  const texts = await Promise.all(names.map((name) => readFile(name, "utf8")));
  expect(texts.join("").split("\n").slice(0, -1).sort()).toEqual(stored.sort());
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) expect((await stat(name)).mode & 0o777).toBe(0o600);
  await database.close();
});

const exportsIn = async (folder: string) =>
  (await readdir(folder)).filter((name) => /^audit\.jsonl(?:\.\d+)?$/.test(name));

async function bytesIn(folder: string): Promise<number> {
  const sizes = (await exportsIn(folder)).map((name) => stat(join(folder, name)).then(({ size }) => size));
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
