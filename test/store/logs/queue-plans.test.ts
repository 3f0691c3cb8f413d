/** The query plans of queues on SQLite: skip scans and key look-ups, never a scan of all pending entries. */
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { openDatabase } from "../../../src/store/index.ts";
import { partitionColumn as column } from "../../../src/store/logs/queue-entry.ts";
import { temporaryFolder } from "../../cli/platform-process.ts";

const due = "SEARCH deliveries USING COVERING INDEX deliveries_due";
const byKey = `SEARCH deliveries USING PRIMARY KEY (${column}=? AND id=?)`;
const each = "SCAN r VIRTUAL TABLE INDEX 1:";

test("no statement reads more than it needs", async () => {
  const path = `${await temporaryFolder()}/platform.db`;
  const database = await openDatabase(`sqlite:${path}`);
  onTestFinished(() => database.close());
  await database.migrate();
  const prepared: string[] = [];
  const { prepare } = DatabaseSync.prototype;
  const spy = vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, text) {
    prepared.push(text);
    return prepare.call(this, text);
  });
  onTestFinished(() => spy.mockRestore());
  const plansOf = async (work: () => Promise<unknown>) => {
    prepared.length = 0;
    await work();
    using raw = new DatabaseSync(path);
    const steps = prepared.slice().flatMap((text) => raw.prepare(`explain query plan ${text}`).all());
    return steps.map(({ detail }) => String(detail)).filter((detail) => /^(?:SEARCH|SCAN)/.test(detail));
  };
  const queue = database.queue("deliveries");
  await queue.add([{ partition: "x", id: "a", timeUs: 1, expireUs: 9 }]);
  const [leased] = await queue.lease({ partition: "x", nowUs: 1, untilUs: 2, limit: 1 });
  const again = database.queue("deliveries");

  expect(await plansOf(() => again.duePartitions(1))).toEqual([
    "SCAN CONSTANT ROW",
    `${due} (state=? AND ${column}>?)`,
    "SCAN partitions",
    `${due} (state=? AND ${column}>?)`,
    "SCAN partitions",
    `SEARCH q USING COVERING INDEX deliveries_due (state=? AND ${column}=?)`,
  ]);
  expect(await plansOf(() => again.lease({ partition: "x", nowUs: 1, untilUs: 2, limit: 1 }))).toEqual([
    `${due} (state=? AND ${column}=? AND due_us<?)`,
    "SCAN due",
    byKey,
  ]);
  const settlement = { ...leased!, leaseUs: 2, state: "done" as const };
  expect(await plansOf(() => again.settle([settlement]))).toEqual([each, byKey.replace("deliveries", "q")]);
  expect(await plansOf(() => again.requeue([leased!], 1, 9))).toEqual([each, byKey.replace("deliveries", "q")]);
  expect(await plansOf(() => again.removePending("x", 1))).toEqual([byKey, `${due} (state=? AND ${column}=?)`]);
  expect(await plansOf(() => again.entriesOf("a", 1))).toEqual([
    "SEARCH q USING INDEX deliveries_time (state=? AND time_us=? AND id=?)",
  ]);
  const untried = `deliveries USING INDEX deliveries_partition (${column}=? AND state=? AND time_us<?)`;
  expect(await plansOf(() => again.hasUntried("x", 1))).toEqual([`SEARCH ${untried}`]);
  const request = { partition: "x", nowUs: 1, untilUs: 2, upToUs: 1, limit: 1 };
  expect(await plansOf(() => again.leaseUntried(request))).toEqual([
    `SEARCH ${untried}`,
    "SCAN untried",
    "SCAN leased",
    byKey,
  ]);
  expect((await plansOf(() => again.oldestPending())).at(-1)).toBe(
    `SEARCH q USING COVERING INDEX deliveries_partition (${column}=? AND state=?)`,
  );
  const partition = { partition: "x", states: ["pending", "dead"], limit: 1 } as const;
  expect(await plansOf(() => database.read.scanQueue("deliveries", partition))).toEqual(
    partition.states.flatMap((_, i) => [
      `SEARCH q USING INDEX deliveries_partition (${column}=? AND state=? AND time_us>? AND (time_us,id)<(?,?))`,
      `SCAN p${i}`,
    ]),
  );
  const scan = { after: { timeUs: 0, id: "", partition: "" }, limit: 1 };
  expect(await plansOf(() => again.entries("dead", scan))).toEqual([
    `SEARCH q USING INDEX deliveries_time (state=? AND (time_us,id,${column})>(?,?,?))`,
  ]);
});
