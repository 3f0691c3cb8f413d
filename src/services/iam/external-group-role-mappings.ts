/**
 * External group role mappings: a user who signs in through an identity provider and is in one of its groups has a role
 * in the organisation of the provider, for that token only. A mapping is not a role binding and is not listed as one.
 */
import { create } from "@bufbuild/protobuf";
import {
  BatchDeleteExternalGroupRoleMappingsResponseSchema,
  type ExternalGroupRoleMapping,
  ExternalGroupRoleMappingSchema,
  ExternalGroupRoleMappingsService,
  ListExternalGroupRoleMappingsRequestSchema,
} from "../../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { type FieldViolation, invalid } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  equalTo,
  implement,
  messageOf,
  removeRow,
  requireResource,
} from "../../resource/index.ts";
import { parentOf, rootOf } from "../../uid.ts";
import { grantableRole, requireGrantable } from "./grantable-roles.ts";
import { identityProviders } from "./identity-providers.ts";

export const externalGroupRoleMappings = defineResource({
  schema: ExternalGroupRoleMappingSchema,
  list: ListExternalGroupRoleMappingsRequestSchema,
  parent: identityProviders,
  onParentDelete: "cascade",
  invalidatesAuthCache: true,
  columns: {
    external_group_id: { text: (mapping) => mapping.externalGroupId },
    role_uid: { text: (mapping) => mapping.roleUid },
  },
  filters: { identityProviderUid: equalTo("parent") },
  async check({ parent, after }, context) {
    const organisation = rootOf(parent);
    after.identityProviderUid = parent;
    after.scope ||= organisation;
    const role = await grantableRole(databaseOf(context), after.roleUid, organisation);
    const violations: FieldViolation[] = [];
    if (role === undefined) {
      violations.push({ field: "role_uid", description: "no role that can be bound in this group" });
    }
    if (after.scope !== organisation) {
      violations.push({ field: "scope", description: "must be the provider's root group" });
    }
    if (violations.length > 0 || role === undefined) throw invalid(violations);
    requireGrantable(role, organisation, context);
  },
  unique: ["external_group_id", "role_uid"], // all mappings of a provider have one scope
});

export const externalGroupRoleMappingsService = implement(
  ExternalGroupRoleMappingsService,
  [externalGroupRoleMappings],
  {
    async batchDeleteExternalGroupRoleMappings({ parent, names }, context) {
      await requireResource(identityProviders, parent, context);
      const violations = names.flatMap((name, i): FieldViolation[] =>
        parentOf(name) === parent ? [] : [{ field: `names[${i}]`, description: "must be a mapping of the parent" }],
      );
      if (violations.length > 0) throw invalid(violations);
      const deleted: ExternalGroupRoleMapping[] = [];
      for (const name of names) {
        const row = await removeRow(externalGroupRoleMappings, name, context);
        if (row !== undefined) deleted.push(messageOf(externalGroupRoleMappings, row));
      }
      return create(BatchDeleteExternalGroupRoleMappingsResponseSchema, {
        parent,
        externalGroupRoleMappings: deleted,
      });
    },
  },
);
