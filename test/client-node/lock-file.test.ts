/** Locks between processes. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { tryLock } from "../../src/client-node/index.ts";
import { temporaryFolder } from "../cli/platform-process.ts";

/** The file of a lock that a process has, of which the system says this. */
async function locked(signalled: () => true): Promise<string> {
  const file = join(await temporaryFolder(), "lock");
  await writeFile(file, "4711");
  const kill = vi.spyOn(process, "kill").mockImplementation(signalled);
  onTestFinished(() => kill.mockRestore());
  return file;
}

function failing(code: string): () => never {
  return () => {
    throw Object.assign(new Error(code), { code });
  };
}

test("a lock is that of one, until it is released", async () => {
  const file = join(await temporaryFolder(), "locks", "lock");
  const lock = await tryLock(file);
  expect(await readFile(file, "utf8")).toBe(String(process.pid));
  expect(await tryLock(file)).toEqual({ owner: process.pid });
  if ("release" in lock) await lock.release();
  expect(await tryLock(file)).toHaveProperty("release");
});

test("a lock of a process that runs is kept, also of another user", async () => {
  expect(await tryLock(await locked(() => true))).toEqual({ owner: 4711 });
  expect(await tryLock(await locked(failing("EPERM")))).toEqual({ owner: 4711 });
});

test("a lock of a process that has ended, or of nobody, is taken over", async () => {
  const file = await locked(failing("ESRCH"));
  expect(await tryLock(file)).toHaveProperty("release");
  await writeFile(file, "");
  expect(await tryLock(file)).toHaveProperty("release");
});
