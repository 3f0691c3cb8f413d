/**
 * Groups: a root group is an organisation, any other a folder in one. Resources in a group are accessible by grants at
 * the group or above it.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type Group,
  GroupSchema,
  GroupsService,
  ListGroupsRequestSchema,
  OrgKind,
  OrgStatus,
} from "../../../gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingSchema } from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import { authorityOf, callerOf, capabilityNamed, holds, requireCapabilities } from "../../auth/index.ts";
import { alreadyExists, invalid } from "../../errors.ts";
import { type Quotas, quotaOf } from "../../quotas.ts";
import {
  type Change,
  defineResource,
  equalTo,
  holdResource,
  implement,
  insertResource,
  type MountedService,
  messageOf,
  type Resource,
  requireUid,
  storeResource,
  toResponse,
  transactionOf,
} from "../../resource/index.ts";
import { rootOf } from "../../uid.ts";
import { actingIdentity, rootIdentityOf } from "./acting-identity.ts";
import { builtInRoleUid, ownerRole } from "./built-in-roles.ts";
import { lockInstallation } from "./installation-lock.ts";

export const groups = defineResource({
  schema: GroupSchema,
  list: ListGroupsRequestSchema,
  nestsInItself: true,
  onParentDelete: "block",
  columns: { name: { text: (group) => group.name }, verified: { integer: (group) => Number(group.verified) } },
  filters: { name: equalTo("name") },
  async check(change, context) {
    if (change.parent === "") {
      if (change.before === undefined) change.after.status = OrgStatus.READY;
      await checkOrganisation(change, context);
    } else if (change.after.verified || change.after.kind !== OrgKind.UNSPECIFIED) {
      const field = change.after.verified ? "verified" : "kind";
      throw invalid({ field, description: `${field} belongs to root groups; a subgroup has its root's` });
    }
  },
  async hydrate(messages, _rows, session, { quotas }) {
    for (const group of messages) group.resourceLimits = resourceLimits(quotas);
    const inherited = messages.filter((group) => rootOf(group.uid) !== group.uid);
    const roots = await session.getMany(groups.table, [...new Set(inherited.map((group) => rootOf(group.uid)))]);
    for (const group of inherited) {
      const row = roots.get(rootOf(group.uid));
      if (row === undefined) continue;
      const { kind, status } = messageOf(groups, row);
      group.kind = kind;
      group.status = status;
    }
  },
});

/** The quotas that groups show, each with its public name. */
const toldQuotas = {
  groups: "groups",
  identities: "identities",
  roleBindings: "roleBindings",
  subscriptions: "subscriptions",
  repos: "repositories",
  tags: "tags",
} as const;

/** What an organisation can have below it, by the public names of the kinds. Found once for the quotas of a setting. */
function resourceLimits(quotas: Quotas): Record<string, number> {
  let limits = knownLimits.get(quotas);
  if (limits === undefined) {
    const told = Object.entries(toldQuotas).map(([name, publicName]) => [publicName, quotaOf(quotas, name)] as const);
    limits = Object.fromEntries(told.filter(([, limit]) => limit !== Number.POSITIVE_INFINITY));
    knownLimits.set(quotas, limits);
  }
  return { ...limits };
}

const knownLimits = new WeakMap<Quotas, Record<string, number>>();

/** What the groups service needs besides its resource. */
interface GroupsOptions {
  /** Whether every root-level identity may create root groups; otherwise only platform administrators may. */
  readonly openRootGroups: boolean;
  /** Role bindings: the creator of a root group becomes its owner. */
  readonly roleBindings: Resource<typeof RoleBindingSchema>;
}

export function groupsService(options: GroupsOptions): MountedService {
  return implement(GroupsService, [groups], {
    async createGroup(request, context) {
      const { parent } = request;
      if (parent === "") {
        if (!mayOpenRootGroup(options.openRootGroups, context))
          requireCapabilities(context, "", capabilityNamed("groups.create"));
      } else {
        requireUid("parent", parent, groups);
        requireCapabilities(context, parent, capabilityNamed("groups.create"));
        await holdResource(groups, parent, context);
      }
      const row = await insertResource(groups, parent, request.group, context);
      if (parent === "") await makeOwner(options.roleBindings, row.uid, context);
      return toResponse(groups, row, context);
    },
  });
}

/** Whether the caller may create a root group because every root-level identity may. */
export function mayOpenRootGroup(openRootGroups: boolean, context: HandlerContext): boolean {
  return openRootGroups && rootIdentityOf(context) !== undefined && callerOf(context).narrowing === undefined;
}

/** Restricts to holders of `internal`: verifying an organisation, giving it a kind, renaming a verified one. */
async function checkOrganisation({ uid, before, after }: Change<Group>, context: HandlerContext): Promise<void> {
  const isRename = before?.verified === true && before.name !== after.name;
  if (
    after.verified !== (before?.verified ?? false) ||
    after.kind !== (before?.kind ?? OrgKind.UNSPECIFIED) ||
    isRename
  ) {
    requireCapabilities(context, before === undefined ? "" : uid, capabilityNamed("internal"));
  }
  if (!after.verified) {
    if (after.kind !== OrgKind.UNSPECIFIED)
      throw invalid({ field: "kind", description: "kind belongs to verified groups" });
    return;
  }
  if (after.kind === OrgKind.UNSPECIFIED)
    throw invalid({ field: "kind", description: "a verified group needs a kind" });
  const sameName = {
    parent: "",
    where: [
      { column: "name", equals: after.name },
      { column: "verified", equals: 1 },
    ],
  };
  const session = transactionOf(context);
  await lockInstallation(session); // verified names are unique among all organisations
  const rows = await session.list(groups.table, { ...sameName, limit: 2 });
  const other = rows.find((row) => row.uid !== uid);
  if (other === undefined) return;
  // The other group may be of an organisation that the caller must not see.
  const isReadable = holds(authorityOf(context).grants, other.uid, [capabilityNamed("groups.list")]);
  const existing = { type: groups.contract.type, uid: isReadable ? other.uid : "" };
  throw alreadyExists(existing, `verified name ${JSON.stringify(after.name)}`);
}

/** Makes the caller the owner of the group that it has just created. */
async function makeOwner(
  roleBindings: GroupsOptions["roleBindings"],
  group: string,
  context: HandlerContext,
): Promise<void> {
  const binding = create(RoleBindingSchema, {
    identityUid: actingIdentity(group, context),
    roleUid: builtInRoleUid(ownerRole),
  });
  await storeResource(roleBindings, group, binding, context);
}
