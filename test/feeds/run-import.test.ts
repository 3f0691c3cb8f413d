/** The runner on a real database; what is stored is a setting for each item, since the runner does not care. */
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { invalid } from "../../src/errors.ts";
import { Batches } from "../../src/feeds/batches.ts";
import type { FeedFile } from "../../src/feeds/feed.ts";
import { FeedRefusal } from "../../src/feeds/fields.ts";
import { ImportReport } from "../../src/feeds/import-report.ts";
import { type ImportItem, type Prune, runImport } from "../../src/feeds/run-import.ts";
import { ConflictError, type Database, openDatabase, type WriteSession } from "../../src/store/index.ts";
import { folderForTest } from "./feed-witness.ts";

let database: Database;
let written: string[];
/** What each transaction began with and held. */
let transactions: string[][];
/** A clock that moves only when an item is written. */
let clock: { ms: number; pauses: number[] };

beforeEach(async () => {
  database = await openDatabase(`sqlite:${join(await folderForTest(), "p.db")}`);
  onTestFinished(() => database.close());
  await database.migrate();
  written = [];
  transactions = [];
  clock = { ms: 0, pauses: [] };
});

/** A file for each text: its items are separated by commas. */
async function* filesOf(...texts: string[]): AsyncGenerator<FeedFile> {
  for (const [i, text] of texts.entries()) yield { name: `f${i}`, format: "other", bytes: Buffer.from(text) };
}

function read({ bytes }: FeedFile): (ImportItem<string> | FeedRefusal)[] {
  const text = Buffer.from(bytes).toString();
  if (text === "bad file") throw new FeedRefusal("is bad");
  return text
    .split(",")
    .map((value) => (value.startsWith("?") ? new FeedRefusal(`${value} is bad`) : { id: value, value }));
}

interface Run {
  readonly signal?: AbortSignal;
  readonly prune?: readonly Prune[];
  readonly itemMs?: number;
  readonly database?: Database;
  onSave?(value: string): void;
}

async function run(texts: string[], { signal, prune, itemMs = 1, onSave, ...more }: Run = {}) {
  const told: string[] = [];
  const report = new ImportReport({ write: (text) => told.push(text) }, () => 0);
  const pause = async (ms: number) => {
    clock.pauses.push(ms);
    clock.ms += ms;
  };
  const target = watched(more.database ?? database);
  const batches = new Batches({ database: target, clock: () => clock.ms, pause });
  const save = async (session: WriteSession, value: string) => {
    clock.ms += itemMs;
    transactions.at(-1)!.push(value);
    const isNew = await session.addSetting(`item-${value}`, Buffer.from("x"));
    if (value.startsWith("!")) throw invalid({ field: "name", description: `${value} is bad` });
    if (value === "bug") throw new Error("a bug");
    onSave?.(value);
    return { [isNew ? "added" : "unchanged"]: 1 };
  };
  await runImport({
    files: filesOf(...texts),
    read,
    save,
    database: target,
    report,
    batches,
    ...(signal && { signal }),
    ...(prune && { prune }),
  });
  return { ...report.summary, told };
}

/** The database, with its transactions recorded. */
function watched(inner: Database): Database {
  return {
    ...inner,
    transact: (work) => {
      transactions.push([]);
      return inner.transact(work);
    },
  };
}

async function isStored(value: string): Promise<boolean> {
  return (await database.read.setting(`item-${value}`)) !== undefined;
}

test("a second run changes nothing", async () => {
  expect(await run(["a,b", "c"])).toMatchObject({ read: 3, added: 3, unchanged: 0, refused: 0 });
  expect(await run(["a,b", "c"])).toMatchObject({ read: 3, added: 0, unchanged: 3, refused: 0 });
});

