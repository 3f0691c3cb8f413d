/** Snapshots: everything arrives in another database, and nothing arrives twice. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Database, importSetting, openDatabase, RefusedError, type TableEnd } from "../../src/store/index.ts";
import { migrations } from "../../src/store/migrations/index.ts";
import { onEveryDatabase } from "./databases.ts";
import { advisories, identities, identityRow, newRow, repos, unnamedRow } from "./tables.ts";

const log = {
  name: "events",
  columns: { type: "text", source: "text", subject: "text", extensions: "text", data: "text" },
} as const;
const rows = 700; // several portions

async function fill(db: Database): Promise<void> {
  await db.transact(async (session) => {
    for (let i = 0; i < rows; i++) {
      const row = identityRow(`r/${i}`, { name: `n${i % 7} é\u{1f600}'"\\` }, 1_700_000_000_000_000 + i);
      await session.insert(repos, { ...row, columns: { name: `n${i}` }, body: new Uint8Array([i % 256, 0, 255]) });
      await session.insert(identities, row);
      await session.insert(advisories, {
        ...unnamedRow(`r/${i}`, { terms: [`id:${i}`, `kind:${i % 3}`], search: `package ${i} of é` }),
      });
    }
    await session.remove(repos, "r/1");
    await session.putSetting("a", new Uint8Array([1, 2, 3]));
    await session.append(log, { timeUs: 1, id: "e1", columns: { type: "t" } });
  });
}

async function exported(db: Database): Promise<{ lines: string[]; ends: readonly TableEnd[] }> {
  const lines: string[] = [];
  const ends = await db.exportSnapshot(
    async (line) => void lines.push(line),
    () => {},
  );
  return { lines, ends };
}

async function* from(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

const quietly = () => {};
const untold = (lines: string[]) => [JSON.stringify({ ...JSON.parse(lines[0]!), id: "" }), ...lines.slice(1)];

onEveryDatabase("a snapshot", (database) => {
  test("has everything, whatever database it comes from and goes to", async () => {
    const source = await temporary();
    await fill(source);
    const { lines, ends } = await exported(source);
    const db = await database().open();
    expect(await db.importSnapshot(from(lines), quietly)).toEqual(ends);
    expect(await db.read.count(repos, {})).toBe(rows - 1);
    expect(await db.read.count(advisories, { where: [{ column: "terms", hasAny: ["kind:1"] }] })).toBe(233);
    expect(await db.read.count(advisories, { where: [{ column: "search", contains: "age 77 of é" }] })).toBe(1);
    expect(await db.read.setting("a")).toEqual(new Uint8Array([1, 2, 3]));
    expect(await db.read.setting(importSetting)).toBeUndefined();

    const back = await temporary();
    const again = await exported(db);
    expect(untold(again.lines)).toEqual(untold(lines));
    expect(await back.importSnapshot(from(again.lines), quietly)).toEqual(ends);

    await db.transact((session) =>
      session.insert(advisories, unnamedRow("r/new", { terms: ["id:new"], search: "new" })),
    );
    expect(await db.read.count(advisories, { where: [{ column: "terms", hasAny: ["id:new"] }] })).toBe(1);
    await db.transact((session) => session.remove(advisories, "r/7"));
    expect(await db.read.count(advisories, { where: [{ column: "terms", hasAny: ["id:7"] }] })).toBe(0);
  });

  test("is of one moment", async () => {
    const db = await database().open();
    await fill(db);
    const lines: string[] = [];
    let written = 0;
    await db.exportSnapshot(async (line) => {
      lines.push(line);
      if (++written % 3 === 0)
        await db.transact(async (session) => {
          await session.insert(repos, newRow(`r/new${written}`));
          await session.remove(identities, `r/${written}`);
        });
    }, quietly);
    const copy = await temporary();
    await copy.importSnapshot(from(lines), quietly);
    expect(await copy.read.count(repos, {})).toBe(rows - 1);
    expect(await copy.read.count(identities, {})).toBe(rows);
  });

  test("is imported further after an interruption, and only the same one", async () => {
    const source = await temporary();
    await fill(source);
    const { lines, ends } = await exported(source);
    const db = await database().open();
    for (let i = 5; i < lines.length; i += 3) {
      const interrupted = async function* () {
        yield* lines.slice(0, i);
        throw new Error("interrupted");
      };
      await expect(db.importSnapshot(interrupted(), quietly)).rejects.toThrow("interrupted");
    }
    expect(await db.read.setting(importSetting)).toBeDefined();
    const others = await exported(source);
    await expect(db.importSnapshot(from(others.lines), quietly)).rejects.toThrow(
      /unfinished import of another snapshot/,
    );
    expect(await db.importSnapshot(from(lines), quietly)).toEqual(ends);
  });

  test("is refused for what would make it another database", async () => {
    const source = await temporary();
    await fill(source);
    const { lines } = await exported(source);
    const [header, ...rest] = lines as [string, ...string[]];
    const db = await database().open();
    const refused = async (changed: readonly string[], message: RegExp) => {
      const imported = db.importSnapshot(from(changed), quietly);
      await expect(imported).rejects.toThrow(RefusedError);
      await expect(imported).rejects.toThrow(message);
    };
    await refused([], /not a snapshot/);
    await refused(["{}"], /not a snapshot/);
    await refused(["nonsense"], /not a snapshot/);
    await refused([header, "["], /not JSON/);
    await refused([header.replace('"version":1', '"version":2')], /version 2 of the format/);
    const newest = migrations.at(-1)!.name;
    const other = header.replace(`"${newest}"]`, '"0001-other"]');
    await refused([other], new RegExp(`the schema 0001-other, the database has ${newest}: `));
    await refused([header, '["nothing",[[1]]]'], /rows of a table nothing/);
    const changed = rest.map((line) => (line.startsWith('["repos"') ? line.replace('"n5"', '"n5x"') : line));
    await refused([header, ...changed], /differs from the snapshot: the table repos/);
    await refused(lines.slice(0, -1), /its end is missing/);
    const filled = await temporary();
    await fill(filled);
    await expect(filled.importSnapshot(from(lines), quietly)).rejects.toThrow(/not empty/);
  });
});

/** A new SQLite database with tables. */
async function temporary(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "platform-snapshot-"));
  const db = await openDatabase(`sqlite:${folder}/platform.db`);
  await db.migrate();
  onTestFinished(async () => {
    await db.close();
    await rm(folder, { recursive: true });
  });
  return db;
}
