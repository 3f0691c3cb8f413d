/** Identities of v1. */
import * as v1 from "../../../gen/platform/iam/v1/identities_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/identities_pb.ts";
import { byId, type ServiceOfV1, serviceOfV1 } from "./common.ts";

const onlyHosted = "this server has no identities of this kind; use claim_match or static";
const notShown = "v1 does not show it";

export const identitiesOfV1: ServiceOfV1 = {
  tables: {
    messages: [
      {
        older: v1.IdentitySchema,
        newer: v2.IdentitySchema,
        fields: { static: "static_keys", last_seen: "last_seen_time" },
        refused: { service_principal: onlyHosted, aws_identity: onlyHosted },
        onlyNewer: { email: notShown, email_unverified: notShown, company: notShown },
      },
      {
        older: v1.IdentityFilterSchema,
        newer: v2.ListIdentitiesRequestSchema,
        onlyOlder: byId,
        onlyNewer: { name: "no filter of v1", relationship_type: "no filter of v1" },
      },
      {
        older: v1.IdentitySchema,
        newer: v2.LookupIdentityResponseSchema,
        onlyOlder: Object.fromEntries(
          v1.IdentitySchema.fields.flatMap(({ name }) =>
            name === "id" ? [] : [[name, "a lookup tells the id alone"]],
          ),
        ),
      },
    ],
  },
  mount: ({ call, replace, list }) => {
    const { createIdentity, updateIdentity, listIdentities, getIdentity, lookupIdentity, deleteIdentity } =
      v2.IdentitiesService.method;
    return serviceOfV1(v1.Identities, {
      create: (method) => call(method, createIdentity),
      update: (method) => replace(method, updateIdentity),
      list: (method) => list(method, listIdentities, { get: getIdentity }),
      lookup: (method) => call(method, lookupIdentity),
      delete: (method) => call(method, deleteIdentity),
    });
  },
};