test("what is refused is told with its file, and what is around it stored", async () => {
  const { told, ...summary } = await run(["a,?b,c", "bad file", "d,!e,f", "!g", "h,a"]);
  expect(summary).toMatchObject({ read: 10, added: 5, refused: 5 });
  expect([...told].sort()).toEqual([
    "refused: f0: ?b is bad\n",
    "refused: f1: is bad\n",
    "refused: f2: Invalid argument: name: !e is bad\n",
    "refused: f3: Invalid argument: name: !g is bad\n",
    'refused: f4: "a" is there twice in the feed\n',
  ]);
  for (const value of ["a", "c", "d", "f", "h"]) expect(await isStored(value)).toBe(true);
  for (const value of ["!e", "!g"]) expect(await isStored(value)).toBe(false);
});

test("a batch ends before it takes 50 ms, and the pause is as long", async () => {
  const names = Array.from({ length: 200 }, (_, i) => `n${i}`);
  expect(await run([names.join(",")], { itemMs: 4 })).toMatchObject({ added: 200 });
  for (const items of transactions) expect(items.length).toBeLessThanOrEqual(12);
  expect(clock.pauses.length).toBe(transactions.length - 1);
  expect(clock.pauses).toEqual(transactions.slice(0, -1).map((items) => 4 * items.length));
});

test("an item that takes longer is a batch of its own", async () => {
  expect(await run(["a,b,c"], { itemMs: 200 })).toMatchObject({ added: 3 });
  expect(transactions).toEqual([["a"], ["b"], ["c"]]);
});

test("a bug ends the import, and takes its batch with it", async () => {
  await expect(run(["a,bug,b"])).rejects.toThrow("a bug");
  expect(await isStored("a")).toBe(false);
});

test("lost conflicts are tried again, and not for ever", async () => {
  let conflicts = 3;
  const contended: Database = {
    ...database,
    transact: (work) => (conflicts-- > 0 ? Promise.reject(new ConflictError(undefined)) : database.transact(work)),
  };
  expect(await run(["a,b"], { database: contended })).toMatchObject({ added: 2 });
  conflicts = Number.POSITIVE_INFINITY;
  await expect(run(["c"], { database: contended })).rejects.toThrow(ConflictError);
});

test("a stopped import has stored whole batches, and goes on when it is run again", async () => {
  const controller = new AbortController();
  const texts = Array.from({ length: 300 }, (_, i) => `n${i}`);
  const stopped = await run(texts, {
    signal: controller.signal,
    onSave: (value) => value === "n20" && controller.abort(),
  });
  expect(stopped.read).toBeGreaterThan(20);
  expect(stopped.read).toBeLessThan(300);
  expect(await run(texts)).toMatchObject({ read: 300, added: 300 - stopped.read, unchanged: stopped.read });
});

const pruned: Prune = async (_session, isKept, after) => {
  const all = ["a", "b", "c", "d"];
  const at = after === undefined ? 0 : Number(after);
  written.push(...all.slice(at, at + 2).filter((id) => !isKept(id)));
  return {
    removed: all.slice(at, at + 2).filter((id) => !isKept(id)).length,
    next: at + 2 < all.length ? `${at + 2}` : undefined,
  };
};

test("pruning removes what the feed does not have, portion by portion", async () => {
  expect(await run(["a,d"], { prune: [pruned] })).toMatchObject({ read: 2, removed: 2, refused: 0 });
  expect(written).toEqual(["b", "c"]);
});

test.each<[string, string[]]>([
  ["a record was refused", ["a,?x"]],
  ["the rules refused an item", ["a,!x"]],
  ["a file was refused", ["bad file", "a"]],
])("nothing is pruned when %s", async (_, texts) => {
  const { told, removed } = await run(texts, { prune: [pruned] });
  expect([removed, written]).toEqual([0, []]);
  expect(told.at(-1)).toBe("what the feed does not have stays, because not all of it could be read\n");
});

test("nothing is pruned by an empty feed, nor by one that was stopped", async () => {
  expect(await run([], { prune: [pruned] })).toMatchObject({ removed: 0, refused: 1 });
  expect(await run(["a"], { prune: [pruned], signal: AbortSignal.abort() })).toMatchObject({ removed: 0, refused: 0 });
  expect(written).toEqual([]);
});
