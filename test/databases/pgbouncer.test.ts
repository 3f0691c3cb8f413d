/** The store behind PgBouncer, which gives each transaction another session of the server. */
import { describe, expect, onTestFinished, test } from "vitest";
import { openDatabase, RefusedError } from "../../src/store/index.ts";
import { onPostgres } from "./databases.ts";
import { hasPgbouncer, startPgbouncer } from "./pgbouncer.ts";
import { identityRow, identities as table } from "./tables.ts";

if (!hasPgbouncer) console.warn("the store is not tested behind PgBouncer: pgbouncer is missing (a package of Debian)");

describe.skipIf(!hasPgbouncer)("behind PgBouncer", () => {
  onPostgres("the store", (database) => {
    async function openBehind(mode: string) {
      const pooler = await startPgbouncer(database().url, mode, 4);
      onTestFinished(() => pooler.stop());
      return openDatabase(pooler.url, { maxLongQueries: 2, fewRows: 0 });
    }

    test.each(["transaction", "session"])("works in %s mode", async (mode) => {
      const db = await openBehind(mode);
      const uids = Array.from({ length: 60 }, (_, i) => `r/${i}`);
      const writers = mode === "session" ? 2 : 60; // in session mode each client keeps its connection
      for (let i = 0; i < uids.length; i += writers)
        await Promise.all(
          uids.slice(i, i + writers).map((uid) =>
            db.transact(async (session) => {
              const row = await session.insert(table, identityRow(uid, { name: "n" }));
              await session.update(table, { ...row, updateTimeUs: row.updateTimeUs + 1 });
            }),
          ),
        );
      const read = db.readFor({ caller: "a", signal: new AbortController().signal, timeoutMs: () => 10_000 });
      expect(await read.count(table, { where: [{ column: "name", equals: "n" }] })).toBe(60);
      expect((await Promise.all(uids.map(async (uid) => db.read.get(table, uid)))).map((row) => row?.version)).toEqual(
        uids.map(() => 2),
      );
      await db.close();
    });

    test("sets what every session needs as defaults of the user, once", async () => {
      const defaults = () => database().sql("select unnest(setconfig) as setting from pg_db_role_setting");
      for (let i = 0; i < 2; i++) {
        const db = await openBehind("transaction");
        expect(await defaults()).toContainEqual({ setting: "plan_cache_mode=force_generic_plan" });
        await db.close();
      }
    });

    test("stops a query with its call", async () => {
      const db = await openBehind("transaction");
      await db.transact((session) => session.insert(table, identityRow("r/1", { name: "n" })));
      const stop = new AbortController();
      const stopped = db
        .readFor({ caller: "a", signal: stop.signal })
        .count(table, { where: [{ column: "name", equals: "n" }] });
      stop.abort(new Error("gone"));
      await expect(stopped).rejects.toThrow("gone");
      expect((await db.read.get(table, "r/1"))?.uid).toBe("r/1");
      await db.close();
    });

    test("refuses statement mode, and says what to do", async () => {
      const opened = openBehind("statement");
      await expect(opened).rejects.toThrow(RefusedError);
      await expect(opened).rejects.toThrow(/set its pool_mode to transaction or session/);
    });
  });
});
