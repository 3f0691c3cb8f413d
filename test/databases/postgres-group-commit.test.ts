/** Transactions on PostgreSQL that commit together behave as if each had one of its own. */
import pg from "pg";
import { expect, test } from "vitest";
import { type Database, NotUniqueError, type WriteSession } from "../../src/store/index.ts";
import { onPostgres } from "./databases.ts";
import { newRow, repos } from "./tables.ts";

onPostgres("transactions that commit together", (database) => {
  /** A database with two organisations, and what runs a transaction of one of them. */
  async function openShared() {
    const db = await database().open();
    for (const root of ["g", "h"]) await db.transact((session) => session.insert(repos, newRow(root)));
    const share = <T>(body: (session: WriteSession) => Promise<T>, commitsWith = "g") =>
      db.transact(body, { commitsWith });
    const add = (uid: string, name = uid) => share((session) => hold(session, newRow(uid, { name })), uid[0]);
    return { db, share, add };
  }

  async function hold(session: WriteSession, row: ReturnType<typeof newRow>): Promise<string> {
    if (!(await session.hold(repos, row.parent))) throw new Error("no parent");
    return (await session.insert(repos, row)).uid;
  }

  const numbers = Array.from({ length: 100 }, (_, i) => i);

  /** The uids below an organisation, with the transactions that have written them, once totals are checked. */
  async function stored(db: Database, root = "g") {
    const rows = await database().sql(`select uid, xmin::text from repos where parent = '${root}' order by uid`);
    expect(await db.read.count(repos, { within: [{ root, self: false }] })).toBe(rows.length);
    return { uids: rows.map(({ uid }) => uid), transactions: new Set(rows.map(({ xmin }) => xmin)).size };
  }

  test("store everything, in fewer transactions", async () => {
    const { db, add } = await openShared();
    const uids = await Promise.all(numbers.map((i) => add(`g/${100 + i}`)));
    const { uids: found, transactions } = await stored(db);
    expect(found).toEqual(uids);
    expect(transactions).toBeLessThan(20);
  });

  test("fail alone: what throws before it writes, after it has written, or is taken", async () => {
    const { db, share, add } = await openShared();
    const refused = Array.from({ length: 3 }, (_, i) =>
      share(async (session) => {
        if (i > 0) await hold(session, newRow(`g/refused${i}`));
        throw new Error(`refused ${i}`);
      }).catch((error: Error) => error.message),
    );
    const homeless = add("g/none/1").catch((error: Error) => error.message);
    const added = Promise.all(numbers.slice(0, 10).map((i) => add(`g/${i}`)));
    expect(await Promise.all(refused)).toEqual(["refused 0", "refused 1", "refused 2"]);
    expect(await homeless).toBe("no parent");
    const uids = (await added).sort();
    expect((await stored(db)).uids).toEqual(uids);
  });

  test("give a name once", async () => {
    const { db, add } = await openShared();
    const outcomes = await Promise.allSettled(numbers.map((i) => add(`g/${i}`, `name ${i % 10}`)));
    const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(failures).toHaveLength(90);
    for (const failure of failures) expect(failure).toBeInstanceOf(NotUniqueError);
    expect((await stored(db)).uids).toHaveLength(10);
  });

  test("see what they have added", async () => {
    const { share } = await openShared();
    const seen = numbers.slice(0, 20).map((i) =>
      share(async (session) => {
        await session.insert(repos, newRow(`g/${i}`));
        return (await session.get(repos, `g/${i}`))?.uid;
      }),
    );
    expect(await Promise.all(seen)).toEqual(numbers.slice(0, 20).map((i) => `g/${i}`));
  });

  test("run alone when they change rows: no update is lost", async () => {
    const { db, share, add } = await openShared();
    await add("g/1", "0");
    const counting = numbers.slice(0, 20).map((i) =>
      share(async (session) => {
        await hold(session, newRow(`g/added${i}`));
        const row = (await session.getToChange(repos, "g/1"))!;
        await session.update(repos, { ...row, columns: { name: String(Number(row.columns.name) + 1) } });
      }),
    );
    await Promise.all(counting);
    expect((await db.read.get(repos, "g/1"))?.columns.name).toBe("20");
    expect((await stored(db)).uids).toHaveLength(21);
  });

  test("do not wait for a row that another organisation waits for", async () => {
    const { db, add } = await openShared();
    const client = new pg.Client(database().url);
    await client.connect();
    await client.query("begin; select 1 from repos where uid = 'g' for update");
    const waiting = Promise.all(numbers.slice(0, 10).map((i) => add(`g/${i}`)));
    await Promise.all(numbers.map((i) => add(`h/${i}`)));
    expect((await stored(db, "h")).uids).toHaveLength(100);
    await new Promise((resolve) => setTimeout(resolve, 300)); // longer than shared transactions wait
    expect((await stored(db)).uids).toHaveLength(0);
    await client.end();
    const uids = (await waiting).sort();
    expect((await stored(db)).uids).toEqual(uids);
  });
});
