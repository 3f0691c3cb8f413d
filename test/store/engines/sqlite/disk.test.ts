/** A commit to SQLite is neither acknowledged nor read before it is on disk. Nothing else waits for the disk. */
import fs, { fstatSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Database } from "../../../../src/store/index.ts";
import { importAnew } from "../../../import-anew.ts";

type Store = typeof import("../../../../src/store/index.ts");

const { fdatasync } = fs;
const flush = vi.fn(fdatasync);

let openDatabase: Store["openDatabase"];
let folder: string;
let path: string;
let database: Database;

// Test files share their modules: this one has a store of its own, which takes the function when it opens a file.
beforeAll(async () => {
  Object.assign(fs, { fdatasync: flush });
  syncBuiltinESMExports();
  ({ openDatabase } = await importAnew<Store>(import.meta.resolve("../../../../src/store/index.ts")));
});

afterAll(() => {
  Object.assign(fs, { fdatasync });
  syncBuiltinESMExports();
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-sqlite-disk-"));
  path = join(folder, "platform.db");
  database = await openDatabase(`sqlite:${path}`);
  await database.migrate();
});

afterEach(async () => {
  flush.mockReset();
  await database.close();
  await rm(folder, { recursive: true });
});

/** Makes flushes end only when the test says so. */
function slowDisk(): { waits(): Promise<void>; end(error?: Error): void } {
  let end: ((error: Error | null) => void) | undefined;
  flush.mockImplementation((_, callback) => {
    end = callback;
  });
  return {
    waits: () => expect.poll(() => end).toBeDefined(),
    end: (error) => end?.(error ?? null),
  };
}

const bytes = (text: string) => new TextEncoder().encode(text);
const put = (value: string) => database.transact((session) => session.putSetting("a", bytes(value)));
async function read(): Promise<string | undefined> {
  const value = await database.read.setting("a");
  return value && new TextDecoder().decode(value);
}

test("each commit flushes the file of the log once", async () => {
  flush.mockClear();
  const flushed: number[] = [];
  flush.mockImplementation((descriptor, callback) => {
    flushed.push(fstatSync(descriptor).ino);
    fdatasync(descriptor, callback);
  });
  await put("1");
  await put("2");
  expect(flushed).toEqual(Array(2).fill(statSync(`${path}-wal`).ino));
});

test("a commit is neither read nor acknowledged before it is on disk; reads go on", async () => {
  await put("1");
  const disk = slowDisk();
  let isTold = false;
  const work = put("2").then(() => {
    isTold = true;
  });
  await disk.waits();
  for (let i = 0; i < 10; i++, await setTimeout(1)) {
    database.refresh();
    expect(await read()).toBe("1");
  }
  expect(isTold).toBe(false);
  disk.end();
  await work;
  expect(await read()).toBe("2");
});

test("a commit of another process is read meanwhile", async () => {
  await put("1");
  const disk = slowDisk();
  const work = put("2");
  await disk.waits();
  expect(await read()).toBe("1");
  const other = new DatabaseSync(path);
  other.exec("insert into settings (name, value) values ('b', x'78')");
  other.close();
  database.refresh();
  expect(await database.read.setting("b")).toEqual(bytes("x"));
  disk.end();
  await work;
});

test("after a failed flush, its commit is not read and nothing more is written", async () => {
  await put("1");
  const disk = slowDisk();
  const works = Promise.allSettled([put("2")]);
  await disk.waits();
  const cause = new Error("EIO: i/o error, fdatasync");
  disk.end(cause);
  const [outcome] = await works;
  expect(outcome).toMatchObject({ status: "rejected", reason: { message: /disk has failed/, cause } });
  await expect(put("3")).rejects.toThrow("disk has failed");
  expect(await read()).toBe("1");
});
