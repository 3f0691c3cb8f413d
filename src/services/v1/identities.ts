/** Identities of v1. */
import { create } from "@bufbuild/protobuf";
import * as v1 from "../../../gen/platform/iam/v1/identities_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/identities_pb.ts";
import { chain } from "../../awaitable.ts";
import { byId, serviceOfV1 } from "./common.ts";

const onlyHosted = "this server has no identities of this kind; use claim_match or static";
const notShown = "v1 does not show it";

export const identitiesOfV1 = serviceOfV1(v1.Identities, {
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
  ],
  methods: ({ call, replace, list, custom, invoke }) => {
    const { createIdentity, updateIdentity, listIdentities, getIdentity, lookupIdentity, deleteIdentity } =
      v2.IdentitiesService.method;
    return {
      create: (method) => call(method, createIdentity),
      update: (method) => replace(method, updateIdentity),
      list: (method) => list(method, listIdentities, { get: getIdentity }),
      lookup: (method) =>
        custom(method, lookupIdentity, ({ issuer, subject }: v1.LookupRequest, context) =>
          chain(invoke(lookupIdentity, create(v2.LookupIdentityRequestSchema, { issuer, subject }), context), (found) =>
            userIdentity(found as v2.LookupIdentityResponse, issuer, subject),
          ),
        ),
      delete: (method) => call(method, deleteIdentity),
    };
  },
});

/** A user identity as everybody may know it: by the issuer and the subject that its uid is derived from. */
function userIdentity({ uid }: v2.LookupIdentityResponse, issuer: string, subject: string): v1.Identity {
  const claimMatch = create(v1.Identity_ClaimMatchSchema, {
    iss: { case: "issuer", value: issuer },
    sub: { case: "subject", value: subject },
  });
  return create(v1.IdentitySchema, { id: uid, relationship: { case: "claimMatch", value: claimMatch } });
}
