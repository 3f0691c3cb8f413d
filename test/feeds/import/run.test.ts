/** Imports into a real database. Each item is stored as a setting. */

import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { invalid } from "../../../src/errors.ts";
import { Batches } from "../../../src/feeds/import/batches.ts";
import { ImportReport } from "../../../src/feeds/import/report.ts";
import { type ImportItem, type Prune, runImport } from "../../../src/feeds/import/run.ts";
import type { FeedFile } from "../../../src/feeds/source/feed.ts";
import { FeedRefusal, ForeignRecord } from "../../../src/feeds/source/refusal.ts";
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
  return text.split(",").map((value) => {
    const [id = "", part = ""] = value.split("/");
    if (id.startsWith("?")) return new FeedRefusal(`${id} is bad`, id === "?" ? {} : { ids: [id.slice(1)] });
    if (id.startsWith("#")) throw new ForeignRecord(`${id} is foreign`, { isIndex: id === "#index" });
    const [name, version = ""] = id.split("=");
    return { id: name!, part, value, content: Buffer.from(version) };
  });
}

interface Run {
  readonly isStrict?: boolean;
  readonly signal?: AbortSignal;
  readonly prune?: readonly Prune[];
  readonly itemMs?: number;
  readonly database?: Database;
  onSave?(value: string): void;
}

async function run(texts: string[], { signal, prune, isStrict = false, itemMs = 1, onSave, ...more }: Run = {}) {
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
    isStrict,
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
  const { printed, ...summary } = await run(["a,?b,c", "bad file", "d,!e,f", "!g", "h,a=2"]);
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

const pruned: Prune = async (_session, ids, after) => {
  const all = ["a", "b", "c", "d"];
  const at = after === undefined ? 0 : Number(after);
  written.push(...all.slice(at, at + 2).filter((id) => !ids.has(id)));
  return {
    removed: all.slice(at, at + 2).filter((id) => !ids.has(id)).length,
    next: at + 2 < all.length ? `${at + 2}` : undefined,
  };
};

test("pruning removes what the feed does not have, portion by portion", async () => {
  expect(await run(["a,d"], { prune: [pruned] })).toMatchObject({ read: 2, removed: 2, refused: 0 });
  expect(written).toEqual(["b", "c"]);
});

test("equal items count once, and parts of one item are stored beside each other", async () => {
  expect(await run(["a=1", "a=1,b", "b/x", "b=2/y", "a=2/x"])).toMatchObject({ read: 4, added: 4, refused: 0 });
  expect((await run(["c=1,c=2,c=2"])).printed).toEqual(['refused: f0: "c" occurs twice in the feed\n']);
});

test("foreign files are skipped, or refused if they are not wanted", async () => {
  const texts = ["a", "#notes", "#index", "b"];
  expect(await run(texts)).toMatchObject({ read: 2, added: 2, refused: 0, passedOver: 2, printed: [] });
  const { printed, ...strict } = await run(texts, { isStrict: true, prune: [pruned] });
  expect(strict).toMatchObject({ read: 3, unchanged: 2, refused: 1, passedOver: 1, removed: 2 });
  expect(printed).toEqual(["refused: f1: #notes is foreign\n"]);
});

test("a pointer of Git LFS is not a file of the feed", async () => {
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
  expect(await run(["a", pointer])).toMatchObject({ read: 1, refused: 0, passedOver: 1 });
});

test.each<[string, string[]]>([
  ["a record", ["a,?b,?c"]],
  ["an item that the rules refused", ["a,!b", "?c"]],
  ["one that contradicts another", ["a,b,b=2,c,c=2"]],
])("pruning keeps what is refused: %s", async (_, texts) => {
  const prune: Prune = async (_session, ids) => {
    written.push(...["a", "b", "!b", "c", "d"].filter((id) => !ids.has(id)));
    return { removed: 1, next: undefined };
  };
  const { removed, refused } = await run(texts, { prune: [prune] });
  expect([removed, refused]).toEqual([1, 2]);
  expect(written).toEqual(texts[0]!.includes("!b") ? ["b", "d"] : ["!b", "d"]);
});

test.each<[string, string[]]>([
  ["an unknown record was refused", ["a,?"]],
  ["a file was refused", ["bad file", "a"]],
  ["all was refused", ["?a", "?b"]],
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
