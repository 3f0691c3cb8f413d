import { create, type DescField, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { resource } from "../../gen/google/api/resource_pb.ts";
import { is_set } from "../../gen/platform/annotations/annotations_pb.ts";
import { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { AccountAssociationSchema } from "../../gen/platform/iam/v2/account_associations_pb.ts";
import { GroupSchema } from "../../gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "../../gen/platform/iam/v2/role_bindings_pb.ts";
import { RoleSchema } from "../../gen/platform/iam/v2/roles_pb.ts";
import { GetRepoRequestSchema, RepoSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import {
  AdvisoryEvent_PatchedSchema,
  AdvisoryEventSchema,
  AdvisorySchema,
} from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { keepDistinct, readBehaviors, readResource } from "../../src/contract/index.ts";
import { expectNoFaults } from "../faults.ts";
import { generatedServices, protoFile } from "./generated.ts";

const names = (fields: ReadonlySet<{ name: string }>) => [...fields].map(({ name }) => name);

test.each([
  [RepoSchema, "registry.platform.internal/Repo", "Repo", "repos"],
  [GroupSchema, "iam.platform.internal/Group", "Group", "groups"],
  [RoleBindingSchema, "iam.platform.internal/RoleBinding", "RoleBinding", "roleBindings"],
])("$typeName", (schema, type, kind, plural) => {
  expect(readResource(schema)).toMatchObject({ schema, type, kind, plural });
});

test("a message that is not a resource is refused", () => {
  expect(() => readResource(GetRepoRequestSchema)).toThrow(
    "platform.registry.v2.GetRepoRequest has no google.api.resource",
  );
});

test("the behaviour of fields, of the message's own only", () => {
  const { outputOnly, immutable, inputOnly } = readResource(RepoSchema).behaviors;
  expect(names(outputOnly)).toEqual(["uid", "create_time", "update_time"]);
  expect([names(immutable), names(inputOnly)]).toEqual([[], []]);
  const syncConfig = RepoSchema.field.syncConfig.message;
  expect(names(readBehaviors(syncConfig!).outputOnly)).toEqual([
    "unique_tags",
    "expiration_time",
    "build_overlay",
    "grace_period",
  ]);
});

/** Repeated scalars and enums that are not sets, in a message and all that it holds. */
function listsIn(schema: DescMessage, seen = new Set<DescMessage>()): DescField[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  return schema.fields.flatMap((field) => {
    if (field.message !== undefined) return listsIn(field.message, seen);
    return field.fieldKind === "list" && !getOption(field, is_set) ? [field] : [];
  });
}

test("repeated values that a resource stores are sets, declared as such", () => {
  const files = new Set(generatedServices.map(({ file }) => file));
  const resources = [...files].flatMap(({ messages }) => messages.filter((message) => hasOption(message, resource)));
  expect(resources.length).toBeGreaterThan(15);
  const computed = ["ResolvedVuln.aliases", "GroupInviteRole.capabilities"]; // stored nowhere
  const lists = resources
    .flatMap((schema) => listsIn(schema))
    .filter(({ parent, name }) => !computed.includes(`${parent.name}.${name}`));
  expectNoFaults(
    lists.map(
      (field) => `${protoFile(field.parent)}: ${field.parent.name}.${field.name} needs (platform.annotations.is_set)`,
    ),
  );
});

test("a set has each value once, where it was first given, at every depth", () => {
  const [one, two] = [Capability.CAP_REPO_LIST, Capability.CAP_IAM_GROUPS_LIST];
  const role = create(RoleSchema, { capabilities: [one, two, one, two, two] });
  keepDistinct(RoleSchema, role);
  expect(role.capabilities).toEqual([one, two]);
  const rule = { issuer: "https://i", audiences: ["a", "a"] };
  const identity = create(IdentitySchema, { relationship: { case: "staticKeys", value: rule } });
  keepDistinct(IdentitySchema, identity);
  expect(identity.relationship.value).toMatchObject({ audiences: ["a"] });
  const installations = [1n, 2n, 1n].map((installationId) => ({ installationId, name: "x" }));
  const other = { installationId: 1n, name: "y" };
  const github = { appInstallations: { 7: { installations: [...installations, other] } } };
  const association = create(AccountAssociationSchema, { github });
  keepDistinct(AccountAssociationSchema, association);
  expect(association.github?.appInstallations[7]?.installations).toMatchObject([...installations.slice(0, 2), other]);
  const patched = create(AdvisoryEvent_PatchedSchema, { patchedVersions: ["1", "2", "1"] });
  const events = [create(AdvisoryEventSchema, { type: { case: "patched", value: patched } })];
  const advisory = create(AdvisorySchema, { aliases: ["A", "B", "A"], events });
  keepDistinct(AdvisorySchema, advisory);
  expect(advisory.aliases).toEqual(["A", "B"]);
  expect(advisory.events[0]?.type.value).toMatchObject({ patchedVersions: ["1", "2"] });
});

test("is read once", () => {
  expect(readBehaviors(RepoSchema)).toBe(readBehaviors(RepoSchema));
});
