/**
 * Sessions: what a refresh token continues after the first token of the session has expired.
 *
 *     refresh token = base64url( family (16 bytes)  secret (32) )      both random
 *
 * All refresh tokens of a session have the same family. Each has its own secret, which is valid once: continuing a
 * session replaces it in the same transaction. A refresh token with the family and another secret is an older one or a
 * forged one, so the current one may be in other hands: the session ends (RFC 9700, 4.14.2). Family and secret are
 * stored as SHA-256 only.
 *
 * A session ends 30 days after its last use, 90 days after its start, or earlier with what it depends on: the identity
 * (one that was deleted and created again is another), the rule of the identity in the form that it had, and the static
 * keys in that rule. An identity has at most 100 sessions; the oldest are deleted.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { IdentitySchema } from "../../../../gen/platform/iam/v2/identities_pb.ts";
import { newUid } from "../../../new-uid.ts";
import { messageOf, newRow } from "../../../resource/index.ts";
import type { Database, ReadSession, Row, TableSpec, WriteSession } from "../../../store/index.ts";
import { identities } from "../identities.ts";

/** What every token of a session contains. */
interface SessionFacts {
  /** uid of the identity. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A refresh token. */
export interface RefreshToken {
  readonly token: string;
  readonly expireTimeMs: number;
}

/** A session that a refresh token continues. */
interface OpenSession {
  readonly uid: string;
  readonly facts: SessionFacts;
}

/** The rows. The uid of a session is below that of its identity. */
export const sessions: TableSpec = { name: "sessions", columns: { family: "text", expire_us: "integer" } };

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
function isRefreshToken(text: string): boolean {
  return /^[\w-]{64}$/.test(text);
}

/** Begins a session; undefined when its identity does not exist. */
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
    const columns = { family: digestOf(family), expire_us: expireTimeMs * 1000 };
    await session.insert(sessions, newRow(newUid(subject), subject, nowMs, { body: encode(stored), columns }));
    return expireTimeMs;
  });
  if (expireTimeMs === undefined) return undefined;
  if ((await database.read.count(sessions, { parent: subject })) > maxSessions) await endOldest(database, subject);
  return { token: Buffer.concat([family, secret]).toString("base64url"), expireTimeMs };
}

/** The session that a refresh token would continue. Changes nothing. */
export async function findSession(
  session: ReadSession,
  refreshToken: string,
  nowMs: number,
): Promise<OpenSession | undefined> {
  const row = await rowOf(session, refreshToken);
  if (row === undefined || Number(row.columns.expire_us) <= nowMs * 1000) return undefined;
  return { uid: row.uid, facts: { subject: row.parent, claims: decode(row).claims } };
}

/**
 * Continues the session of a refresh token and invalidates the token. undefined when the token is not valid; then its
 * session, if any, has ended.
 */
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
  const isAlive = Number(row.columns.expire_us) > nowMs * 1000;
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
    columns: { ...row.columns, expire_us: expireTimeMs * 1000 },
  });
  return { token: Buffer.concat([family, secret]).toString("base64url"), expireTimeMs };
}

/** Ends the session of a current or older refresh token, and returns the uid of its identity if there was one. */
export async function endSession(session: WriteSession, refreshToken: string): Promise<string | undefined> {
  const row = await rowOf(session, refreshToken);
  if (row !== undefined) await session.remove(sessions, row.uid);
  return row?.parent;
}

/** When a session that began at `beginMs` ends if it is not used after `nowMs`. */
function endOf(identity: Row, beginMs: number, nowMs: number): number {
  const { relationship } = messageOf(identities, identity);
  const keys = relationship.case === "staticKeys" ? relationship.value.expirationTime : undefined;
  return Math.min(nowMs + idleMs, beginMs + lifeMs, keys === undefined ? Number.POSITIVE_INFINITY : timestampMs(keys));
}

/** A digest of what must not change in an identity. */
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
      limit: Math.min(Math.max(surplus, 0), maxRemoved),
    });
    for (const { uid } of oldest) await session.remove(sessions, uid);
  });
}

async function rowOf(session: ReadSession, refreshToken: string): Promise<Row | undefined> {
  if (!isRefreshToken(refreshToken)) return undefined;
  const family = digestOf(Buffer.from(refreshToken, "base64url").subarray(0, familyBytes));
  return session.first(sessions, { where: [{ column: "family", equals: family }] });
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
