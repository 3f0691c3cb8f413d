/** The audit log is followed without loss and without repetition. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { type AuditLine, appendAudit, auditEntry, emptyRecord } from "../../src/audit/index.ts";
import { followAudit } from "../../src/cli/audit/follow.ts";
import { type Database, type ReadSession, UnavailableError } from "../../src/store/index.ts";
import { onEveryDatabase, onPostgres } from "./databases.ts";

/** Reads of a database that can be away. */
function interrupted(read: ReadSession) {
  const state = { isOut: false };
  const session: ReadSession = Object.assign(Object.create(read), {
    scan: async (...args: Parameters<ReadSession["scan"]>) => {
      if (state.isOut) throw new UnavailableError("away", undefined);
      return read.scan(...args);
    },
  });
  return { session, state };
}

/** Follows in the background. */
function follower(session: ReadSession) {
  const stop = new AbortController();
  const requests: string[] = [];
  const messages: string[] = [];
  const done = (async () => {
    const options = { sinceMs: 0, known: new Map(), once: false, pollMs: 50, signal: stop.signal };
    const lines: AsyncGenerator<AuditLine> = followAudit(session, { ...options, report: (m) => void messages.push(m) });
    for await (const { requestId } of lines) requests.push(requestId);
  })();
  return {
    requests,
    messages,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

const entry = (requestId: string, timeMs = Date.now()) =>
  auditEntry({ ...emptyRecord, method: "a/B", code: "OK", count: 1, requestId }, timeMs);
const write = (db: Database, ...args: Parameters<typeof entry>) => {
  const made = entry(...args);
  return db.transact((session) => appendAudit(session, made));
};

onEveryDatabase("following the audit log", (database) => {
  test("gives old records, new ones, and late ones, each once", async () => {
    const db = await database().open();
    await write(db, "old", Date.now() - 86_400_000);
    await write(db, "1");
    const following = follower(db.read);
    await expect.poll(() => following.requests).toEqual(["old", "1"]);
    await write(db, "3");
    await expect.poll(() => following.requests).toEqual(["old", "1", "3"]);
    await write(db, "2", Date.now() - 10_000);
    await expect.poll(() => following.requests).toEqual(["old", "1", "3", "2"]);
    await following.stop();
    expect(following.requests).toHaveLength(4);
  });

  test("goes on after an outage with what was written meanwhile, and with what was kept until its end", async () => {
    const db = await database().open();
    const { session, state } = interrupted(db.read);
    await write(db, "before");
    const following = follower(session);
    await expect.poll(() => following.requests).toEqual(["before"]);
    state.isOut = true;
    await expect.poll(() => following.messages).toHaveLength(1);
    await write(db, "kept", Date.now() - 300_000);
    await write(db, "during");
    state.isOut = false;
    await expect.poll(() => following.requests.toSorted()).toEqual(["before", "during", "kept"]);
    await following.stop();
    expect(following.messages).toEqual([
      "the database cannot be read, trying again: away",
      "the database can be read again",
    ]);
  });

  test("gives what a server has kept during a long outage, and writes after newer records", async () => {
    const db = await database().open();
    const { session, state } = interrupted(db.read);
    await write(db, "before", Date.now() - 3_600_000);
    const following = follower(session);
    await expect.poll(() => following.requests).toEqual(["before"]);
    state.isOut = true;
    await expect.poll(() => following.messages).toHaveLength(1);
    await write(db, "during");
    state.isOut = false;
    await expect.poll(() => following.messages).toHaveLength(2);
    await write(db, "after");
    await expect.poll(() => following.requests).toEqual(["before", "during", "after"]);
    await write(db, "kept", Date.now() - 1_800_000);
    await expect.poll(() => following.requests).toEqual(["before", "during", "after", "kept"]);
    await following.stop();
  });
});

onPostgres("following the audit log beside transactions that overlap", (database) => {
  test("loses nothing that is committed late", async () => {
    const db = await database().open();
    const following = follower(db.read);
    let count = 0;
    const writing = Array.from({ length: 8 }, async (_, i) => {
      for (let j = 0; j < 25; j++) {
        const made = entry(`${i} ${j}`);
        await db.transact(async (session) => {
          await appendAudit(session, made);
          await session.setting("none");
          await setTimeout(Math.random() * 60);
        });
        count++;
      }
    });
    await Promise.all(writing);
    await expect.poll(() => following.requests.length).toBe(count);
    await following.stop();
    expect(new Set(following.requests).size).toBe(count);
  });
});
