/** Which events a call emits, by the real contract and made-up changes. */
import { create, createRegistry, type DescMessage, type DescMethod, type Message } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { SubscriptionSchema, SubscriptionsService } from "../../gen/platform/events/v2/subscriptions_pb.ts";
import {
  AccountAssociationSchema,
  AccountAssociationsService,
} from "../../gen/platform/iam/v2/account_associations_pb.ts";
import {
  ExternalGroupRoleMappingSchema,
  ExternalGroupRoleMappingsService,
} from "../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { GroupInviteSchema, GroupInvitesService } from "../../gen/platform/iam/v2/group_invites_pb.ts";
import { GroupSchema, GroupsService } from "../../gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { IdentityProviderSchema, IdentityProvidersService } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { RoleBindingSchema, RoleBindingsService } from "../../gen/platform/iam/v2/role_bindings_pb.ts";
import { TermsAcceptanceSchema, TermsService } from "../../gen/platform/iam/v2/terms_pb.ts";
import { RepoReadmeSchema, RepoSchema, ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { TagSchema, TagsService } from "../../gen/platform/registry/v2/tags_pb.ts";
import { readContract, readResource } from "../../src/contract/index.ts";
import { type ChangedResource, createCallEvents } from "../../src/delivery/index.ts";
import { contractServices } from "../../src/services/index.ts";

const root = "0123456789abcdef0123456789abcdef01234567";
const group = `${root}/1111111111111111`;
const repo = `${group}/2222222222222222`;
const provider = `${root}/3333333333333333`;
const actor = { subject: "abc", act: { iss: "https://issuer.example.com" } };
const { ofCall, ofChanges } = createCallEvents({
  contract: readContract(contractServices),
  baseUrl: "https://platform.example.com",
  typeRegistry: createRegistry(...contractServices.map(({ file }) => file)),
});

function change(
  kind: ChangedResource["kind"],
  schema: DescMessage,
  uid: string,
  holder: DescMessage | null = GroupSchema,
): ChangedResource {
  const message = create(schema, { uid } as never);
  return {
    kind,
    resource: readResource(schema),
    holder: holder === null ? undefined : readResource(holder),
    uid,
    read: async () => message,
  };
}

/** The events of a call, without what all of them share. */
async function eventsOf(method: DescMethod, request: object, response: Message, changes: ChangedResource[]) {
  const message = create(method.input, request as never);
  const events = await ofCall({ method, request: message, response, changes, actorAt: () => actor, timeMs: 5 });
  for (const { timeMs, data } of events) expect([timeMs, JSON.parse(data).actor]).toEqual([5, actor]);
  return events.map(({ type, source, subject, extensions, data }) => ({
    type: type.replace(/^dev\.platform\.api\./, ""),
    source: source.replace("https://platform.example.com", ""),
    subject,
    ...extensions,
    body: JSON.parse(data).body,
  }));
}

describe("subject, source and attributes", () => {
  const noMessage = create(GroupSchema);
  test.each<[string, DescMethod, object, DescMessage, ChangedResource, object]>([
    [
      "a group is its own group",
      GroupsService.method.createGroup,
      {},
      GroupSchema,
      change("created", GroupSchema, group, null),
      { type: "iam.group.created.v1", source: "/iam/v2/groups", subject: group, group },
    ],
    [
      "the group of a deleted group is its parent",
      GroupsService.method.deleteGroup,
      { uid: group },
      GroupSchema,
      change("deleted", GroupSchema, group, null),
      { type: "iam.group.deleted.v1", subject: group, group: root, bodytype: "platform.iam.v2.DeleteGroupRequest" },
    ],
    [
      "a deleted root group has no parent",
      GroupsService.method.deleteGroup,
      { uid: root },
      GroupSchema,
      change("deleted", GroupSchema, root, null),
      { subject: root, group: "/" },
    ],
    [
      "a resource in a group has that group",
      ReposService.method.updateRepo,
      {},
      RepoSchema,
      change("updated", RepoSchema, repo),
      { type: "platform.registry.repo.updated.v1", source: "/registry/v2/repos", subject: repo, group },
    ],
    [
      "a readme has the event of its repo",
      ReposService.method.updateRepoReadme,
      {},
      RepoReadmeSchema,
      change("updated", RepoReadmeSchema, repo),
      { type: "platform.registry.repo.updated.v1", source: "/registry/v2/repos", subject: repo, group },
    ],
    [
      "a resource in another resource has the root group",
      TagsService.method.createTag,
      {},
      TagSchema,
      change("updated", TagSchema, `${repo}/4444444444444444`, RepoSchema),
      { type: "platform.registry.tag.created.v1", group: root },
    ],
    [
      "a mapping names its provider",
      ExternalGroupRoleMappingsService.method.createExternalGroupRoleMapping,
      {},
      ExternalGroupRoleMappingSchema,
      change("created", ExternalGroupRoleMappingSchema, `${provider}/4444444444444444`, IdentityProviderSchema),
      { type: "iam.external_group_role_mappings.created.v1", group: root, identityprovider: provider },
    ],
    [
      "an association has the uid of its group",
      AccountAssociationsService.method.updateAccountAssociation,
      {},
      AccountAssociationSchema,
      change("updated", AccountAssociationSchema, group, null),
      { subject: group, group },
    ],
  ])("%s", async (_title, method, request, schema, changed, expected) => {
    const response = changed.kind === "deleted" ? noMessage : create(schema);
    expect(await eventsOf(method, request, response, [changed])).toEqual([expect.objectContaining(expected)]);
  });
});

test("a method on several resources emits one event, for its scope", async () => {
  const bindings = [1, 2].map((n) => change("created", RoleBindingSchema, `${group}/${String(n).repeat(16)}`));
  const { batchCreateRoleBindings } = RoleBindingsService.method;
  const response = create(batchCreateRoleBindings.output, { roleBindings: [{ uid: "a" }] });
  expect(await eventsOf(batchCreateRoleBindings, { parent: group }, response, bindings)).toMatchObject([
    {
      type: "iam.rolebindings.created.batch.v1",
      source: "/iam/v2/roleBindings:batchCreate",
      subject: group,
      group,
      bodytype: "platform.iam.v2.BatchCreateRoleBindingsResponse",
      body: { roleBindings: [{ uid: "a" }] },
    },
  ]);
  const mapping = change(
    "deleted",
    ExternalGroupRoleMappingSchema,
    `${provider}/4444444444444444`,
    IdentityProviderSchema,
  );
  const { batchDeleteExternalGroupRoleMappings: batchDelete } = ExternalGroupRoleMappingsService.method;
  expect(await eventsOf(batchDelete, { parent: provider }, create(batchDelete.output), [mapping])).toMatchObject([
    {
      type: "iam.external_group_role_mappings.deleted.batch.v1",
      subject: provider,
      group: root,
      identityprovider: provider,
    },
  ]);
  const { acceptTerms } = TermsService.method;
  const acceptances = [1, 2].map((n) => change("created", TermsAcceptanceSchema, `${group}/${String(n).repeat(16)}`));
  expect(await eventsOf(acceptTerms, { group }, create(acceptTerms.output, { group }), acceptances)).toMatchObject([
    { type: "iam.terms.accepted.v1", source: "/iam/v2/terms", subject: group, group },
  ]);
});

test("resources changed with another have events of their own types, if there are any", async () => {
  const binding = `${group}/5555555555555555`;
  const invite = `${group}/6666666666666666`;
  const { createGroup, deleteGroup } = GroupsService.method;
  const made = [change("created", GroupSchema, root, null), change("created", RoleBindingSchema, binding)];
  expect(await eventsOf(createGroup, {}, create(GroupSchema, { uid: root }), made)).toMatchObject([
    { type: "iam.group.created.v1", body: { uid: root } },
    {
      type: "iam.rolebindings.created.v1",
      source: "/iam/v2/roleBindings",
      subject: binding,
      group,
      body: { uid: binding },
    },
  ]);
  const gone = [
    change("deleted", RoleBindingSchema, binding),
    change("deleted", TermsAcceptanceSchema, `${group}/7777777777777777`),
    change("deleted", GroupSchema, group, null),
  ];
  expect(await eventsOf(deleteGroup, { uid: group }, create(GroupSchema), gone)).toMatchObject([
    { type: "iam.group.deleted.v1", body: { uid: group } },
    {
      type: "iam.rolebindings.deleted.v1",
      subject: binding,
      bodytype: "platform.iam.v2.DeleteRoleBindingRequest",
      body: { uid: binding },
    },
  ]);
  const { acceptGroupInvite } = GroupInvitesService.method;
  const used = [change("deleted", GroupInviteSchema, invite)];
  expect(await eventsOf(acceptGroupInvite, {}, create(RoleBindingSchema), used)).toMatchObject([
    { type: "iam.group_invite.deleted.v1", subject: invite },
  ]);
  const both = [...used, change("created", RoleBindingSchema, binding)];
  expect(await eventsOf(acceptGroupInvite, {}, create(RoleBindingSchema), both)).toMatchObject([
    { type: "iam.rolebindings.created.v1", source: "/iam/v2/groupInvites:accept", subject: binding },
    { type: "iam.group_invite.deleted.v1", source: "/iam/v2/groupInvites" },
  ]);
});

test("a call that changed nothing emits nothing", async () => {
  expect(await eventsOf(GroupsService.method.updateGroup, {}, create(GroupSchema), [])).toEqual([]);
});

test("changes outside of a call have the events of the standard methods", async () => {
  const user = "fedcba9876543210fedcba9876543210fedcba98";
  const events = await ofChanges([change("created", IdentitySchema, user)], () => actor, 7);
  expect(events).toMatchObject([
    { type: "dev.platform.api.iam.identity.created.v1", subject: user, extensions: { group: "/" }, timeMs: 7 },
  ]);
});

describe("redaction", () => {
  const secret = "TOPSECRET";
  test.each<[DescMethod, Message, ChangedResource, object | null]>([
    [
      GroupInvitesService.method.createGroupInvite,
      create(GroupInviteSchema, { uid: "u", code: secret, email: secret, expirationTime: { seconds: 1n } }),
      change("created", GroupInviteSchema, `${group}/1`),
      { uid: "u", expirationTime: "1970-01-01T00:00:01.000Z" },
    ],
    [
      IdentityProvidersService.method.updateIdentityProvider,
      create(IdentityProviderSchema, {
        name: "p",
        configuration: { case: "oidc", value: { clientId: "c", clientSecret: secret } },
      }),
      change("updated", IdentityProviderSchema, provider),
      expect.objectContaining({ name: "p", oidc: expect.objectContaining({ clientId: "c" }) }),
    ],
    [
      SubscriptionsService.method.createSubscription,
      create(SubscriptionSchema, { uid: "u", sink: "https://sink.example.com", signingSecret: secret }),
      change("created", SubscriptionSchema, `${group}/1`),
      { uid: "u", sink: "https://sink.example.com", etag: "" },
    ],
    [
      AccountAssociationsService.method.deleteAccountAssociation,
      create(AccountAssociationSchema),
      change("deleted", AccountAssociationSchema, group, null),
      null,
    ],
  ])("by $name", async (method, response, changed, body) => {
    const [event] = await eventsOf(method, { uid: group }, response, [changed]);
    expect(event!.body).toEqual(body);
    expect(JSON.stringify(event)).not.toMatch(/TOPSECRET|ecret"/);
  });
});
