/** Groups: a root group is an organisation, every other a folder in one. What lives in a group is reached through grants at or above it. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type CreateGroupRequest,
  type DeleteGroupRequest,
  type Group,
  GroupSchema,
  GroupsService,
  ListGroupsRequestSchema,
  OrgKind,
  OrgStatus,
} from "../../../gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingSchema } from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import { authorityOf, callerOf, capabilityNamed, holds, requireCapabilities } from "../../auth/index.ts";
import { alreadyExists, failedPrecondition, invalid } from "../../errors.ts";
import {
  type Change,
  databaseOf,
  defineResource,
  equalTo,
  implement,
  insertResource,
  messageOf,
  present,
  type Resource,
  removeResource,
  removeSelected,
  requireResource,
  requireUid,
  type ServiceImplementation,
  standardMethods,
  storeResource,
} from "../../resource/index.ts";
import { rootOf } from "../../uid.ts";
import { builtInRoleUid, ownerRole } from "./built-in-roles.ts";

export const groups = defineResource({
  schema: GroupSchema,
  list: ListGroupsRequestSchema,
  facets: { name: { text: (group) => group.name }, verified: { integer: (group) => Number(group.verified) } },
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
  async hydrate(messages, _rows, session) {
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

/** What the groups service needs to know of the rest of the product. */
export interface GroupsOptions {
  /** Whether every root-level identity may create root groups; otherwise only platform administrators may. */
  readonly openRootGroups: boolean;
  /** What keeps a group from being deleted, in the order in which it is reported. */
  readonly blockedBy: readonly Resource[];
  /** What is deleted together with a group. */
  readonly deletedWith: readonly Resource[];
  /** Role bindings: the creator of a root group becomes its owner. */
  readonly roleBindings: Resource<typeof RoleBindingSchema>;
}

export function groupsService(options: GroupsOptions): ServiceImplementation {
  return implement(GroupsService, standardMethods(GroupsService, groups), {
    async createGroup(request: CreateGroupRequest, context) {
      const { parent } = request;
      if (parent === "") {
        const { subject, narrowing } = callerOf(context);
        const mayCreateRoots = options.openRootGroups && !subject.includes("/") && narrowing === undefined;
        if (!mayCreateRoots) requireCapabilities(context, "", capabilityNamed("groups.create"));
      } else {
        requireUid("parent", parent, groups);
        requireCapabilities(context, parent, capabilityNamed("groups.create"));
        await requireResource(groups, parent, context);
      }
      const row = await insertResource(groups, parent, request.group, context);
      if (parent === "") await makeOwner(options.roleBindings, row.uid, context);
      return present(groups, row, context);
    },

    async deleteGroup(request: DeleteGroupRequest, context) {
      await requireResource(groups, request.uid, context);
      const within = [{ root: request.uid, self: false }];
      const violations = [];
      for (const { table, contract } of options.blockedBy) {
        if (!(await databaseOf(context).exists(table, { within }))) continue;
        const plural = contract.plural.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
        violations.push({
          type: "RESOURCE_NOT_EMPTY",
          subject: request.uid,
          description: `cannot delete group with child ${plural}`,
        });
      }
      if (violations.length > 0) throw failedPrecondition(violations);
      const withGroup = [{ root: request.uid, self: true }]; // what has the group's own uid goes too
      for (const resource of options.deletedWith) await removeSelected(resource, { within: withGroup }, context);
      await removeResource(groups, request, context);
      return {};
    },
  });
}

/** What only holders of `internal` may do: verify an organisation, give it a kind, rename a verified one. */
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
  const rows = await databaseOf(context).list(groups.table, {
    ...sameName,
    orderBy: [{ column: "uid", descending: false }],
    skip: 0,
    limit: 2,
  });
  const other = rows.find((row) => row.uid !== uid);
  if (other === undefined) return;
  const isReadable = holds(authorityOf(context).grants, other.uid, [capabilityNamed("groups.list")]);
  const existing = { type: groups.contract.type, uid: isReadable ? other.uid : "" }; // an organisation of somebody else's
  throw alreadyExists(existing, `verified name ${JSON.stringify(after.name)}`);
}

/** Grants by construction: it runs only where the caller has just made the group. */
async function makeOwner(
  roleBindings: GroupsOptions["roleBindings"],
  group: string,
  context: HandlerContext,
): Promise<void> {
  const binding = create(RoleBindingSchema, {
    identityUid: callerOf(context).subject,
    roleUid: builtInRoleUid(ownerRole),
  });
  await storeResource(roleBindings, group, binding, context);
}
