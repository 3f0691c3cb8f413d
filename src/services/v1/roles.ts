/** Roles of v1, whose capabilities are names: `groups.list`. */
import { create } from "@bufbuild/protobuf";
import type { Capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";
import { UidpFilterSchema } from "../../../gen/platform/common/uidp_filter_pb.ts";
import * as v1 from "../../../gen/platform/iam/v1/roles_pb.ts";
import { GroupInviteRoleSchema } from "../../../gen/platform/iam/v2/group_invites_pb.ts";
import { RoleBindingRoleSchema } from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/roles_pb.ts";
import { capabilities as allCapabilities } from "../../auth/index.ts";
import type { Conversion } from "../../translation/index.ts";
import { capabilityOf } from "../iam/roles.ts";
import { byId, serviceOfV1 } from "./common.ts";

const capabilities: Conversion = {
  name: "capabilities",
  toNewer: (names: readonly string[]) => names.map((name, i) => capabilityOf(`capabilities[${i}]`, name)),
  toOlder: (numbers: readonly Capability[]) => numbers.flatMap((number) => allCapabilities.get(number)?.name ?? []),
};

/** A query for the roles of the parent that a filter names; `/`: the built-in ones. */
function withParent({ parent }: v1.RoleFilter, query: v2.ListRolesRequest): v2.ListRolesRequest {
  if (parent === "") return query;
  const { uidp = create(UidpFilterSchema) } = query;
  if (parent === "/") return { ...query, uidp: { ...uidp, inRoot: true } };
  // Nothing is below two groups, nor below one and at the root.
  const isElsewhere = uidp.childrenOf !== undefined && uidp.childrenOf !== parent;
  return { ...query, uidp: { ...uidp, childrenOf: parent, inRoot: isElsewhere || uidp.inRoot } };
}

export const rolesOfV1 = serviceOfV1(v1.Roles, {
  messages: [
    { older: v1.RoleSchema, newer: v2.RoleSchema, fields: { capabilities } },
    { older: v1.RoleSchema, newer: GroupInviteRoleSchema, fields: { capabilities } },
    {
      older: v1.RoleSchema,
      newer: RoleBindingRoleSchema,
      onlyOlder: { capabilities: "supplied from the role" },
    },
    {
      older: v1.RoleFilterSchema,
      newer: v2.ListRolesRequestSchema,
      onlyOlder: { ...byId, parent: "becomes uidp.children_of" },
    },
  ],
  methods: ({ call, replace, list }) => {
    const { createRole, updateRole, listRoles, getRole, deleteRole } = v2.RolesService.method;
    return {
      create: (method) => call(method, createRole),
      update: (method) => replace(method, updateRole),
      list: (method) => list(method, listRoles, { get: getRole, isPublic: true, complete: withParent }),
      delete: (method) => call(method, deleteRole),
    };
  },
});
