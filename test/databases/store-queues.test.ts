/** Queues: leased one partition at a time, settled by whoever holds the lease, added to in transactions. */
import { beforeEach, expect, test } from "vitest";
import type { Database, NewQueueEntry, Queue, QueueEntry, QueueState, Settlement } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const entry = (partition: string, id: string, timeUs = 10): NewQueueEntry => ({
  partition,
  id,
  timeUs,
  expireUs: 1000,
});
const idsOf = (entries: readonly QueueEntry[]) => entries.map(({ id }) => id).sort();
const settlement = (leased: QueueEntry, change: Partial<Settlement> = {}): Settlement => ({
  ...leased,
  leaseUs: leased.dueUs,
  state: "done",
  attempts: leased.attempts + 1,
  triedUs: 50,
  result: "204",
  ...change,
});

onEveryDatabase("queues", (database) => {
  let db: Database;
  let queue: Queue;
  beforeEach(async () => {
    db = await database().open();
    queue = db.queue("deliveries");
  });
  const lease = (partition: string, nowUs: number, untilUs = nowUs + 100, limit = 10) =>
    queue.lease({ partition, nowUs, untilUs, limit });
  const all = (state: QueueState) => queue.entries(state, { limit: 100 });

  test("give back what was added, once, and add nothing twice", async () => {
    const bad = "é'\"% \u2028";
    expect(await queue.add([entry(bad, "a", 1_700_000_000_123_456), entry("x", "a"), entry("x", "b")])).toBe(3);
    expect(await queue.add([entry("x", "b", 99), entry("x", "c")])).toBe(1);
    expect(await queue.add([])).toBe(0);
    expect(await all("pending")).toEqual([
      ...["a", "b", "c"].map((id) => ({
        ...entry("x", id),
        state: "pending",
        dueUs: 10,
        attempts: 0,
        triedUs: 0,
        result: "",
        history: "",
      })),
      expect.objectContaining({ partition: bad, timeUs: 1_700_000_000_123_456, dueUs: 1_700_000_000_123_456 }),
    ]);
  });

  test("name the partitions that have something due", async () => {
    await queue.add([
      entry("", "a", 5),
      entry("y", "a", 20),
      entry("y", "b", 7),
      entry("x", "a", 30),
      entry("é", "a", 6),
    ]);
    expect(await queue.duePartitions(4)).toEqual([]);
    expect(await queue.duePartitions(7)).toEqual(["", "y", "é"]);
    await lease("y", 7, 100);
    expect(await queue.duePartitions(7)).toEqual(["", "é"]);
    expect(await queue.duePartitions(30)).toEqual(["", "x", "y", "é"]);
    expect(await queue.duePartitions(100)).toEqual(["", "x", "y", "é"]);
  });

  test("lease what has been due longest, of one partition, to one holder until the lease expires", async () => {
    await queue.add([
      entry("x", "a", 3),
      entry("x", "b", 1),
      entry("x", "c", 2),
      entry("x", "d", 9),
      entry("y", "e", 0),
    ]);
    expect(idsOf(await lease("x", 5, 100, 2))).toEqual(["b", "c"]);
    expect(idsOf(await lease("x", 5, 100, 2))).toEqual(["a"]);
    expect(await lease("x", 5, 100, 2)).toEqual([]);
    expect(idsOf(await lease("x", 99, 200))).toEqual(["d"]);
    expect(await lease("x", 100, 300)).toMatchObject(
      ["b", "c", "a"].map(() => ({ state: "pending", dueUs: 300, partition: "x" })),
    );
  });

  test("are settled by who holds the lease, and by nobody else", async () => {
    await queue.add([entry("x", "a"), entry("x", "b"), entry("x", "c")]);
    const [a, b, c] = (await lease("x", 10)).sort((one, other) => (one.id < other.id ? -1 : 1));
    const late = await lease("x", 110, 500, 1);
    expect(late).toHaveLength(1);
    const held = [a!, b!, c!].filter(({ id }) => id !== late[0]!.id);
    expect(await queue.settle([a!, b!, c!].map((one) => settlement(one)))).toBe(2);
    expect(await queue.settle(held.map((one) => settlement(one)))).toBe(0);
    expect(await queue.settle([settlement(late[0]!, { state: "dead", result: "timeout" })])).toBe(1);
    expect(idsOf(await all("done"))).toEqual(idsOf(held));
    expect(await all("dead")).toMatchObject([{ id: late[0]!.id, attempts: 1, triedUs: 50, result: "timeout" }]);
    expect(await all("pending")).toEqual([]);
    expect(await queue.duePartitions(10_000)).toEqual([]);
  });

  test("are due again when it is settled so, and when they are requeued", async () => {
    await queue.add([entry("x", "a")]);
    const [first] = await lease("x", 10);
    await queue.settle([settlement(first!, { state: "pending", dueUs: 70, result: "500", history: "[1]" })]);
    expect(await lease("x", 69)).toEqual([]);
    const [second] = await lease("x", 70);
    expect(second).toMatchObject({ attempts: 1, result: "500", expireUs: 1000 });
    await queue.settle([settlement(second!, { state: "dead" })]);
    expect(
      await queue.requeue(
        [
          { partition: "x", id: "a" },
          { partition: "x", id: "missing" },
        ],
        80,
        2000,
      ),
    ).toBe(1);
    expect(await lease("x", 80)).toMatchObject([{ attempts: 0, expireUs: 2000, state: "pending", history: "[1]" }]);
  });

  test("two who lease at once never get the same entry", async () => {
    const other = (await database().open()).queue("deliveries");
    const ids = Array.from({ length: 60 }, (_, i) => `e${i}`);
    await queue.add(ids.map((id) => entry("x", id)));
    const leases = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 === 0 ? queue : other).lease({ partition: "x", nowUs: 10, untilUs: 100 + i, limit: 5 }),
      ),
    );
    const leased = leases.flat().map(({ id }) => id);
    expect(new Set(leased).size).toBe(leased.length);
    for (;;) {
      const more = await lease("x", 10);
      leased.push(...more.map(({ id }) => id));
      if (more.length === 0) break;
    }
    expect(leased.sort()).toEqual(ids.sort());
  });

  test("lease what has had no attempt in the order of time, to one holder at a time", async () => {
    await queue.add([entry("x", "d", 4), ...["a", "c", "b", "e"].map((id) => entry("x", id, 2)), entry("y", "a", 1)]);
    const [tried] = await lease("x", 2, 3, 1);
    await queue.settle([settlement(tried!, { state: "pending", dueUs: 2 })]);
    const left = ["a", "b", "c", "e"].filter((id) => id !== tried!.id);
    const untried = (nowUs: number, limit: number, upToUs = 9) =>
      queue.leaseUntried({ partition: "x", nowUs, untilUs: nowUs + 100, upToUs, limit });
    expect(await queue.hasUntried("x", 1)).toBe(false);
    expect(await untried(10, 9, 1)).toEqual([]);
    expect(await queue.hasUntried("x", 2)).toBe(true);
    const [one, other] = await Promise.all([untried(10, 2), untried(10, 2)]);
    const held = [...one, ...other];
    expect(held.map(({ id }) => id)).toEqual(left.slice(0, 2));
    expect([one.length, other.length]).toContain(0);
    await queue.settle([settlement(held[0]!)]);
    expect(await untried(10, 9)).toEqual([]);
    await queue.settle([settlement(held[1]!, { state: "pending", dueUs: 10, attempts: 0 })]);
    expect((await untried(10, 9)).map(({ id }) => id)).toEqual([...left.slice(1), "d"]);
    expect(await untried(109, 9)).toEqual([]);
    expect(await untried(110, 9)).toHaveLength(3);
    expect(await lease("x", 10)).toMatchObject([{ id: tried!.id }]);
  });

  test("lose entries and partitions", async () => {
    await queue.add([entry("x", "a"), entry("x", "b"), entry("x", "c"), entry("y", "a")]);
    const [leased] = await lease("x", 10, 100, 1);
    await queue.settle([settlement(leased!)]);
    expect(await queue.removePending("x", 1)).toBe(1);
    expect(await queue.removePending("x", 9)).toBe(1);
    expect(await queue.remove("y", ["a", "b"])).toBe(1);
    expect(await all("pending")).toEqual([]);
    expect(await all("done")).toHaveLength(1);
  });

  test("forget what is old, whatever its state", async () => {
    await queue.add([1, 2, 3, 4].map((time) => entry("x", `${time}`, time)));
    const leased = (await lease("x", 10)).filter(({ id }) => id !== "2");
    await queue.settle(leased.map((one) => settlement(one, { state: one.id === "1" ? "dead" : "done" })));
    expect(await queue.forget(1, 9)).toBe(0);
    expect(await queue.forget(4, 1)).toBe(3);
    expect(await queue.forget(4, 1)).toBe(0);
    expect([...(await all("done")), ...(await all("pending"))].map(({ id }) => id)).toEqual(["4"]);
  });

  test("are read page by page in the order of time, and counted", async () => {
    await queue.add([
      entry("x", "b", 2),
      entry("y", "a", 1),
      entry("x", "a", 2),
      entry("y", "b", 2),
      entry("x", "z", 1),
    ]);
    const seen: QueueEntry[] = [];
    for (;;) {
      const page = await queue.entries("pending", { after: seen.at(-1), limit: 2 });
      seen.push(...page);
      if (page.length < 2) break;
    }
    expect(seen.map(({ timeUs, id, partition }) => `${timeUs}${id}${partition}`)).toEqual([
      "1ay",
      "1zx",
      "2ax",
      "2bx",
      "2by",
    ]);
    const down: QueueEntry[] = [];
    for (;;) {
      const page = await queue.entries("pending", { after: down.at(-1), newestFirst: true, limit: 2 });
      down.push(...page);
      if (page.length < 2) break;
    }
    expect(down).toEqual(seen.toReversed());
    expect(await queue.entries("pending", { sinceUs: 2, newestFirst: true, limit: 9 })).toEqual(
      seen.slice(2).toReversed(),
    );
    expect(await queue.depths("pending")).toEqual([
      { partition: "x", count: 3 },
      { partition: "y", count: 2 },
    ]);
    expect(await queue.depths("dead")).toEqual([]);
    expect(await queue.oldestPending()).toEqual([
      { partition: "x", timeUs: 1 },
      { partition: "y", timeUs: 1 },
    ]);
  });

  test("are read by partition, newest first, by state and by time", async () => {
    await queue.add([
      entry("x", "a", 1),
      entry("x", "b", 2),
      entry("x", "c", 2),
      entry("x", "d", 3),
      entry("y", "a", 2),
    ]);
    const [a, b] = (await lease("x", 2, 100, 2)).sort((one, other) => (one.id < other.id ? -1 : 1));
    await queue.settle([settlement(a!), settlement(b!, { state: "dead" })]);
    const partition = "x";
    const states = ["pending", "done", "dead"] as const;
    const read = async (scan: object) =>
      (await db.read.scanQueue("deliveries", { partition, states, limit: 9, ...scan })).map(({ id }) => id);
    const paged: string[] = [];
    let after: QueueEntry | undefined;
    for (;;) {
      const [next] = await db.read.scanQueue("deliveries", { partition, states, after, limit: 1 });
      if (next === undefined) break;
      paged.push(next.id);
      after = next;
    }
    expect(paged).toEqual(["d", "c", "b", "a"]);
    expect(await read({})).toEqual(paged);
    expect(await read({ limit: 3 })).toEqual(["d", "c", "b"]);
    expect(await read({ states: ["pending"] })).toEqual(["d", "c"]);
    expect(await read({ states: ["done", "dead"] })).toEqual(["b", "a"]);
    expect(await read({ sinceUs: 2, untilUs: 3 })).toEqual(["c", "b"]);
    expect(await read({ untilUs: 2, after: { timeUs: 9, id: "a" } })).toEqual(["a"]);
    const count = (limit: number) => db.read.countQueued("deliveries", { partition, states, limit });
    expect([await count(9), await count(2)]).toEqual([4, 2]);
    expect(await db.read.findQueued("deliveries", { partition, id: "b" })).toMatchObject({ id: "b", state: "dead" });
    expect(await db.read.findQueued("deliveries", { partition: "y", id: "b" })).toBeUndefined();
    await db.transact((session) => session.requeue("deliveries", [{ partition, id: "b" }], 50, 90));
    expect(await db.read.findQueued("deliveries", { partition, id: "b" })).toMatchObject({
      state: "pending",
      dueUs: 50,
      expireUs: 90,
      attempts: 0,
    });
  });

  test("grow and shrink with their transaction or not at all", async () => {
    const failing = db.transact(async (session) => {
      expect(await session.enqueue("deliveries", [entry("x", "a")])).toBe(1);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await all("pending")).toEqual([]);
    await db.transact((session) => session.enqueue("deliveries", [entry("x", "a"), entry("x", "b"), entry("y", "a")]));
    const undone = db.transact(async (session) => {
      expect(await session.removePending("deliveries", "x", 9)).toBe(2);
      throw new Error("no");
    });
    await expect(undone).rejects.toThrow("no");
    expect(idsOf(await all("pending"))).toEqual(["a", "a", "b"]);
    await db.transact((session) => session.removePending("deliveries", "x", 1));
    expect(await all("pending")).toHaveLength(2);
  });

  test("refuse texts that cannot be stored", async () => {
    await expect(queue.add([entry("x\0", "a")])).rejects.toThrow(TypeError);
    await expect(queue.add([entry("x", "\ud800")])).rejects.toThrow(TypeError);
  });
});
