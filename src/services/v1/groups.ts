/** Groups of v1. */
import { create } from "@bufbuild/protobuf";
import * as v1 from "../../../gen/platform/iam/v1/groups_pb.ts";
import { GroupsService, ListGroupsRequestSchema } from "../../../gen/platform/iam/v2/groups_pb.ts";
import { authorityOf, capabilityNamed, holds } from "../../auth/index.ts";
import { failedPrecondition } from "../../errors.ts";
import { mayOpenRootGroup } from "../iam/groups.ts";
import { byId, serviceOfV1 } from "./common.ts";

/** @param openRootGroups whether everybody may create an organisation. */
export function groupsOfV1(openRootGroups: boolean) {
  const { getGroup, createGroup, updateGroup, listGroups, deleteGroup } = GroupsService.method;
  return serviceOfV1(v1.Groups, {
    messages: [{ older: v1.GroupFilterSchema, newer: ListGroupsRequestSchema, onlyOlder: byId }],
    methods: ({ call, replace, list, custom }) => ({
      create: (method) => call(method, createGroup),
      update: (method) => replace(method, updateGroup),
      list: (method) => list(method, listGroups, { get: getGroup }),
      delete: (method) => call(method, deleteGroup),
      lookupGroup: (method) => custom(method, undefined, noDomains),
      requestGroupAccess: (method) => custom(method, undefined, noDomains),
      checkEligibility: (method) =>
        custom(method, undefined, (_request, context) => {
          const mayCreate = holds(authorityOf(context).grants, "", [capabilityNamed("groups.create")]);
          return create(v1.CheckEligibilityResponseSchema, {
            eligible: mayCreate || mayOpenRootGroup(openRootGroups, context),
          });
        }),
    }),
  });
}

const noDomains = () => {
  throw failedPrecondition([
    {
      type: "NOT_SERVED_HERE",
      subject: "groups",
      description:
        "this server knows no e-mail domains of organisations, so nobody can find or ask to join one by an address; ask for a group invite",
    },
  ]);
};
