/** Group invites of v1. */
import * as v1 from "../../../gen/platform/iam/v1/group_invites_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/group_invites_pb.ts";
import { asUidpFilter, byId, serviceOfV1 } from "./common.ts";

const inRole = { role_uid: "in role", ttl: "only in requests" } as const;
const notShown = "v1 does not show it when an invite is created";

export const groupInvitesOfV1 = serviceOfV1(v1.GroupInvites, {
  messages: [
    {
      older: v1.GroupInviteSchema,
      newer: v2.GroupInviteSchema,
      onlyNewer: { ...inRole, email: notShown, single_use: notShown },
    },
    {
      older: v1.StoredGroupInviteSchema,
      newer: v2.GroupInviteSchema,
      onlyNewer: { ...inRole, code: "shown once, when the invite is created" },
    },
    {
      older: v1.GroupInviteRequestSchema,
      newer: v2.CreateGroupInviteRequestSchema,
      fields: {
        group: "parent",
        ttl: "group_invite.ttl",
        role: "group_invite.role_uid",
        email: "group_invite.email",
        single_use: "group_invite.single_use",
      },
    },
    {
      older: v1.GroupInviteFilterSchema,
      newer: v2.ListGroupInvitesRequestSchema,
      fields: { group: asUidpFilter("childrenOf") },
      onlyOlder: byId,
    },
  ],
  methods: ({ call, list }) => {
    const { createGroupInvite, listGroupInvites, getGroupInvite, deleteGroupInvite } = v2.GroupInvitesService.method;
    return {
      create: (method) => call(method, createGroupInvite),
      list: (method) => list(method, listGroupInvites, { get: getGroupInvite }),
      delete: (method) => call(method, deleteGroupInvite),
    };
  },
});
