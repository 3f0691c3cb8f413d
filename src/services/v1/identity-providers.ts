/** Identity providers of v1. */
import * as v1 from "../../../gen/platform/iam/v1/identity_providers_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/identity_providers_pb.ts";
import { byId, serviceOfV1 } from "./common.ts";
import { provisioningMethods, supplyProvisioning } from "./provisioning.ts";

export const identityProvidersOfV1 = serviceOfV1(v1.IdentityProviders, {
  messages: [
    {
      older: v1.IdentityProviderSchema,
      newer: v2.IdentityProviderSchema,
      onlyOlder: { scim: "set by the methods for SCIM" },
    },
    { older: v1.IdentityProviderFilterSchema, newer: v2.ListIdentityProvidersRequestSchema, onlyOlder: byId },
  ],
  methods(translations) {
    const { call, replace, list } = translations;
    const { createIdentityProvider, updateIdentityProvider, listIdentityProviders } =
      v2.IdentityProvidersService.method;
    const { getIdentityProvider, deleteIdentityProvider } = v2.IdentityProvidersService.method;
    return {
      create: (method) => call(method, createIdentityProvider),
      update: (method) => replace(method, updateIdentityProvider),
      list: (method) => list(method, listIdentityProviders, { get: getIdentityProvider, supply: supplyProvisioning }),
      delete: (method) => call(method, deleteIdentityProvider),
      ...provisioningMethods(translations),
    };
  },
});
