/** Several processes on one database, some of which are killed while they write. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/store/index.ts";
import { onEveryEmptyDatabase, type TestDatabase } from "./databases.ts";
import { identities, identityRow } from "./tables.ts";

onEveryEmptyDatabase("processes", (database) => {
  test("that are killed lose nothing that was acknowledged, and do not disturb others", {
    timeout: 60_000,
  }, async () => {
    const db = await database().open();
    await db.migrate();
    for (let round = 0; round < 4; round++) {
      const writers = [startWriter(`a${round}`), startWriter(`b${round}`)];
      for (let i = 0; i < 50; i++)
        await db.transact((session) => session.insert(identities, identityRow(`r/main${round}/${i}`)));
      await Promise.all(writers.map(({ enough }) => enough));
      for (const { child } of writers) child.kill("SIGKILL");
      await Promise.all(writers.map(({ ended }) => ended));
      for (const { acknowledged } of writers) {
        const kept = acknowledged.filter((uid) => indexOf(uid) % 3 !== 2);
        const removed = acknowledged.filter(
          (uid) => acknowledged.includes(uid.replace(/\d+$/, String(indexOf(uid) + 1))) && indexOf(uid) % 3 === 2,
        );
        expect((await db.read.getMany(identities, kept)).size).toBe(kept.length);
        expect((await db.read.getMany(identities, removed)).size).toBe(0);
      }
      expect(
        (await db.read.list(identities, { parent: `r/main${round}`, orderBy: [], skip: 0, limit: 100 })).length,
      ).toBe(50);
      await checkIntegrity(database());
    }
  });

  test("that start at once migrate once", async () => {
    const programs = await Promise.all(Array.from({ length: 4 }, () => openDatabase(database().url)));
    const ran = await Promise.all(programs.map((program) => program.migrate()));
    expect(ran.filter((count) => count > 0)).toHaveLength(1);
    for (const program of programs) {
      expect(await program.pendingMigrations()).toEqual([]);
      await program.close();
    }
  });

  interface Writer {
    readonly child: ChildProcess;
    readonly acknowledged: string[];
    readonly enough: Promise<void>;
    readonly ended: Promise<unknown>;
  }

  function startWriter(name: string): Writer {
    const script = fileURLToPath(new URL("store-writer.ts", import.meta.url));
    const child = spawn(process.execPath, [script, database().url, name], { stdio: ["ignore", "pipe", "inherit"] });
    const acknowledged: string[] = [];
    const lines = createInterface({ input: child.stdout });
    const ended = once(lines, "close");
    const enough = new Promise<void>((resolve, reject) => {
      lines.on("line", (uid) => {
        if (acknowledged.push(uid) === 60) resolve();
      });
      child.on("exit", () => reject(new Error("the writer ended by itself")));
    });
    return { child, acknowledged, enough, ended };
  }
});

const activity =
  "select count(*)::int as active from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()";

/** The number of a writer's row. With every third row it removes the one before. */
function indexOf(uid: string): number {
  return Number(uid.slice(uid.lastIndexOf("/") + 1));
}

async function checkIntegrity({ name, sql }: TestDatabase): Promise<void> {
  if (name === "sqlite") expect(await sql("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
  // A server notices only at the end of a statement that its client is gone.
  else await expect.poll(() => sql(activity)).toEqual([{ active: 0 }]);
  const counters = await sql(
    "select ancestor, class, cast(sum(count) as integer) as count from counters group by ancestor, class",
  );
  const rows = await sql("select uid, parent from identities");
  const expected = new Map<string, number>();
  const add = (key: string) => expected.set(key, (expected.get(key) ?? 0) + 1);
  for (const { uid, parent } of rows as { uid: string; parent: string }[]) {
    add(`children ${parent}`);
    add("below ");
    for (let slash = uid.indexOf("/"); slash >= 0; slash = uid.indexOf("/", slash + 1))
      add(`below ${uid.slice(0, slash)}`);
  }
  expect(
    new Map(
      counters
        .filter(({ count }) => count !== 0)
        .map((counter) => [`${counter.class} ${counter.ancestor}`, counter.count]),
    ),
  ).toEqual(expected);
}
