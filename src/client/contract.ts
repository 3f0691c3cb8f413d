/**
 * The messages, enums and services of version 2 of the API, from its descriptors. A new file of the contract needs a
 * line here, and nothing else in this module.
 */
export * from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
// Two packages have a message of this name.
export {
  type Severity as MetadataSeverity,
  Severity_Type as MetadataSeverity_Type,
  Severity_TypeSchema as MetadataSeverity_TypeSchema,
  SeveritySchema as MetadataSeveritySchema,
} from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
export * from "../../gen/platform/capabilities/capabilities_pb.ts";
export * from "../../gen/platform/common/uidp_filter_pb.ts";
export * from "../../gen/platform/events/v2/subscriptions_pb.ts";
export * from "../../gen/platform/iam/v2/account_associations_pb.ts";
export * from "../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
export * from "../../gen/platform/iam/v2/group_invites_pb.ts";
export * from "../../gen/platform/iam/v2/groups_pb.ts";
export * from "../../gen/platform/iam/v2/identities_pb.ts";
export * from "../../gen/platform/iam/v2/identity_providers_pb.ts";
export * from "../../gen/platform/iam/v2/role_bindings_pb.ts";
export * from "../../gen/platform/iam/v2/roles_pb.ts";
export * from "../../gen/platform/iam/v2/terms_pb.ts";
export * from "../../gen/platform/libraries/v2/artifacts_pb.ts";
export * from "../../gen/platform/ping/v2/ping_pb.ts";
export * from "../../gen/platform/registry/v2/images_pb.ts";
export * from "../../gen/platform/registry/v2/repos_pb.ts";
export * from "../../gen/platform/registry/v2/tags_pb.ts";
export * from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
export {
  type Severity,
  Severity_Type,
  Severity_TypeSchema,
  SeveritySchema,
} from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
