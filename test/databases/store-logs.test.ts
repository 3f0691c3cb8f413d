/** Logs: appended to in transactions, read in order, shortened from their beginning. */
import { beforeEach, expect, test } from "vitest";
import type { Database, LogEntry, LogScan, LogSpec } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const log: LogSpec = {
  name: "audit_log",
  columns: {
    caller: "text",
    issuer: "text",
    method: "text",
    scope: "text",
    resource: "text",
    code: "text",
    request_id: "text",
    count: "integer",
  },
};
const zero = { caller: "", issuer: "", method: "", scope: "", resource: "", code: "", request_id: "", count: 0 };
const entry = (timeUs: number, id: string, columns: LogEntry["columns"] = {}): LogEntry => ({ timeUs, id, columns });

onEveryDatabase("logs", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });
  const append = (...entries: LogEntry[]) =>
    db.transact(async (session) => {
      for (const one of entries) await session.append(log, one);
    });
  const idsOf = async (scan: Partial<LogScan> = {}) =>
    (await db.read.scan(log, { limit: 100, ...scan })).map(({ id }) => id);

  test("give back what was appended", async () => {
    await append(entry(1_700_000_000_123_456, "a", { caller: "é'\"%", count: -3 }));
    expect(await db.read.scan(log, { limit: 1 })).toEqual([
      { timeUs: 1_700_000_000_123_456, id: "a", columns: { ...zero, caller: "é'\"%", count: -3 } },
    ]);
  });

  test("are read in the order of time, page by page, each entry once", async () => {
    await append(entry(3, "a"), entry(1, "c"), entry(2, "b"), entry(2, "a"), entry(2, "c"));
    expect(await idsOf()).toEqual(["c", "a", "b", "c", "a"]);
    const seen: LogEntry[] = [];
    for (;;) {
      const page = await db.read.scan(log, { limit: 2, ...(seen.length > 0 && { after: seen.at(-1)! }) });
      seen.push(...page);
      if (page.length < 2) break;
    }
    expect(seen.map(({ timeUs, id }) => `${timeUs}${id}`)).toEqual(["1c", "2a", "2b", "2c", "3a"]);
  });

  test("are read since a time and by a column", async () => {
    await append(entry(1, "a", { caller: "x" }), entry(2, "b", { caller: "y" }), entry(3, "c", { caller: "x" }));
    expect(await idsOf({ sinceUs: 2 })).toEqual(["b", "c"]);
    expect(await idsOf({ sinceUs: 4 })).toEqual([]);
    expect(await idsOf({ where: { column: "caller", equals: "x" } })).toEqual(["a", "c"]);
    expect(await idsOf({ where: { column: "caller", equals: "x" }, sinceUs: 2 })).toEqual(["c"]);
    expect(await idsOf({ where: { column: "count", equals: 0 }, after: { timeUs: 2, id: "b" }, sinceUs: 1 })).toEqual([
      "c",
    ]);
    expect(await idsOf({ after: { timeUs: 1, id: "a" }, sinceUs: 3 })).toEqual(["c"]);
  });

  test("grow with their transaction or not at all", async () => {
    const failing = db.transact(async (session) => {
      await session.append(log, entry(1, "a"));
      expect(await session.scan(log, { limit: 9 })).toHaveLength(1);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await idsOf()).toEqual([]);
  });

  test("forget their oldest entries, some at a time", async () => {
    await append(...[1, 2, 3, 4, 5].map((time) => entry(time, `${time}`)));
    const forget = (beforeUs: number, limit: number) => db.transact((session) => session.forget(log, beforeUs, limit));
    expect(await forget(1, 10)).toBe(0);
    expect(await forget(4, 2)).toBe(2);
    expect(await idsOf()).toEqual(["3", "4", "5"]);
    expect(await forget(4, 2)).toBe(1);
    expect(await forget(4, 2)).toBe(0);
    expect(await idsOf()).toEqual(["4", "5"]);
  });

  test("refuse columns they do not have and values that cannot be stored", async () => {
    await expect(append(entry(1, "a", { secret: "x" }))).rejects.toThrow("no column secret");
    await expect(append(entry(1, "a", { caller: "a\0" }))).rejects.toThrow(TypeError);
    await expect(append(entry(1, "a", { caller: 1 }))).rejects.toThrow(TypeError);
    await expect(db.read.scan(log, { limit: 1, where: { column: "no", equals: "" } })).rejects.toThrow("no column");
    expect(await idsOf()).toEqual([]);
  });
});
