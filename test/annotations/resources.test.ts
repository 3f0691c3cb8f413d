import { expect, test } from "vitest";
import { GroupSchema } from "../../gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingSchema } from "../../gen/platform/iam/v2/role_bindings_pb.ts";
import { GetRepoRequestSchema, RepoSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import { readBehaviors, readResource } from "../../src/contract/index.ts";

const names = (fields: ReadonlySet<{ name: string }>) => [...fields].map(({ name }) => name);

test.each([
  [RepoSchema, "registry.platform.internal/Repo", "Repo", "repos"],
  [GroupSchema, "iam.platform.internal/Group", "Group", "groups"],
  [RoleBindingSchema, "iam.platform.internal/RoleBinding", "RoleBinding", "roleBindings"],
])("$typeName", (schema, type, kind, plural) => {
  expect(readResource(schema)).toMatchObject({ schema, type, kind, plural });
});

test("a message that is no resource is refused", () => {
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

test("is read once", () => {
  expect(readBehaviors(RepoSchema)).toBe(readBehaviors(RepoSchema));
});
