/** Identities: the subjects that act. The rule of an identity decides which tokens act as it. */
import { create, equals } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  IdentitiesService,
  type Identity,
  IdentitySchema,
  ListIdentitiesRequestSchema,
  LookupIdentityResponseSchema,
} from "../../../gen/platform/iam/v2/identities_pb.ts";
import { invalid } from "../../errors.ts";
import { userIdentityUid } from "../../new-uid.ts";
import {
  databaseOf,
  defineResource,
  environmentOf,
  equalTo,
  findRow,
  implement,
  type MountedService,
  messageOf,
  type Resource,
  removeResource,
  removeSelected,
  toResponse,
  updateResource,
} from "../../resource/index.ts";
import { requireAllGranted } from "./grantable-roles.ts";
import { groups } from "./groups.ts";
import { requireQuota } from "./identity-quotas.ts";
import { keySourceOf, literalsOf, patternCount, ruleViolations } from "./identity-rules.ts";

const relationships = { claimMatch: 1, staticKeys: 2 } as const;

export const identities = defineResource({
  schema: IdentitySchema,
  list: ListIdentitiesRequestSchema,
  parent: groups,
  onParentDelete: "block",
  invalidatesAuthCache: true,
  columns: {
    name: { text: (identity) => identity.name },
    relationship: {
      integer: ({ relationship }) => (relationship.case === undefined ? 0 : relationships[relationship.case]),
    },
    issuer: { text: (identity) => literalsOf(identity).issuer },
    subject: { text: (identity) => literalsOf(identity).subject },
    key_source: { text: keySourceOf },
    has_patterns: { integer: (identity) => Number(patternCount(identity) > 0) },
    last_seen_us: {
      integer: ({ lastSeenTime }) => (lastSeenTime === undefined ? 0 : timestampMs(lastSeenTime) * 1000),
    },
  },
  filters: { name: equalTo("name"), relationshipType: (type) => [{ column: "relationship", equals: type }] },
  restore(identity, row) {
    identity.lastSeenTime = timestampFromMs(Number(row.columns.last_seen_us) / 1000);
  },
  async check(change, context): Promise<void> {
    const environment = environmentOf(context);
    if (change.before === undefined) change.after.lastSeenTime = timestampFromMs(environment.nowMs);
    await requireQuota(identities, change, context); // before patterns are compiled
    const violations = ruleViolations(change, environment);
    if (violations.length > 0) throw invalid(violations);
  },
});

/**
 * @param roleBindings the bindings of identities. They are deleted with an identity, so that revoking is never blocked.
 * @param forget removes a deleted identity from other references to it.
 */
export function identitiesService(
  roleBindings: Resource,
  forget: (uid: string, context: HandlerContext) => Promise<void>,
): MountedService {
  const boundTo = (uid: string) => ({ where: [{ column: "identity_uid", equals: uid }] });
  return implement(IdentitiesService, [identities], {
    async updateIdentity({ identity, updateMask }, context) {
      const body = identity ?? create(IdentitySchema);
      const before = messageOf(identities, await findRow(identities, body.uid, context));
      const row = await updateResource(identities, body.uid, body, updateMask, context);
      if (!isSameRule(before, messageOf(identities, row))) {
        const all = { limit: Number.MAX_SAFE_INTEGER };
        const bindings = await databaseOf(context).list(roleBindings.table, { ...boundTo(body.uid), ...all });
        await requireAllGranted(bindings, context);
      }
      return toResponse(identities, row, context);
    },

    async deleteIdentity(request, context) {
      await removeResource(identities, request, context);
      await removeSelected(roleBindings, boundTo(request.uid), context);
      await forget(request.uid, context);
      return {};
    },

    lookupIdentity: ({ issuer, subject }) =>
      create(LookupIdentityResponseSchema, { uid: userIdentityUid(issuer, subject) }),
  });
}

/** Whether the same tokens act as both. */
function isSameRule(one: Identity, other: Identity): boolean {
  const [a, b] = [one, other].map(({ relationship }) => create(IdentitySchema, { relationship }));
  return equals(IdentitySchema, a!, b!);
}
