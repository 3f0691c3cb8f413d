/**
 * Supplies `auth` with the identities of the database. A user identity belongs to no group and is active only while an
 * organisation has an identity provider with its issuer. The issuer of the administrator is the platform itself.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Identity } from "../../../../gen/platform/iam/v2/identities_pb.ts";
import { type IdentitySource, type MatchRule, originOfIssuer } from "../../../auth/index.ts";
import type { Awaitable } from "../../../awaitable.ts";
import { LruMap } from "../../../lru-map.ts";
import { messageOf } from "../../../resource/index.ts";
import type { Database, ReadSession, Row } from "../../../store/index.ts";
import { rootOf } from "../../../uid.ts";
import { identities } from "../identities.ts";
import { identityProviders } from "../identity-providers.ts";
import { keySources } from "../identity-rules.ts";
import { cachedUntilChange } from "./cached-until-change.ts";

/** The time of the last use of an identity is written at most this often. */
const seenPrecisionMs = 60_000;
const pageSize = 200;

/** What {@link identitySource} needs. */
interface IdentitySourceOptions {
  readonly database: Database;
  /** `iss` of the platform's own tokens. */
  readonly issuerUrl: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when the time of the last use could not be written. */
  report(error: unknown): void;
}

/** Identities, and the times of their last uses. */
interface IdentityUses {
  /** Called for every use of an identity by a token of another issuer. */
  seen(uid: string): void;
}

/** Identities by the rules that a token may match. */
export function identitySource({
  database,
  issuerUrl,
  now,
  report,
}: IdentitySourceOptions): IdentitySource & IdentityUses {
  const lastSeenMs = new LruMap<string, number>(10_000);

  return {
    async keySources(issuer, subject) {
      const sources = sourcesFor(issuer);
      const exists = (...sources: readonly string[]) =>
        database.read.exists(identities.table, { where: [{ column: "key_source", in: sources }] });
      if (sources === undefined || !(await exists(...Object.values(sources))))
        return { published: undefined, carried: [] };
      const [isNamed, isAtOrigin, carried] = await Promise.all([
        exists(sources.named),
        exists(sources.atOrigin),
        carriedKeys(database.read, sources.carried, subject),
      ]);
      return { published: isNamed ? "named" : isAtOrigin ? "at origin" : undefined, carried };
    },
    candidates: cachedUntilChange(
      database.read,
      (...names) => JSON.stringify(names),
      async (issuer: string, subject: string) => {
        const sources = Object.values(sourcesFor(issuer) ?? {});
        const rows = await database.read.list(identities.table, {
          where: [
            { column: "key_source", in: sources },
            { column: "subject", in: [subject, ""] },
          ],
          limit: Number.MAX_SAFE_INTEGER,
        });
        const withUsers = rows.some(({ parent }) => parent === "") && (await hasProvider(database.read, issuer));
        return rows.flatMap((row) => {
          if (row.parent === "" && !withUsers) return [];
          const rule = ruleOf(messageOf(identities, row));
          return rule === undefined ? [] : [{ uid: row.uid, createTimeUs: row.createTimeUs, rule }];
        });
      },
    ),
    isActive: cachedUntilChange(database.read, String, async (uid: string) => {
      const row = await database.read.get(identities.table, uid);
      return row !== undefined && isActive(database.read, row, issuerUrl);
    }),
    changes: () => database.read.changes(),
    seen(uid) {
      const nowMs = now();
      if (nowMs - (lastSeenMs.get(uid) ?? 0) < seenPrecisionMs) return;
      lastSeenMs.set(uid, nowMs);
      database
        .transact(async (session) => {
          const row = await session.get(identities.table, uid);
          const isDue = row !== undefined && nowMs * 1000 - Number(row.columns.last_seen_us) >= seenPrecisionMs * 1000;
          if (isDue) await session.setColumns(identities.table, uid, { last_seen_us: nowMs * 1000 });
        })
        .catch(report);
    },
  };
}

/** Whether tokens may speak for an identity that exists. */
export function isActive(session: ReadSession, { parent, columns }: Row, issuerUrl: string): Awaitable<boolean> {
  return parent !== "" || columns.issuer === issuerUrl || hasProvider(session, String(columns.issuer));
}

function hasProvider(session: ReadSession, issuer: string): Promise<boolean> {
  return session.exists(identityProviders.table, { where: [{ column: "issuer", equals: issuer }] });
}

/** The key sources of identities whose tokens this issuer can issue; undefined when there can be none. */
function sourcesFor(issuer: string): Record<keyof typeof keySources, string> | undefined {
  const origin = originOfIssuer(issuer);
  if (origin === undefined) return undefined;
  return {
    named: keySources.named(issuer),
    atOrigin: keySources.atOrigin(origin),
    carried: keySources.carried(issuer),
  };
}

/**
 * The static key sets for a token, in turn of their organisations, each of which has only a few: so none of them delays
 * the others.
 */
async function carriedKeys(session: ReadSession, source: string, subject: string): Promise<string[]> {
  const where = [
    { column: "key_source", equals: source },
    { column: "subject", equals: subject },
  ];
  const ofOrganisations = new Map<string, string[]>();
  for await (const rows of session.pages(identities.table, { where, limit: pageSize })) {
    for (const row of rows) {
      const { relationship } = messageOf(identities, row);
      if (relationship.case !== "staticKeys") continue;
      const sets = ofOrganisations.get(rootOf(row.uid)) ?? [];
      ofOrganisations.set(rootOf(row.uid), sets);
      sets.push(relationship.value.issuerKeys);
    }
  }
  const turns = Array.from({ length: Math.max(0, ...[...ofOrganisations.values()].map((sets) => sets.length)) });
  return [...new Set(turns.flatMap((_, i) => [...ofOrganisations.values()].flatMap((sets) => sets[i] ?? [])))];
}

function ruleOf({ relationship }: Identity): MatchRule | undefined {
  switch (relationship.case) {
    case "claimMatch": {
      const { iss, sub, aud, claims, claimPatterns } = relationship.value;
      return {
        kind: "claim_match",
        ...(iss.case === undefined ? {} : { [iss.case]: iss.value }),
        ...(sub.case === undefined ? {} : { [sub.case]: sub.value }),
        ...(aud.case === undefined ? {} : { [aud.case]: aud.value }),
        claims,
        claimPatterns,
      };
    }
    case "staticKeys": {
      const { issuer, subject, issuerKeys, expirationTime, audiences } = relationship.value;
      return {
        kind: "static_keys",
        issuer,
        subject,
        issuerKeys,
        audiences,
        expireTimeMs: expirationTime === undefined ? 0 : timestampMs(expirationTime),
      };
    }
    default:
      return undefined;
  }
}
