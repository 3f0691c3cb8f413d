/**
 * Sessions: what a refresh token continues when the token that began it has run out.
 *
 *     refresh token = base64url( family (16 bytes)  secret (32) )      both random
 *
 * All refresh tokens of a session share the family; each has its own secret, which works once: continuing a session replaces it in the same
 * transaction. Whoever comes with the family and another secret has an older token of the session, or one that never was, so somebody else
 * may have the current one: the session ends for both (RFC 9700, 4.14.2). Family and secret are stored as SHA-256 only.
 *
 * A session lives 30 days from its last use, 90 days in all, and no longer than what it rests on: the identity (one deleted and made again, as
 * users are, is another), the rule by which it is assumed, as it was, and the static keys in that rule. An identity has at most 100; the
 * oldest give way.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { IdentitySchema } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { messageOf } from "../../resource/index.ts";
import type { Database, ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";
import { newUid } from "../../uid.ts";
import { identities } from "./identities.ts";

/** What of a session goes into each of its tokens. */
export interface SessionFacts {
  /** uid of the identity. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A refresh token. */
export interface RefreshToken {
  readonly token: string;
  readonly expireTimeMs: number;
}

/** A session as it was when its refresh token was presented. */
export interface OpenSession {
  readonly uid: string;
  readonly facts: SessionFacts;
}

/** The rows; the uid of one is below its identity's. */
export const sessions: TableSpec = { name: "sessions", facets: { family: "text", expire_us: "integer" } };

const familyBytes = 16;
const secretBytes = 32;
const idleMs = 30 * 86_400_000;
const lifeMs = 90 * 86_400_000;
const maxSessions = 100;
const maxRemoved = 100;

interface StoredSession {
  readonly secret: string;
  readonly basis: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Whether a text has the form of a refresh token. */
export function isRefreshToken(text: string): boolean {
  return /^[\w-]{64}$/.test(text);
}

/** Begins a session; undefined when its identity is gone. */
export async function beginSession(
  database: Database,
  { subject, claims }: SessionFacts,
  nowMs: number,
): Promise<RefreshToken | undefined> {
  const family = randomBytes(familyBytes);
  const secret = randomBytes(secretBytes);
  const expireTimeMs = await database.transact(async (session) => {
    const identity = await session.get(identities.table, subject);
    if (identity === undefined) return undefined;
    const expireTimeMs = endOf(identity, nowMs, nowMs);
    const stored = { secret: digestOf(secret), basis: basisOf(identity), claims };
    await session.insert(sessions, {
      uid: newUid(subject),
      parent: subject,
      createTimeUs: nowMs * 1000,
      updateTimeUs: nowMs * 1000,
      body: encode(stored),
      facets: { family: digestOf(family), expire_us: expireTimeMs * 1000 },
    });
    return expireTimeMs;
  });
  if (expireTimeMs === undefined) return undefined;
  if ((await database.read.count(sessions, { parent: subject })) > maxSessions) await endOldest(database, subject);
  return { token: Buffer.concat([family, secret]).toString("base64url"), expireTimeMs };
}

/** The session that a refresh token would continue; nothing changes yet. */
export async function findSession(
  session: ReadSession,
  refreshToken: string,
  nowMs: number,
): Promise<OpenSession | undefined> {
  const row = await rowOf(session, refreshToken);
  if (row === undefined || Number(row.facets.expire_us) <= nowMs * 1000) return undefined;
  return { uid: row.uid, facts: { subject: row.parent, claims: decode(row).claims } };
}

/** Continues the session of a refresh token, which works no more. undefined when it has not worked; then the session, if there was one, has ended. */
export async function continueSession(
  session: WriteSession,
  refreshToken: string,
  nowMs: number,
): Promise<RefreshToken | undefined> {
  const row = await rowOf(session, refreshToken);
  if (row === undefined) return undefined;
  const stored = decode(row);
  const identity = await session.get(identities.table, row.parent);
  const given = Buffer.from(refreshToken, "base64url");
  const family = given.subarray(0, familyBytes);
  const isCurrent = timingSafeEqual(
    Buffer.from(stored.secret, "base64url"),
    Buffer.from(digestOf(given.subarray(familyBytes)), "base64url"),
  );
  const isAlive = Number(row.facets.expire_us) > nowMs * 1000;
  if (!isCurrent || !isAlive || identity === undefined || basisOf(identity) !== stored.basis) {
    await session.remove(sessions, row.uid);
    return undefined;
  }
  const secret = randomBytes(secretBytes);
  const expireTimeMs = endOf(identity, row.createTimeUs / 1000, nowMs);
  await session.update(sessions, {
    ...row,
    updateTimeUs: nowMs * 1000,
    body: encode({ ...stored, secret: digestOf(secret) }),
    facets: { ...row.facets, expire_us: expireTimeMs * 1000 },
  });
  return { token: Buffer.concat([family, secret]).toString("base64url"), expireTimeMs };
}

/** Ends the session of a refresh token, be it the current one or an older; the uid of its identity where there was one. */
export async function endSession(session: WriteSession, refreshToken: string): Promise<string | undefined> {
  const row = await rowOf(session, refreshToken);
  if (row !== undefined) await session.remove(sessions, row.uid);
  return row?.parent;
}

/** When a session that was begun then ends if it is not used after now. */
function endOf(identity: Row, beginMs: number, nowMs: number): number {
  const { relationship } = messageOf(identities, identity);
  const keys = relationship.case === "staticKeys" ? relationship.value.expirationTime : undefined;
  return Math.min(nowMs + idleMs, beginMs + lifeMs, keys === undefined ? Number.POSITIVE_INFINITY : timestampMs(keys));
}

/** What of an identity must stay as it is. */
function basisOf(identity: Row): string {
  const { relationship } = messageOf(identities, identity);
  const rule = toBinary(IdentitySchema, create(IdentitySchema, { relationship }));
  return digestOf(Buffer.concat([Buffer.from(`${identity.createTimeUs} `), rule]));
}

async function endOldest(database: Database, subject: string): Promise<void> {
  await database.transact(async (session) => {
    const surplus = (await session.count(sessions, { parent: subject })) - maxSessions;
    const oldest = await session.list(sessions, {
      parent: subject,
      orderBy: [{ column: "create_time_us", descending: false }],
      skip: 0,
      limit: Math.min(Math.max(surplus, 0), maxRemoved),
    });
    for (const { uid } of oldest) await session.remove(sessions, uid);
  });
}

async function rowOf(session: ReadSession, refreshToken: string): Promise<Row | undefined> {
  if (!isRefreshToken(refreshToken)) return undefined;
  const family = digestOf(Buffer.from(refreshToken, "base64url").subarray(0, familyBytes));
  const [row] = await session.list(sessions, {
    where: [{ column: "family", equals: family }],
    orderBy: [],
    skip: 0,
    limit: 1,
  });
  return row;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

function encode(stored: StoredSession): Uint8Array {
  return Buffer.from(JSON.stringify(stored));
}

function decode({ body }: Row): StoredSession {
  return JSON.parse(Buffer.from(body).toString("utf8"));
}
