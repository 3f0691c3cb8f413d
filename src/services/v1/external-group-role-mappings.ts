/** External group role mappings of v1. */
import * as v1 from "../../../gen/platform/iam/v1/external_group_role_mappings_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { serviceOfV1 } from "./common.ts";

export const externalGroupRoleMappingsOfV1 = serviceOfV1(v1.ExternalGroupRoleMappings, {
  messages: [
    {
      older: v1.ExternalGroupRoleMappingSchema,
      newer: v2.ExternalGroupRoleMappingSchema,
      fields: { identity_provider_uidp: "identity_provider_uid", role_uidp: "role_uid" },
    },
    {
      older: v1.ExternalGroupRoleMappingFilterSchema,
      newer: v2.ListExternalGroupRoleMappingsRequestSchema,
      fields: { identity_provider_uidp: "identity_provider_uid" },
    },
    {
      older: v1.CreateExternalGroupRoleMappingRequestSchema,
      newer: v2.CreateExternalGroupRoleMappingRequestSchema,
      fields: { mapping: "external_group_role_mapping" },
    },
    {
      older: v1.BatchDeleteExternalGroupRoleMappingsRequestSchema,
      newer: v2.BatchDeleteExternalGroupRoleMappingsRequestSchema,
      fields: { ids: "names" },
    },
    {
      older: v1.BatchDeleteExternalGroupRoleMappingsResponseSchema,
      newer: v2.BatchDeleteExternalGroupRoleMappingsResponseSchema,
      fields: { items: "external_group_role_mappings" },
    },
  ],
  methods: ({ call, list }) => {
    const { createExternalGroupRoleMapping, getExternalGroupRoleMapping, listExternalGroupRoleMappings } =
      v2.ExternalGroupRoleMappingsService.method;
    const { deleteExternalGroupRoleMapping, batchDeleteExternalGroupRoleMappings } =
      v2.ExternalGroupRoleMappingsService.method;
    return {
      create: (method) => call(method, createExternalGroupRoleMapping),
      get: (method) => call(method, getExternalGroupRoleMapping),
      list: (method) => list(method, listExternalGroupRoleMappings),
      delete: (method) => call(method, deleteExternalGroupRoleMapping),
      batchDelete: (method) => call(method, batchDeleteExternalGroupRoleMappings),
    };
  },
});
