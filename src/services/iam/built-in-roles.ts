/** The roles that every installation has. Their uids are derived from their names, and the same everywhere. */
import { create, equals } from "@bufbuild/protobuf";
import type { Capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";
import { type Role, RoleSchema } from "../../../gen/platform/iam/v2/roles_pb.ts";
import { capabilities, capabilityNamed } from "../../auth/index.ts";
import { fixedUid } from "../../new-uid.ts";

/** Every capability everywhere; only the first administrator has it. */
export const administratorRole = "platform.admin";
/** Its uid. */
export const administratorRoleUid = builtInRoleUid(administratorRole);
/** The role of the creator of a root group in that group. */
export const ownerRole = "owner";

const consoleViewer = names(
  "account_associations.list advisories.list apk.list build_report.list findings.list group_invites.list groups.list identity.list identity_providers.list",
  "libraries.artifacts.list libraries.entitlements.list manifest.list manifest.metadata.list record_signatures.list referrers.list",
  "registry.settings.list repo.list role_bindings.list roles.list sboms.list subscriptions.list tag.list version.list vuln_report.list",
  "vuln_reports.list",
);
const viewer = names(...consoleViewer, "apk.blobs.get repo.blobs.get terms.list");
const editor = names(
  ...viewer,
  "repo.create repo.delete repo.update subscriptions.create subscriptions.delete subscriptions.update",
);
const owner = names(
  ...editor,
  "account_associations.create account_associations.delete account_associations.update apk.create apk.delete audit.list",
  "group_invites.create group_invites.delete groups.create groups.delete groups.update identity.create identity.delete identity.update",
  "identity_providers.create identity_providers.delete identity_providers.update identity_providers.scim.manage",
  "libraries.entitlements.create libraries.entitlements.delete libraries.java.create libraries.java.list libraries.python.create",
  "libraries.python.list libraries.javascript.create libraries.javascript.list manifest.create manifest.delete manifest.update",
  "repo.check_policies role_bindings.create role_bindings.delete role_bindings.update roles.create roles.delete roles.update tag.create",
  "sboms.create tag.delete tag.update terms.accept vex.create vuln.create vuln_report.create",
  "analyses.create analyses.delete analyses.update",
);
const registryPull = names(
  "groups.list manifest.list manifest.metadata.list record_signatures.list referrers.list repo.blobs.get repo.list sboms.list tag.list",
  "vuln_reports.list",
);
const repoWrites = "repo.create repo.delete repo.update";
const apkPull = names("apk.blobs.get apk.list groups.list");
const tokenCreation = "identity.create role_bindings.create roles.list";
const libraries = ["java", "python", "javascript"] as const;

const sets: Readonly<Record<string, readonly string[]>> = {
  [administratorRole]: [...capabilities.values()].map(({ name }) => name),
  [ownerRole]: owner,
  editor,
  viewer,
  console_viewer: consoleViewer,
  limited_owner: names(...viewer, "identity.create role_bindings.create"),
  "registry.pull": registryPull,
  "registry.editor": names(...registryPull, repoWrites),
  "registry.push": names(
    ...registryPull,
    `groups.create manifest.create manifest.delete manifest.update ${repoWrites} tag.create tag.delete tag.update`,
  ),
  "registry.pull_token_creator": names(...registryPull, ...apkPull, tokenCreation),
  "apk.pull": apkPull,
  "apk.push": names(...apkPull, "apk.create apk.delete"),
  ...Object.fromEntries(
    libraries.flatMap((ecosystem) => {
      const pull = names(`libraries.entitlements.list libraries.${ecosystem}.list`);
      return [
        [`libraries.${ecosystem}.pull`, pull],
        [`libraries.${ecosystem}.pull_token_creator`, names(...pull, "groups.list", tokenCreation)],
      ];
    }),
  ),
  "advisories.viewer": names("advisories.list"),
  "advisories.creator": names("advisories.create advisories.list advisories.update"),
  "advisories.approver": names("advisories.approve advisories.create advisories.list advisories.update"),
  "advisories.admin": names("advisories.approve advisories.create advisories.delete advisories.list advisories.update"),
};

/** The built-in roles by uid; the messages have no times. */
export const builtInRoles: ReadonlyMap<string, Role> = new Map(
  Object.entries(sets).map(([name, set]) => {
    const role = create(RoleSchema, {
      name,
      description: `${titleOf(name)} Role (built-in)`,
      capabilities: [...new Set(set)]
        .map((capability): Capability => capabilityNamed(capability))
        .sort((a, b) => a - b),
    });
    return [builtInRoleUid(name), role];
  }),
);

/** The uid of a built-in role. */
export function builtInRoleUid(name: string): string {
  return fixedUid("role", name);
}

/** Whether a stored role equals this version of it. */
export function isCurrent(stored: Role, role: Role): boolean {
  return equals(
    RoleSchema,
    create(RoleSchema, { name: stored.name, description: stored.description, capabilities: stored.capabilities }),
    role,
  );
}

function names(...lists: readonly string[]): string[] {
  return lists.flatMap((list) => list.split(" "));
}

function titleOf(name: string): string {
  return name.replace(
    /(^|[._])([a-z])/g,
    (_, separator: string, letter: string) => `${separator && " "}${letter.toUpperCase()}`,
  );
}
