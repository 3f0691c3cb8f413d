/** What is reported to the audit log reaches it, within bounds. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  Audit,
  type AuditFilter,
  type AuditRecord,
  emptyRecord,
  forgetAudit,
  readAudit,
} from "../../src/audit/index.ts";
import { type Database, openDatabase, UnavailableError } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const startMs = Date.UTC(2026, 10, 5, 12);
const record = (change: Partial<AuditRecord> = {}): AuditRecord => ({
  ...emptyRecord,
  caller: "a",
  issuer: "https://platform.example",
  method: "platform.iam.v2.GroupsService/CreateGroup",
  code: "PERMISSION_DENIED",
  requestId: "r",
  count: 1,
  ...change,
});

onEveryDatabase("the audit log", (database) => {
  let db: Database;
  let nowMs: number;
  let lost: number;
  const make = (target = db) =>
    new Audit({
      database: target,
      now: () => nowMs,
      onLoss: (count) => {
        lost += count;
      },
    });
  async function read(filter: AuditFilter = {}) {
    const records = [];
    for await (const one of readAudit(db.read, filter)) records.push(one);
    return records;
  }
  beforeEach(async () => {
    db = await database().open();
    nowMs = startMs;
    lost = 0;
  });

  test("gives back what it was told", async () => {
    const audit = make();
    audit.report(record({ scope: "s" }));
    nowMs += 1;
    await db.transact((session) => audit.append(session, record({ code: "OK", resource: "r" })));
    await audit.flush();
    expect(await read()).toEqual([
      { ...record({ scope: "s" }), id: expect.any(String), time: "2026-11-05T12:00:00.000Z" },
      { ...record({ code: "OK", resource: "r" }), id: expect.any(String), time: "2026-11-05T12:00:00.001Z" },
    ]);
  });

  test("only counts beyond 100 calls of a caller between two writes", async () => {
    const audit = make();
    for (let i = 0; i < 350; i++) audit.report(record());
    for (let i = 0; i < 50; i++) audit.report(record({ caller: "b" }));
    await audit.flush();
    const ofA = await read({ caller: "a" });
    expect(ofA.filter(({ method }) => method !== "")).toHaveLength(100);
    expect(ofA.filter(({ method }) => method === "")).toMatchObject([{ count: 250, issuer: "", code: "" }]);
    expect(await read({ caller: "b" })).toHaveLength(50);
    for (let i = 0; i < 3; i++) audit.report(record());
    await audit.flush();
    expect(await read({ caller: "a" })).toHaveLength(104);
  });

  describe("calls without a caller", () => {
    const denied = (change: Partial<AuditRecord> = {}) =>
      record({ caller: "", code: "UNAUTHENTICATED", address: "192.0.2.1", requestId: "r".repeat(500), ...change });
    const shown = (records: readonly AuditRecord[]) =>
      records.map(({ code, address, count }) => `${code} ${address} ${count}`).sort();

    test("are counted by code, minute and network", async () => {
      const audit = make();
      for (let i = 0; i < 300; i++) audit.report(denied());
      audit.report(denied({ address: "::ffff:192.0.2.1" }));
      audit.report(denied({ code: "PERMISSION_DENIED" }));
      for (const end of ["1", "ffff:ffff:ffff:ffff", "0:0:0:3%eth0"])
        audit.report(denied({ address: `2001:db8:1:2:${end.includes(":") ? end : `:${end}`}` }));
      audit.report(denied({ address: "" }));
      nowMs += 60_000;
      audit.report(denied());
      await audit.flush();
      const records = await read();
      expect(shown(records)).toEqual([
        "PERMISSION_DENIED 192.0.2.1 1",
        "UNAUTHENTICATED  1",
        "UNAUTHENTICATED 192.0.2.1 1",
        "UNAUTHENTICATED 192.0.2.1 301",
        "UNAUTHENTICATED 2001:db8:1:2::/64 3",
      ]);
      for (const one of records) expect(one).toMatchObject({ method: "", requestId: "", userAgent: "", scope: "" });
    });

    test("have at most 1000 records a minute, and one for the rest", async () => {
      const audit = make();
      const flood = () => {
        for (let i = 0; i < 5000; i++) audit.report(denied({ address: `10.0.${i >> 8}.${i & 255}` }));
      };
      flood();
      flood();
      await audit.flush();
      expect(await read()).toHaveLength(1001);
      flood();
      await audit.flush();
      const records = await read();
      expect(records.filter(({ address }) => address !== "")).toHaveLength(1000);
      expect(records.reduce((sum, { count }) => sum + count, 0)).toBe(15_000);
      nowMs += 60_000;
      flood();
      await audit.flush();
      expect((await read()).reduce((sum, { count }) => sum + count, 0)).toBe(20_000);
    });

    test("are written soon after the first, and at the end of the minute", async () => {
      vi.useFakeTimers({ now: startMs, toFake: ["setTimeout", "clearTimeout", "Date"] });
      onTestFinished(() => void vi.useRealTimers());
      const audit = new Audit({ database: db, now: Date.now, onLoss: () => {} });
      audit.report(denied());
      await vi.advanceTimersByTimeAsync(1000);
      await expect.poll(async () => shown(await read())).toEqual(["UNAUTHENTICATED 192.0.2.1 1"]);
      for (let second = 1; second < 59; second++) {
        audit.report(denied());
        await vi.advanceTimersByTimeAsync(1000);
      }
      expect(await read()).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1000);
      await audit.close();
      expect(shown(await read())).toEqual(["UNAUTHENTICATED 192.0.2.1 1", "UNAUTHENTICATED 192.0.2.1 58"]);
    });
  });

  test("shortens what the caller chose, and shows it in one line", async () => {
    const audit = make();
    audit.report(record({ requestId: "r".repeat(500), userAgent: `a\n\u0000\u202e\u2028b\ud800${"😀".repeat(200)}` }));
    await audit.flush();
    const { requestId, userAgent } = (await read())[0]!;
    expect(requestId).toBe("r".repeat(128));
    expect(userAgent).toBe(`ab\ufffd${"😀".repeat(62)}\ufffd`);
  });

  test("keeps no more in memory than it has room for, and loses no count", async () => {
    const audit = make();
    for (let i = 0; i < 15_000; i++) audit.report(record({ caller: `caller ${i}` }));
    await audit.flush();
    const all = await read();
    expect(all.length).toBeLessThanOrEqual(10_001);
    expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(15_000);
  });

  test("is written a second after the first call", async () => {
    vi.useFakeTimers({ now: startMs, toFake: ["setTimeout", "clearTimeout", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const audit = new Audit({ database: db, now: Date.now, onLoss: () => {} });
    audit.report(record({ requestId: "1" }));
    await vi.advanceTimersByTimeAsync(999);
    audit.report(record({ requestId: "2" }));
    expect(await read()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers(); // a poll would move those on
    await expect.poll(async () => (await read()).map(({ requestId }) => requestId).sort()).toEqual(["1", "2"]);
  });

  test("says what it lost", async () => {
    const closed = await openDatabase(database().url);
    await closed.close();
    const audit = make(closed);
    audit.report(record());
    audit.report(record());
    await audit.flush();
    expect(lost).toBe(2);
    for (let i = 0; i < 3; i++) audit.report(record({ caller: "" }));
    await audit.flush();
    expect(lost).toBe(5);
  });

  describe("while the database is unavailable", () => {
    /** The database, which may refuse transactions, or commit them and lose the answer. */
    function failing() {
      const state = { mode: "well" as "well" | "refusing" | "losing answers" };
      const target: Database = {
        ...db,
        async transact(work, options) {
          if (state.mode === "refusing") throw new UnavailableError("away", undefined);
          const value = await db.transact(work, options);
          if (state.mode === "losing answers") throw new UnavailableError("away", undefined, true);
          return value;
        },
      };
      return { state, target };
    }

    test("waits in memory, and is written when it is back", async () => {
      const { state, target } = failing();
      const audit = make(target);
      state.mode = "refusing";
      audit.report(record({ requestId: "1" }));
      await audit.flush();
      audit.report(record({ requestId: "2" }));
      await audit.flush();
      expect(await read()).toEqual([]);
      state.mode = "well";
      await audit.flush();
      expect((await read()).map(({ requestId }) => requestId).sort()).toEqual(["1", "2"]);
      expect(lost).toBe(0);
    });

    test("writes nothing twice when it may have been written", async () => {
      const { state, target } = failing();
      const audit = make(target);
      state.mode = "losing answers";
      audit.report(record());
      await audit.flush();
      state.mode = "well";
      await audit.flush();
      expect(await read()).toHaveLength(1);
    });

    test("says what there was no room for, and at its end what was never written", async () => {
      const { state, target } = failing();
      const audit = make(target);
      state.mode = "refusing";
      for (let i = 0; i < 9_000; i++) audit.report(record({ caller: `caller ${i}` }));
      await audit.flush();
      for (let i = 0; i < 3_000; i++) audit.report(record({ caller: `caller ${i}` }));
      await audit.flush();
      expect(lost).toBe(0);
      state.mode = "well";
      await audit.flush();
      const written = (await read()).reduce((sum, { count }) => sum + count, 0);
      expect([written, lost]).toEqual([10_000, 2_000]);

      state.mode = "refusing";
      audit.report(record());
      for (let i = 0; i < 3; i++) audit.report(record({ caller: "" }));
      await audit.close();
      expect(lost).toBe(2_004);
    });
  });

  test("is read by time, caller and method, page by page", async () => {
    const audit = make();
    for (let i = 0; i < 7; i++) {
      for (let j = 0; j < 90; j++) audit.report(record({ caller: `c${i}`, requestId: `${i} ${j}` }));
      nowMs += 1000;
      audit.report(record({ method: "platform.iam.v2.GroupsService/DeleteGroup" }));
      await audit.flush();
    }
    expect(await read()).toHaveLength(637);
    expect(new Set((await read({ method: "CreateGroup" })).map(({ requestId }) => requestId)).size).toBe(630);
    expect(await read({ method: "platform.iam.v2.GroupsService/DeleteGroup" })).toHaveLength(7);
    expect(await read({ method: "Group" })).toEqual([]);
    expect(await read({ caller: "c3" })).toHaveLength(90);
    expect(await read({ sinceMs: startMs + 6000 })).toHaveLength(92);
  });

  test("forgets what is older than it is to be kept", async () => {
    const audit = make();
    for (const days of [0, 1, 2]) {
      nowMs = startMs + days * 86_400_000;
      await db.transact((session) => audit.append(session, record()));
    }
    expect(await forgetAudit(db, startMs)).toBe(false);
    expect(await read()).toHaveLength(3);
    expect(await forgetAudit(db, startMs + 86_400_001)).toBe(false);
    expect((await read()).map(({ time }) => time)).toEqual(["2026-11-07T12:00:00.000Z"]);
  });
});
