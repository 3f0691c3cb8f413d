/** Supplies `auth` with identities and grants, from rows, for every call anew. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";
import type { Identity } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { capabilities, type Grant, type GrantSource, type IdentitySource, type MatchRule } from "../../auth/index.ts";
import { messageOf } from "../../resource/index.ts";
import type { Database, ReadSession, Row } from "../../store/index.ts";
import { covers, parentOf } from "../../uid.ts";
import { administratorRole, builtInRoleUid } from "./built-in-roles.ts";
import { identities } from "./identities.ts";
import { roleBindings } from "./role-bindings.ts";
import { roles } from "./roles.ts";

const orderBy = [{ column: "uid", descending: false }];
const administratorRoleUid = builtInRoleUid(administratorRole);
/** The last use of an identity is written down this often at most. */
const seenPrecisionMs = 60_000;

/** Grants from role bindings. A binding outside its identity's own subtree grants nothing. */
export function grantSource(session: ReadSession): GrantSource {
  const setOf = rememberSets();
  return {
    async grantsOf({ identities: identityUids }) {
      const where = [{ column: "identity_uid", in: identityUids }];
      const bindings = await session.list(roleBindings.table, {
        where,
        orderBy,
        skip: 0,
        limit: Number.MAX_SAFE_INTEGER,
      });
      const roleRows = await session.getMany(roles.table, [
        ...new Set(bindings.map((row) => String(row.facets.role_uid))),
      ]);
      return bindings.flatMap((binding): Grant[] => {
        const role = roleRows.get(String(binding.facets.role_uid));
        const confinement = parentOf(String(binding.facets.identity_uid));
        if (role === undefined || !covers(confinement, binding.parent)) return [];
        return [{ scope: role.uid === administratorRoleUid ? "" : binding.parent, capabilities: setOf(role) }];
      });
    },
  };
}

/** Identities by the rule that a token may match. */
export function identitySource(
  database: Database,
  now: () => number,
  report: (error: unknown) => void,
): IdentitySource {
  const lastSeenMs = new Map<string, number>();
  return {
    async candidates(issuer, subject) {
      const rows = await database.read.list(identities.table, {
        where: [
          { column: "issuer", in: [issuer, ""] },
          { column: "subject", in: [subject, ""] },
        ],
        orderBy,
        skip: 0,
        limit: Number.MAX_SAFE_INTEGER,
      });
      return rows.flatMap((row) => {
        const rule = ruleOf(messageOf(identities, row));
        return rule === undefined ? [] : [{ uid: row.uid, createTimeUs: row.createTimeUs, rule }];
      });
    },
    exists: (uid) => database.read.exists(identities.table, { uids: [uid] }),
    seen(uid) {
      const nowMs = now();
      if (nowMs - (lastSeenMs.get(uid) ?? 0) < seenPrecisionMs) return;
      lastSeenMs.delete(uid);
      lastSeenMs.set(uid, nowMs);
      for (const oldest of lastSeenMs.keys()) {
        if (lastSeenMs.size <= 10_000) break;
        lastSeenMs.delete(oldest);
      }
      database
        .transact(async (session) => {
          const row = await session.get(identities.table, uid);
          const isDue = row !== undefined && nowMs * 1000 - Number(row.facets.last_seen_us) >= seenPrecisionMs * 1000;
          if (isDue) await session.setFacets(identities.table, uid, { last_seen_us: nowMs * 1000 });
        })
        .catch(report);
    },
  };
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

/** Decoded capability sets by role; a row's version tells whether the one remembered still holds. */
function rememberSets(): (role: Row) => ReadonlySet<Capability> {
  const remembered = new Map<string, { etag: string; set: ReadonlySet<Capability> }>();
  return (role) => {
    const etag = `${role.createTimeUs}-${role.version}`;
    const known = remembered.get(role.uid);
    if (known?.etag === etag) return known.set;
    const set = new Set(messageOf(roles, role).capabilities.filter((capability) => capabilities.has(capability)));
    if (remembered.size >= 10_000) remembered.clear();
    remembered.set(role.uid, { etag, set });
    return set;
  };
}
