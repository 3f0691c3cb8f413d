/** Role bindings of v1. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import * as v1Groups from "../../../gen/platform/iam/v1/groups_pb.ts";
import * as v1 from "../../../gen/platform/iam/v1/role_bindings_pb.ts";
import * as v1Roles from "../../../gen/platform/iam/v1/roles_pb.ts";
import { GroupSchema } from "../../../gen/platform/iam/v2/groups_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import { RoleSchema } from "../../../gen/platform/iam/v2/roles_pb.ts";
import { databaseOf, messageOf, toResponses } from "../../resource/index.ts";
import { groups } from "../iam/groups.ts";
import { roles } from "../iam/roles.ts";
import { byId, serviceOfV1 } from "./common.ts";

const supplied = "supplied from the group";
const noFilter = "no filter of v1";
const bothForms = { identity_uid: "in identity", role_uid: "in role" } as const;

export const roleBindingsOfV1 = serviceOfV1(v1.RoleBindings, {
  messages: [
    {
      older: v1.RoleBindingSchema,
      newer: v2.RoleBindingSchema,
      fields: { identity: "identity_uid", role: "role_uid", group: "group.uid" },
      onlyNewer: { identity: "v1 answers its uid", role: "v1 answers its uid" },
    },
    {
      older: v1.RoleBindingList_BindingSchema,
      newer: v2.RoleBindingSchema,
      fields: {
        identity: "identity.uid",
        email: "identity.email",
        claim_match_issuer: "identity.issuer",
        claim_match_subject: "identity.subject",
      },
      onlyOlder: { email_unverified: "addresses that nobody verified are not shown" },
      onlyNewer: bothForms,
    },
    {
      older: v1Groups.GroupSchema,
      newer: v2.RoleBindingGroupSchema,
      onlyOlder: { resource_limits: supplied, verified: supplied, kind: supplied, status: supplied },
    },
    {
      older: v1.RoleBindingFilterSchema,
      newer: v2.ListRoleBindingsRequestSchema,
      onlyOlder: byId,
      onlyNewer: { identity: noFilter, group: noFilter, role: noFilter },
    },
    {
      older: v1.CreateRoleBindingBatchRequestSchema,
      newer: v2.BatchCreateRoleBindingsRequestSchema,
      onlyOlder: { role_bindings: "becomes requests" },
      onlyNewer: { requests: "made of role_bindings", role_uid: "each binding names its role" },
    },
  ],
  methods: ({ call, replace, list, translate }) => {
    const { createRoleBinding, batchCreateRoleBindings, updateRoleBinding } = v2.RoleBindingsService.method;
    const { listRoleBindings, getRoleBinding, deleteRoleBinding } = v2.RoleBindingsService.method;
    const binding = translate(v1.RoleBindingSchema, v2.RoleBindingSchema);
    const group = translate(v1Groups.GroupSchema, GroupSchema);
    const role = translate(v1Roles.RoleSchema, RoleSchema);

    /** Groups and roles as a whole, where the bindings of v2 tell their names. */
    async function supply(items: readonly v1.RoleBindingList_Binding[], context: HandlerContext): Promise<void> {
      const session = databaseOf(context);
      const uids = (read: (item: v1.RoleBindingList_Binding) => string | undefined) => [
        ...new Set(items.flatMap((item) => read(item) ?? [])),
      ];
      const [groupRows, roleRows] = await Promise.all([
        session.getMany(
          groups.table,
          uids((item) => item.group?.id),
        ),
        session.getMany(
          roles.table,
          uids((item) => item.role?.id),
        ),
      ]);
      const found = await toResponses(groups, [...groupRows.values()], context);
      const groupMessages = new Map(found.map((message) => [message.uid, message]));
      for (const item of items) {
        const groupMessage = groupMessages.get(item.group?.id ?? "");
        const roleRow = roleRows.get(item.role?.id ?? "");
        if (groupMessage !== undefined) item.group = group.toOlder(groupMessage) as v1Groups.Group;
        if (roleRow !== undefined) item.role = role.toOlder(messageOf(roles, roleRow)) as v1Roles.Role;
      }
    }
    return {
      create: (method) => call(method, createRoleBinding),
      createBatch: (method) =>
        call(
          method,
          batchCreateRoleBindings,
          ({ parent, roleBindings }: v1.CreateRoleBindingBatchRequest, query: v2.BatchCreateRoleBindingsRequest) => ({
            ...query,
            requests: roleBindings.map((each) =>
              create(v2.CreateRoleBindingRequestSchema, {
                parent,
                roleBinding: binding.toNewer(each) as v2.RoleBinding,
              }),
            ),
          }),
        ),
      update: (method) => replace(method, updateRoleBinding),
      list: (method) => list(method, listRoleBindings, { get: getRoleBinding, supply }),
      delete: (method) => call(method, deleteRoleBinding),
    };
  },
});
