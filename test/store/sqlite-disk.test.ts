/** What is committed to SQLite is neither told nor read before it is on disk, and nothing else waits for that. */
import { fdatasync, fstatSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Database, openDatabase } from "../../src/store/index.ts";

vi.mock(import("node:fs"), async (original) => {
  const fs = await original();
  return { ...fs, fdatasync: vi.fn(fs.fdatasync) as unknown as typeof fs.fdatasync };
});

let folder: string;
let path: string;
let database: Database;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-sqlite-disk-"));
  path = join(folder, "platform.db");
  database = await openDatabase(`sqlite:${path}`);
  await database.migrate();
});

afterEach(async () => {
  vi.mocked(fdatasync).mockReset();
  await database.close();
  await rm(folder, { recursive: true });
});

/** From now on the disk is done with what it is given when the test says so. */
function slowDisk(): { waits(): Promise<void>; end(error?: Error): void } {
  let end: ((error: Error | null) => void) | undefined;
  vi.mocked(fdatasync).mockImplementation((_, callback) => {
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

test("what is flushed is the file of the log, once for a commit", async () => {
  vi.mocked(fdatasync).mockClear();
  const flushed: number[] = [];
  const { fdatasync: real } = await vi.importActual<typeof import("node:fs")>("node:fs");
  vi.mocked(fdatasync).mockImplementation((descriptor, callback) => {
    flushed.push(fstatSync(descriptor).ino);
    real(descriptor, callback);
  });
  await put("1");
  await put("2");
  expect(flushed).toEqual(Array(2).fill(statSync(`${path}-wal`).ino));
});

test("a commit on its way to disk is not read and not told; reads go on", async () => {
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

test("what another process commits meanwhile is read", async () => {
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

test("what a failing disk may have lost is not read, and nothing more is written", async () => {
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
