/** Identities: who acts. An identity carries the rule that tells which tokens are its own. */
import { create, equals } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type DeleteIdentityRequest,
  IdentitiesService,
  type Identity,
  type Identity_ClaimMatch,
  type Identity_StaticKeys,
  IdentitySchema,
  ListIdentitiesRequestSchema,
  type LookupIdentityRequest,
  LookupIdentityResponseSchema,
  type UpdateIdentityRequest,
} from "../../../gen/platform/iam/v2/identities_pb.ts";
import { isPattern, parseKeySet } from "../../auth/index.ts";
import { type FieldViolation, invalid } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  environmentOf,
  equalTo,
  findRow,
  implement,
  messageOf,
  present,
  type Resource,
  removeResource,
  removeSelected,
  type ServiceImplementation,
  standardMethods,
  updateResource,
} from "../../resource/index.ts";
import { userIdentityUid } from "../../uid.ts";
import { requireAllGranted } from "./grantable-roles.ts";
import { groups } from "./groups.ts";

/** Static keys live at most this long, and so long by default. */
const maxStaticKeysLifeMs = 365 * 24 * 60 * 60 * 1000;

const relationships = { claimMatch: 1, staticKeys: 2 } as const;

export const identities = defineResource({
  schema: IdentitySchema,
  list: ListIdentitiesRequestSchema,
  parent: groups,
  isWatched: true,
  facets: {
    name: { text: (identity) => identity.name },
    relationship: {
      integer: ({ relationship }) => (relationship.case === undefined ? 0 : relationships[relationship.case]),
    },
    issuer: { text: (identity) => literalsOf(identity).issuer },
    subject: { text: (identity) => literalsOf(identity).subject },
    last_seen_us: {
      integer: ({ lastSeenTime }) => (lastSeenTime === undefined ? 0 : timestampMs(lastSeenTime) * 1000),
    },
  },
  filters: { name: equalTo("name"), relationshipType: (type) => [{ column: "relationship", equals: type }] },
  restore(identity, row) {
    identity.lastSeenTime = timestampFromMs(Number(row.facets.last_seen_us) / 1000);
  },
  check({ before, after }, context) {
    const { nowMs, allowLoopbackIssuers } = environmentOf(context);
    if (before === undefined) after.lastSeenTime = timestampFromMs(nowMs);
    const { relationship } = after;
    const violations: FieldViolation[] = [];
    if (literalsOf(after).issuer.startsWith("http:") && !allowLoopbackIssuers) {
      const field = relationship.case === "staticKeys" ? "static_keys.issuer" : "claim_match.issuer";
      violations.push({ field, description: "must be an https URL" });
    }
    if (relationship.case === "claimMatch") violations.push(...claimMatchViolations(relationship.value));
    if (relationship.case === "staticKeys") violations.push(...staticKeysViolations(relationship.value, before, nowMs));
    if (violations.length > 0) throw invalid(violations);
  },
});

/**
 * @param roleBindings what identities hold. Deleted together with an identity: revoking must never be blocked.
 * @param forget takes a deleted identity out of what names it otherwise.
 */
export function identitiesService(
  roleBindings: Resource,
  forget: (uid: string, context: HandlerContext) => Promise<void>,
): ServiceImplementation {
  const boundTo = (uid: string) => ({ where: [{ column: "identity_uid", equals: uid }] });
  return implement(IdentitiesService, standardMethods(IdentitiesService, identities), {
    async updateIdentity({ identity, updateMask }: UpdateIdentityRequest, context) {
      const body = identity ?? create(IdentitySchema);
      const before = messageOf(identities, await findRow(identities, body.uid, context));
      const row = await updateResource(identities, body.uid, body, updateMask, context);
      if (!isSameRule(before, messageOf(identities, row))) {
        const all = { orderBy: [], skip: 0, limit: Number.MAX_SAFE_INTEGER };
        const bindings = await databaseOf(context).list(roleBindings.table, { ...boundTo(body.uid), ...all });
        await requireAllGranted(bindings, context);
      }
      return present(identities, row, context);
    },

    async deleteIdentity(request: DeleteIdentityRequest, context) {
      await removeResource(identities, request, context);
      await removeSelected(roleBindings, boundTo(request.uid), context);
      await forget(request.uid, context);
      return {};
    },

    lookupIdentity: ({ issuer, subject }: LookupIdentityRequest) =>
      create(LookupIdentityResponseSchema, { uid: userIdentityUid(issuer, subject) }),
  });
}

/** Whether the same tokens act as both. */
function isSameRule(one: Identity, other: Identity): boolean {
  const [a, b] = [one, other].map(({ relationship }) => create(IdentitySchema, { relationship }));
  return equals(IdentitySchema, a!, b!);
}

/** The exact issuer and subject of an identity's rule; "" where it has a pattern. */
function literalsOf({ relationship }: Identity): { issuer: string; subject: string } {
  switch (relationship.case) {
    case "claimMatch": {
      const { iss, sub } = relationship.value;
      return { issuer: iss.case === "issuer" ? iss.value : "", subject: sub.case === "subject" ? sub.value : "" };
    }
    case "staticKeys":
      return relationship.value;
    default:
      return { issuer: "", subject: "" };
  }
}

function claimMatchViolations({ iss, sub, aud, claimPatterns }: Identity_ClaimMatch): FieldViolation[] {
  const patterns: [string, string | undefined][] = [
    ["issuer_pattern", iss.case === "issuerPattern" ? iss.value : undefined],
    ["subject_pattern", sub.case === "subjectPattern" ? sub.value : undefined],
    ["audience_pattern", aud.case === "audiencePattern" ? aud.value : undefined],
    ...Object.entries(claimPatterns).map(([name, pattern]): [string, string] => [
      `claim_patterns[${JSON.stringify(name)}]`,
      pattern,
    ]),
  ];
  return patterns.flatMap(([field, pattern]) =>
    pattern === undefined || isPattern(pattern)
      ? []
      : [{ field: `claim_match.${field}`, description: "is not an RE2 pattern of reasonable size" }],
  );
}

function staticKeysViolations(
  keys: Identity_StaticKeys,
  before: Identity | undefined,
  nowMs: number,
): FieldViolation[] {
  const violations: FieldViolation[] = [];
  try {
    parseKeySet(keys.issuerKeys);
  } catch (error) {
    violations.push({ field: "static_keys.issuer_keys", description: (error as Error).message });
  }
  keys.expirationTime ??= timestampFromMs(nowMs + maxStaticKeysLifeMs);
  const expirationMs = timestampMs(keys.expirationTime);
  const isKept =
    before?.relationship.case === "staticKeys" &&
    before.relationship.value.expirationTime !== undefined &&
    timestampMs(before.relationship.value.expirationTime) === expirationMs;
  if (!isKept && (expirationMs <= nowMs || expirationMs > nowMs + maxStaticKeysLifeMs)) {
    violations.push({ field: "static_keys.expiration_time", description: "must lie in the next 365 days" });
  }
  return violations;
}
