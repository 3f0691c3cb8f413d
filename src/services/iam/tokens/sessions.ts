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
 * keys in that rule. A session of a principal ends when it is continued and no identity expects the principal any more.
 * An identity, or a principal, has at most 100 sessions; the oldest are deleted.
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
  /** uid of the identity, or of the user of the principal. */
  readonly subject: string;
  /** Identifies the principal, 64 hex digits, if the tokens name no identity. */
  readonly principal?: string | undefined;
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

/** The rows. The uid of a session is below that of its identity, or below 40 hex digits of its principal. */
export const sessions: TableSpec = { name: "sessions", columns: { family: "text", expire_us: "integer" } };

const familyBytes = 16;
const secretBytes = 32;
const idleMs = 30 * 86_400_000;
const lifeMs = 90 * 86_400_000;
const maxSessions = 100;
const maxRemoved = 100;

interface StoredSession {
  readonly secret: string;
  /** A digest of what must not change in the identity; "" for a principal. */
  readonly basis: string;
  /** For a principal: the uid of its user. */
  readonly subject?: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Whether a text has the form of a refresh token. */
function isRefreshToken(text: string): boolean {
  return /^[\w-]{64}$/.test(text);
}

/** Begins a session; undefined when its identity does not exist. */
export async function beginSession(
  database: Database,
  { subject, principal, claims }: SessionFacts,
  nowMs: number,
): Promise<RefreshToken | undefined> {
  const holder = principal?.slice(0, 40) ?? subject;
  const family = randomBytes(familyBytes);
  const secret = randomBytes(secretBytes);
  const expireTimeMs = await database.transact(async (session) => {
    const identity = principal === undefined ? await session.get(identities.table, subject) : undefined;
    if (identity === undefined && principal === undefined) return undefined;
    const expireTimeMs = endOf(identity, nowMs, nowMs);
    const basis = identity === undefined ? { basis: "", subject } : { basis: basisOf(identity) };
    const body = encode({ secret: digestOf(secret), ...basis, claims });
    const columns = { family: digestOf(family), expire_us: expireTimeMs * 1000 };
    await session.insert(sessions, newRow(newUid(holder), holder, nowMs, { body, columns }));
    return expireTimeMs;
  });
  if (expireTimeMs === undefined) return undefined;
  if ((await database.read.count(sessions, { parent: holder })) > maxSessions) await endOldest(database, holder);
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
  const { subject = row.parent, claims } = decode(row);
  return { uid: row.uid, facts: { subject, claims } };
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
  const identity = stored.subject === undefined ? await session.get(identities.table, row.parent) : undefined;
  const isKept = stored.subject !== undefined || (identity !== undefined && basisOf(identity) === stored.basis);
  const given = Buffer.from(refreshToken, "base64url");
  const family = given.subarray(0, familyBytes);
  const isCurrent = timingSafeEqual(
    Buffer.from(stored.secret, "base64url"),
    Buffer.from(digestOf(given.subarray(familyBytes)), "base64url"),
  );
  const isAlive = Number(row.columns.expire_us) > nowMs * 1000;
  if (!isCurrent || !isAlive || !isKept) {
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

/** Ends the session of a current or older refresh token, and returns the subject of its tokens if there was one. */
export async function endSession(session: WriteSession, refreshToken: string): Promise<string | undefined> {
  const row = await rowOf(session, refreshToken);
  if (row === undefined) return undefined;
  await session.remove(sessions, row.uid);
  return decode(row).subject ?? row.parent;
}

/** When a session that began at `beginMs` ends if it is not used after `nowMs`. */
function endOf(identity: Row | undefined, beginMs: number, nowMs: number): number {
  const relationship = identity && messageOf(identities, identity).relationship;
  const keys = relationship?.case === "staticKeys" ? relationship.value.expirationTime : undefined;
  return Math.min(nowMs + idleMs, beginMs + lifeMs, keys === undefined ? Number.POSITIVE_INFINITY : timestampMs(keys));
}

/** A digest of what must not change in an identity. */
function basisOf(identity: Row): string {
  const { relationship } = messageOf(identities, identity);
  const rule = toBinary(IdentitySchema, create(IdentitySchema, { relationship }));
  return digestOf(Buffer.concat([Buffer.from(`${identity.createTimeUs} `), rule]));
}

async function endOldest(database: Database, holder: string): Promise<void> {
  await database.transact(async (session) => {
    const surplus = (await session.count(sessions, { parent: holder })) - maxSessions;
    const oldest = await session.list(sessions, {
      parent: holder,
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
