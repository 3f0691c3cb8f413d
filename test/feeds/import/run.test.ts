/** Imports into a real database. Each item is stored as a setting. */

import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { invalid } from "../../../src/errors.ts";
import { Batches } from "../../../src/feeds/import/batches.ts";
import { ImportReport } from "../../../src/feeds/import/report.ts";
import { type ImportItem, type Prune, runImport } from "../../../src/feeds/import/run.ts";
import type { FeedFile } from "../../../src/feeds/source/feed.ts";
import { FeedRefusal } from "../../../src/feeds/source/refusal.ts";
import { ConflictError, type Database, openDatabase, type WriteSession } from "../../../src/store/index.ts";
import { folderForTest } from "../read-feed.ts";

let database: Database;
let written: string[];
/** The start time and the items of each transaction. */
let transactions: string[][];
/** A clock that advances only when an item is written. */
let clock: { ms: number; pauses: number[] };

beforeEach(async () => {
  database = await openDatabase(`sqlite:${join(await folderForTest(), "p.db")}`);
  onTestFinished(() => database.close());
  await database.migrate();
  written = [];
  transactions = [];
  clock = { ms: 0, pauses: [] };
});

/** One file for each text, with items separated by commas. */
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
  const printed: string[] = [];
  const report = new ImportReport({ write: (text) => printed.push(text) }, () => 0);
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
  return { ...report.summary, printed };
}

/** The database, recording transactions. */
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

test("refusals are reported with the file, and the other items are stored", async () => {
  const { printed, ...summary } = await run(["a,?b,c", "bad file", "d,!e,f", "!g", "h,a"]);
  expect(summary).toMatchObject({ read: 10, added: 5, refused: 5 });
  expect([...printed].sort()).toEqual([
    "refused: f0: ?b is bad\n",
    "refused: f1: is bad\n",
    "refused: f2: Invalid argument: name: !e is bad\n",
    "refused: f3: Invalid argument: name: !g is bad\n",
    'refused: f4: "a" occurs twice in the feed\n',
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

test("an item that takes longer is its own batch", async () => {
  expect(await run(["a,b,c"], { itemMs: 200 })).toMatchObject({ added: 3 });
  expect(transactions).toEqual([["a"], ["b"], ["c"]]);
});

test("an unexpected error ends the import and rolls back its batch", async () => {
  await expect(run(["a,bug,b"])).rejects.toThrow("a bug");
  expect(await isStored("a")).toBe(false);
});

test("conflicts are retried a limited number of times", async () => {
  let conflicts = 3;
  const contended: Database = {
    ...database,
    transact: (work) => (conflicts-- > 0 ? Promise.reject(new ConflictError(undefined)) : database.transact(work)),
  };
  expect(await run(["a,b"], { database: contended })).toMatchObject({ added: 2 });
  conflicts = Number.POSITIVE_INFINITY;
  await expect(run(["c"], { database: contended })).rejects.toThrow(ConflictError);
});

test("a stopped import has stored complete batches and continues when run again", async () => {
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
  const { printed, removed } = await run(texts, { prune: [pruned] });
  expect([removed, written]).toEqual([0, []]);
  expect(printed.at(-1)).toBe("nothing was removed, because not all of the feed could be read\n");
});

test("nothing is pruned by an empty feed, nor by one that was stopped", async () => {
  expect(await run([], { prune: [pruned] })).toMatchObject({ removed: 0, refused: 1 });
  expect(await run(["a"], { prune: [pruned], signal: AbortSignal.abort() })).toMatchObject({ removed: 0, refused: 0 });
  expect(written).toEqual([]);
});
