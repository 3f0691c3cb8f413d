/** Sessions: how long they live, and what ends them. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, expect, test } from "vitest";
import {
  type Identity,
  Identity_ClaimMatchSchema,
  Identity_StaticKeysSchema,
  IdentitySchema,
} from "../../gen/platform/iam/v2/identities_pb.ts";
import { removeExpired } from "../../src/app/housekeeping.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf } from "../../src/resource/index.ts";
import { identities } from "../../src/services/iam/identities.ts";
import {
  beginSession,
  continueSession,
  endSession,
  findSession,
  sessions,
} from "../../src/services/iam/tokens/sessions.ts";
import type { Database } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const day = 86_400_000;
const startMs = Date.UTC(2026, 10, 5, 12);

onEveryDatabase("sessions", (database) => {
  let db: Database;
  let subject: string;
  let nowMs: number;
  beforeEach(async () => {
    db = await database().open();
    nowMs = startMs;
    subject = newUid("");
    await insertIdentity();
  });

  const insertIdentity = () =>
    db.transact((session) =>
      session.insert(identities.table, {
        uid: subject,
        parent: "",
        createTimeUs: nowMs * 1000,
        updateTimeUs: nowMs * 1000,
        ...contentOf(identities, create(IdentitySchema, { name: "a" })),
      }),
    );
  const begin = async (claims = {}) => (await beginSession(db, { subject, claims }, nowMs))!;
  const next = (token: string) => db.transact((session) => continueSession(session, token, nowMs));
  const find = (token: string) => findSession(db.read, token, nowMs);
  const count = () => db.read.count(sessions, {});

  test("carry what they were begun with, and no token", async () => {
    const { token, expireTimeMs } = await begin({ act: { iss: "i" }, cap: ["repo.list"] });
    expect(expireTimeMs).toBe(startMs + 30 * day);
    expect((await find(token))!.facts).toEqual({ subject, claims: { act: { iss: "i" }, cap: ["repo.list"] } });
    const rows = await db.read.list(sessions, { orderBy: [], skip: 0, limit: 9 });
    const stored = rows
      .map(({ uid, body, columns }) => `${uid} ${Buffer.from(body)} ${JSON.stringify(columns)}`)
      .join();
    for (const start of [0, 22]) expect(stored).not.toContain(token.slice(start, start + 20));
  });

  test("live 30 days from their last use and 90 in all", async () => {
    let { token } = await begin();
    const continued = async () => {
      const refreshed = (await next(token))!;
      token = refreshed.token;
      return (refreshed.expireTimeMs - startMs) / day;
    };
    nowMs = startMs + 29 * day;
    expect(await continued()).toBe(59);
    nowMs = startMs + 58 * day;
    expect(await continued()).toBe(88);
    nowMs = startMs + 87 * day;
    expect(await continued()).toBe(90);
    nowMs = startMs + 90 * day;
    expect(await find(token)).toBeUndefined();
    expect(await next(token)).toBeUndefined();
    expect(await count()).toBe(0);
  });

  test("end after 30 days without use", async () => {
    const { token } = await begin();
    nowMs = startMs + 30 * day - 1;
    expect(await find(token)).toBeDefined();
    nowMs = startMs + 30 * day;
    expect(await find(token)).toBeUndefined();
    expect(await next(token)).toBeUndefined();
  });

  test("end when an older token comes back", async () => {
    const first = await begin();
    const second = (await next(first.token))!;
    expect(await next(first.token)).toBeUndefined();
    expect(await next(second.token)).toBeUndefined();
    expect(await count()).toBe(0);
  });

  test("end when they are told to, others go on", async () => {
    const one = await begin();
    const other = await begin();
    expect(await db.transact((session) => endSession(session, one.token))).toBe(subject);
    expect(await db.transact((session) => endSession(session, one.token))).toBeUndefined();
    expect(await next(one.token)).toBeUndefined();
    expect(await next(other.token)).toBeDefined();
  });

  test("do not outlive their identity, even if another gets its uid", async () => {
    const { token } = await begin();
    const other = await begin();
    await db.transact((session) => session.remove(identities.table, subject));
    expect(await next(token)).toBeUndefined();
    expect(await beginSession(db, { subject, claims: {} }, nowMs)).toBeUndefined();
    nowMs += 1;
    await insertIdentity();
    expect(await next(other.token)).toBeUndefined();
    expect(await count()).toBe(0);
  });

  test("do not outlive the rule by which their identity is assumed", async () => {
    const assume = (relationship: Identity["relationship"], description = "") =>
      db.transact(async (session) => {
        const row = (await session.get(identities.table, subject))!;
        const identity = create(IdentitySchema, { name: "a", description, relationship });
        await session.update(identities.table, { ...row, ...contentOf(identities, identity) });
      });
    const matching = (name: string): Identity["relationship"] => ({
      case: "claimMatch",
      value: create(Identity_ClaimMatchSchema, { sub: { case: "subject", value: name }, claims: { a: "1", b: "2" } }),
    });
    await assume(matching("one"));
    const { token } = await begin();
    await assume(matching("one"), "described anew");
    const second = (await next(token))!;
    await assume(matching("two"));
    expect(await next(second.token)).toBeUndefined();

    const expirationTime = timestampFromMs(startMs + 2 * day);
    await assume({ case: "staticKeys", value: create(Identity_StaticKeysSchema, { expirationTime }) });
    const third = await begin();
    expect(third.expireTimeMs).toBe(startMs + 2 * day);
    nowMs = startMs + day;
    expect((await next(third.token))!.expireTimeMs).toBe(startMs + 2 * day);
  });

  test("of one identity are a hundred at most: the oldest give way", async () => {
    const tokens: string[] = [];
    for (let i = 0; i < 103; i++) {
      nowMs = startMs + i;
      tokens.push((await begin()).token);
    }
    expect(await count()).toBe(100);
    expect(await Promise.all(tokens.slice(0, 4).map(async (token) => (await find(token)) !== undefined))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  test("are removed when they have expired, a few at a time", async () => {
    for (let i = 0; i < 5; i++) {
      nowMs = startMs + i * day;
      await begin();
    }
    expect(await removeExpired(db, sessions, startMs + 29 * day)).toBe(false);
    expect(await count()).toBe(5);
    expect(await removeExpired(db, sessions, startMs + 32 * day)).toBe(false);
    expect(await count()).toBe(2);
  });

  test.each(["", "abc", "A".repeat(64), "-".repeat(64), `${"A".repeat(64)}=`, "ä".repeat(64)])(
    "know nothing of %j",
    async (token) => {
      await begin();
      expect(await find(token)).toBeUndefined();
      expect(await next(token)).toBeUndefined();
      expect(await count()).toBe(1);
    },
  );
});
