/** Identity providers and the mappings of their groups, as clients see them. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Code } from "@connectrpc/connect";
import { beforeEach, expect, test } from "vitest";
import { ExternalGroupRoleMappingsService } from "../../gen/platform/iam/v2/external_group_role_mappings_pb.ts";
import { IdentityProvidersService } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { failureOf, type IamServer, onEveryServer } from "./iam-server.ts";

const viewer = builtInRoleUid("viewer");
const editor = builtInRoleUid("editor");
const owner = builtInRoleUid("owner");
const secret = "correct horse battery staple";
const oidc = { issuer: "https://login.example.com", clientId: "platform", clientSecret: secret };
const provider = { name: "login", defaultRole: viewer, oidc };
const missing = "0".repeat(16);

onEveryServer("identity providers", (server) => {
  const providers = "/iam/v2/identityProviders";
  let s: IamServer;
  beforeEach(() => {
    s = server();
  });
  const make = (body: unknown = provider) => s.ok(`POST ${providers}/${s.root}`, body);
  const violationsOf = async (call: string, body: unknown) => {
    const answer = await s.rest(s.admin, call, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(400);
    return answer.body.details[1].fieldViolations.map(({ field }: { field: string }) => field);
  };

  test("are created, read, listed, changed and deleted", async () => {
    const created = await make();
    expect(created).toEqual({
      uid: expect.stringMatching(`^${s.root}/[0-9a-f]{16}$`),
      name: "login",
      description: "",
      createTime: expect.any(String),
      updateTime: created.createTime,
      defaultRole: viewer,
      oidc: {
        issuer: oidc.issuer,
        clientId: oidc.clientId,
        clientSecret: "",
        additionalScopes: [],
        groupsClaim: "",
        correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID",
        pkceEnabled: false,
      },
      etag: expect.any(String),
    });
    expect(await s.ok(`GET ${providers}/${created.uid}`)).toEqual(created);
    const other = await make({ ...provider, name: "another" });
    expect(await s.ok(`GET ${providers}?name=login`)).toEqual({
      identityProviders: [created],
      totalCount: "1",
      skipped: 0,
    });
    const page = await s.ok(`GET ${providers}?uidp.descendants_of=${s.root}&order_by=name&page_size=1`);
    expect([page.identityProviders, page.totalCount]).toEqual([[other], "2"]);
    const changed = await s.ok(`PATCH ${providers}/${created.uid}`, { description: "Ours", oidc: { clientId: "new" } });
    expect(changed).toMatchObject({
      name: "login",
      description: "Ours",
      oidc: { ...oidc, clientId: "new", clientSecret: "" },
    });
    expect((await s.rest(s.admin, `DELETE ${providers}/${created.uid}`)).status).toBe(200);
    expect((await s.rest(s.admin, `GET ${providers}/${created.uid}`)).status).toBe(404);
    expect((await s.rest(s.admin, `DELETE ${providers}/${created.uid}`)).status).toBe(404);
  });

  test("answer alike over gRPC", async () => {
    const grpc = s.grpc(IdentityProvidersService, s.admin);
    const identityProvider = {
      name: "login",
      defaultRole: viewer,
      configuration: { case: "oidc", value: { ...oidc, pkceEnabled: true } },
    } as const;
    const created = await grpc.createIdentityProvider({ parent: s.root, identityProvider });
    expect(created.configuration).toMatchObject({ value: { clientSecret: "", pkceEnabled: true } });
    expect(await grpc.getIdentityProvider({ uid: created.uid })).toEqual(created);
    expect((await grpc.listIdentityProviders({})).identityProviders).toEqual([created]);
    const body = { uid: created.uid, configuration: { case: "oidc", value: { clientSecret: "other" } } } as const;
    const updated = await grpc.updateIdentityProvider({ identityProvider: body });
    expect(updated.configuration).toMatchObject({ value: { issuer: oidc.issuer, clientSecret: "" } });
    await grpc.deleteIdentityProvider({ uid: created.uid });
    expect((await failureOf(grpc.getIdentityProvider({ uid: created.uid }))).code).toBe(Code.NotFound);
  });

  test("are told what is wrong with them, all at once", async () => {
    const call = `POST ${providers}/${s.root}`;
    const own = (change: object) => ({ ...provider, oidc: { ...oidc, ...change } });
    expect(await violationsOf(call, {})).toEqual(["name"]);
    expect(await violationsOf(call, { name: "login" })).toEqual(["default_role", "oidc"]);
    expect(await violationsOf(call, own({ issuer: "", clientId: "" }))).toEqual(["oidc.issuer", "oidc.client_id"]);
    for (const issuer of ["http://login.example.com", "ftp://x", "https://x?y", "https://u@x"])
      expect(await violationsOf(call, own({ issuer }))).toEqual(["oidc.issuer"]);
    expect(await violationsOf(call, { ...own({ issuer: "http://localhost:1", clientSecret: "" }) })).toEqual([
      "oidc.issuer",
      "oidc.client_secret",
    ]);
    expect(await violationsOf(call, { ...provider, defaultRole: `${s.root}/${missing}` })).toEqual(["default_role"]);
    expect(await violationsOf(call, own({ additionalScopes: [""] }))).toEqual(["oidc.additional_scopes[0]"]);
    expect((await s.ok(`GET ${providers}`)).totalCount).toBe("0");
  });

  test("belong to root groups only", async () => {
    const { uid } = await s.ok(`POST /iam/v2/groups/${s.root}`, { name: "folder" });
    expect(await violationsOf(`POST ${providers}/${uid}`, provider)).toEqual(["parent"]);
    expect((await s.rest(s.admin, `POST ${providers}/${"9".repeat(40)}`, provider)).status).toBe(404);
  });

  test("give no role of another organisation", async () => {
    const elsewhere = await s.ok("POST /iam/v2/groups", { name: "elsewhere" });
    const body = { name: "theirs", capabilities: ["CAP_IAM_GROUPS_LIST"] };
    const role = await s.ok(`POST /iam/v2/roles/${elsewhere.uid}`, body);
    expect(await violationsOf(`POST ${providers}/${s.root}`, { ...provider, defaultRole: role.uid })).toEqual([
      "default_role",
    ]);
  });

  test("keep their secret to themselves", async () => {
    const { uid } = await make();
    const patch = (query: string, body: unknown) => s.rest(s.admin, `PATCH ${providers}/${uid}${query}`, body);
    const answers = [
      await s.rest(s.admin, `GET ${providers}/${uid}`),
      await s.rest(s.admin, `GET ${providers}`),
      await patch("", { oidc: { clientSecret: "another secret" } }),
      await patch("?updateMask=oidc.client_secret,oidc.pkce_enabled", { oidc: { pkceEnabled: true } }),
      await patch("", { oidc: { clientSecret: secret } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(JSON.stringify(answers)).not.toMatch(/correct horse|another secret/);
    await expectNowhere(s, secret, "another secret");
  });

  test("keep the stored secret unless the mask names it", async () => {
    const { uid } = await make();
    const patch = (query: string, body: unknown) => s.rest(s.admin, `PATCH ${providers}/${uid}${query}`, body);
    const clear = "?updateMask=oidc.client_secret";
    const whole = { ...oidc, clientSecret: "" };
    for (const query of ["?updateMask=oidc", "?updateMask=*"])
      expect((await patch(query, { ...provider, oidc: whole })).status).toBe(200);
    expect(await violationsOf(`PATCH ${providers}/${uid}${clear}`, {})).toEqual(["oidc.client_secret"]);
    expect((await patch("", { oidc: { pkceEnabled: true } })).status).toBe(200);
    expect((await patch(clear, {})).status).toBe(200);
    expect(await violationsOf(`PATCH ${providers}/${uid}`, { oidc: { pkceEnabled: false } })).toEqual([
      "oidc.client_secret",
    ]);
    expect((await patch("", { oidc: { pkceEnabled: false, clientSecret: "s" } })).status).toBe(200);
  });

  test("do not change when they are told what they are", async () => {
    const created = await make();
    const body = { ...provider, oidc: { ...oidc, correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID" } };
    expect(await s.ok(`PATCH ${providers}/${created.uid}`, body)).toEqual(created);
    expect(await s.ok(`PATCH ${providers}/${created.uid}?updateMask=*`, body)).toEqual(created);
  });

  test("have their correlation rule once and for all", async () => {
    const oid = { correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" };
    const { uid } = await make();
    expect(await violationsOf(`PATCH ${providers}/${uid}`, { oidc: oid })).toEqual(["oidc.correlation_rule"]);
    const other = await make({ ...provider, oidc: { ...oidc, ...oid } });
    expect(other.oidc).toMatchObject(oid);
    const unset = { oidc: { ...oidc, clientId: "new" } };
    expect((await s.ok(`PATCH ${providers}/${other.uid}?updateMask=oidc`, unset)).oidc).toMatchObject(oid);
  });

  test("give nothing that their makers do not hold", async () => {
    const create = ["CAP_IAM_IDENTITY_PROVIDERS_CREATE", "CAP_IAM_ROLE_BINDINGS_CREATE"];
    const update = "CAP_IAM_IDENTITY_PROVIDERS_UPDATE";
    const { token } = await s.holderOf(s.root, ...create, update);
    expect((await s.rest(token, `POST ${providers}/${s.root}`, provider)).status).toBe(403);
    const body = { name: "poor", capabilities: create };
    const role = await s.ok(`POST /iam/v2/roles/${s.root}`, body);
    const made = await s.rest(token, `POST ${providers}/${s.root}`, { ...provider, defaultRole: role.uid });
    expect(made.status).toBe(200);
    const own = `PATCH ${providers}/${made.body.uid}`;
    expect((await s.rest(token, own, { description: "mine" })).status).toBe(200);
    expect((await s.rest(token, own, { defaultRole: viewer })).status).toBe(403);
    const mapping = { externalGroupId: "ops", roleUid: editor };
    await s.ok(`POST /iam/v2/externalGroupRoleMappings/${made.body.uid}`, mapping);
    expect((await s.rest(token, own, { description: "still mine" })).status).toBe(200);
    for (const change of [{ issuer: "https://evil.example" }, { clientId: "evil" }, { groupsClaim: "evil" }])
      expect((await s.rest(token, own, { oidc: change })).status, JSON.stringify(change)).toBe(403);
    const admin = { ...provider, defaultRole: builtInRoleUid("platform.admin") };
    expect((await s.rest(s.admin, `POST ${providers}/${s.root}`, admin)).status).toBe(403);
  });

  test("need both capabilities to be made", async () => {
    for (const one of ["CAP_IAM_IDENTITY_PROVIDERS_CREATE", "CAP_IAM_ROLE_BINDINGS_CREATE"]) {
      const { token } = await s.holderOf(s.root, one);
      expect((await s.rest(token, `POST ${providers}/${s.root}`, provider)).status).toBe(403);
    }
  });

  test("keep their group and their roles from being deleted, and take their mappings with them", async () => {
    const root = await s.ok("POST /iam/v2/groups", { name: "acme" });
    const capabilities = ["CAP_IAM_GROUPS_LIST"];
    const [first, second] = [
      await s.ok(`POST /iam/v2/roles/${root.uid}`, { name: "first", capabilities }),
      await s.ok(`POST /iam/v2/roles/${root.uid}`, { name: "second", capabilities }),
    ];
    const { uid } = await s.ok(`POST ${providers}/${root.uid}`, { ...provider, defaultRole: first.uid });
    const mapping = { externalGroupId: "eng", roleUid: second.uid };
    const mapped = await s.ok(`POST /iam/v2/externalGroupRoleMappings/${uid}`, mapping);
    const refusal = async (call: string) => {
      const answer = await s.rest(s.admin, call);
      expect(answer.status).toBe(400);
      return answer.body.details[1].violations;
    };
    expect(await refusal(`DELETE /iam/v2/groups/${root.uid}`)).toMatchObject([
      { type: "RESOURCE_NOT_EMPTY", description: "cannot delete group with child roles" },
      { type: "RESOURCE_NOT_EMPTY", description: "cannot delete group with child identity providers" },
    ]);
    for (const role of [first, second])
      expect(await refusal(`DELETE /iam/v2/roles/${role.uid}`)).toMatchObject([
        { type: "RESOURCE_IN_USE", subject: role.uid },
      ]);
    await s.ok(`DELETE ${providers}/${uid}`);
    expect((await s.rest(s.admin, `GET /iam/v2/externalGroupRoleMappings/${mapped.uid}`)).status).toBe(404);
    for (const role of [first, second]) await s.ok(`DELETE /iam/v2/roles/${role.uid}`);
    await s.ok(`DELETE /iam/v2/groups/${root.uid}`);
  });

  test("are only checked when only that is asked for", async () => {
    expect((await s.ok(`POST ${providers}/${s.root}?validate_only=true`, provider)).name).toBe("login");
    expect((await s.ok(`GET ${providers}`)).totalCount).toBe("0");
  });
});

onEveryServer("external group role mappings", (server) => {
  const mappings = "/iam/v2/externalGroupRoleMappings";
  let s: IamServer;
  let uid: string;
  beforeEach(async () => {
    s = server();
    ({ uid } = await s.ok(`POST /iam/v2/identityProviders/${s.root}`, provider));
  });
  const make = (body: unknown) => s.ok(`POST ${mappings}/${uid}`, body);

  test("are created, read, listed, changed and deleted", async () => {
    const created = await make({ externalGroupId: "eng", roleUid: viewer });
    expect(created).toEqual({
      uid: expect.stringMatching(`^${uid}/[0-9a-f]{16}$`),
      identityProviderUid: uid,
      externalGroupId: "eng",
      roleUid: viewer,
      scope: s.root,
      createTime: expect.any(String),
      updateTime: created.createTime,
      etag: expect.any(String),
    });
    expect(await s.ok(`GET ${mappings}/${created.uid}`)).toEqual(created);
    const other = await make({ externalGroupId: "ops", roleUid: viewer, scope: s.root });
    expect((await s.ok(`GET ${mappings}?identity_provider_uid=${uid}`)).totalCount).toBe("2");
    expect((await s.ok(`GET ${mappings}?identity_provider_uid=${s.root}/${missing}`)).totalCount).toBe("0");
    const changed = await s.ok(`PATCH ${mappings}/${other.uid}`, { roleUid: editor });
    expect(changed).toMatchObject({ externalGroupId: "ops", roleUid: editor, identityProviderUid: uid });
    await s.ok(`DELETE ${mappings}/${created.uid}`);
    expect((await s.rest(s.admin, `DELETE ${mappings}/${created.uid}`)).status).toBe(404);
  });

  test("answer alike over gRPC", async () => {
    const grpc = s.grpc(ExternalGroupRoleMappingsService, s.admin);
    const mapping = { externalGroupId: "eng", roleUid: viewer };
    const created = await grpc.createExternalGroupRoleMapping({ parent: uid, externalGroupRoleMapping: mapping });
    expect(created).toMatchObject({ ...mapping, scope: s.root, identityProviderUid: uid });
    expect((await grpc.listExternalGroupRoleMappings({})).externalGroupRoleMappings).toEqual([created]);
    const body = { uid: created.uid, roleUid: owner };
    expect(await grpc.updateExternalGroupRoleMapping({ externalGroupRoleMapping: body })).toMatchObject(body);
    const again = grpc.createExternalGroupRoleMapping({
      parent: uid,
      externalGroupRoleMapping: { ...mapping, roleUid: owner },
    });
    expect((await failureOf(again)).code).toBe(Code.AlreadyExists);
  });

  test("are unique", async () => {
    const first = await make({ externalGroupId: "eng", roleUid: viewer });
    const again = await s.rest(s.admin, `POST ${mappings}/${uid}`, { externalGroupId: "eng", roleUid: viewer });
    expect([again.status, again.body.code]).toEqual([409, 6]);
    expect(again.body.details[1]).toMatchObject({
      resourceType: "iam.platform.internal/ExternalGroupRoleMapping",
      resourceName: first.uid,
    });
    const second = await make({ externalGroupId: "eng", roleUid: editor });
    expect((await s.rest(s.admin, `PATCH ${mappings}/${second.uid}`, { roleUid: viewer })).status).toBe(409);
    const other = await s.ok(`POST /iam/v2/identityProviders/${s.root}`, provider);
    await s.ok(`POST ${mappings}/${other.uid}`, { externalGroupId: "eng", roleUid: viewer });
  });

  test("of one tuple are made once, however many try", async () => {
    const body = { externalGroupId: "eng", roleUid: viewer };
    const tries = Array.from({ length: 12 }, () => s.rest(s.admin, `POST ${mappings}/${uid}`, body));
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, ...Array(11).fill(409)]);
  });

  test("are told what is wrong with them", async () => {
    const { uid: folder } = await s.ok("POST /iam/v2/groups", { name: "elsewhere" });
    const refused = async (call: string, body: unknown) => {
      const answer = await s.rest(s.admin, call, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(400);
      return answer.body.details[1].fieldViolations.map(({ field }: { field: string }) => field);
    };
    const call = `POST ${mappings}/${uid}`;
    expect(await refused(call, {})).toEqual(["external_group_id", "role_uid"]);
    expect(await refused(call, { externalGroupId: "g", roleUid: "9".repeat(40), scope: folder })).toEqual([
      "role_uid",
      "scope",
    ]);
    const { uid: made } = await make({ externalGroupId: "g", roleUid: viewer });
    expect(await refused(`PATCH ${mappings}/${made}`, { externalGroupId: "h" })).toEqual(["external_group_id"]);
    expect(await refused(`PATCH ${mappings}/${made}`, { scope: folder })).toEqual(["scope"]);
    const parents = [s.root, `${s.root}/${missing}`];
    for (const parent of parents)
      expect(
        (await s.rest(s.admin, `POST ${mappings}/${parent}`, { externalGroupId: "g", roleUid: viewer })).status,
      ).toBe(404);
  });

  test("give nothing that their makers do not hold", async () => {
    const capabilities = [
      "CAP_IAM_IDENTITY_PROVIDERS_CREATE",
      "CAP_IAM_IDENTITY_PROVIDERS_UPDATE",
      "CAP_IAM_ROLE_BINDINGS_CREATE",
    ];
    const { token } = await s.holderOf(s.root, ...capabilities);
    const poor = await s.ok(`POST /iam/v2/roles/${s.root}`, { name: "poor", capabilities: capabilities.slice(1) });
    const call = `POST ${mappings}/${uid}`;
    expect((await s.rest(token, call, { externalGroupId: "g", roleUid: viewer })).status).toBe(403);
    const made = await s.rest(token, call, { externalGroupId: "g", roleUid: poor.uid });
    expect(made.status).toBe(200);
    expect((await s.rest(token, `PATCH ${mappings}/${made.body.uid}`, { roleUid: viewer })).status).toBe(403);
    const admin = { externalGroupId: "g", roleUid: builtInRoleUid("platform.admin") };
    expect((await s.rest(s.admin, call, admin)).status).toBe(403);
  });

  test("are deleted in batches", async () => {
    const made: { uid: string }[] = [];
    for (const externalGroupId of ["a", "b", "c"]) made.push(await make({ externalGroupId, roleUid: viewer }));
    const names = made.map((mapping) => mapping.uid);
    const batch = (parent: string, ...names: (string | undefined)[]) =>
      s.rest(s.admin, `POST ${mappings}:batchDelete`, { parent, names });
    const other = await s.ok(`POST /iam/v2/identityProviders/${s.root}`, provider);
    const wrong = await batch(other.uid, names[0], `${other.uid}/${missing}`);
    expect([wrong.status, wrong.body.details[1].fieldViolations[0].field]).toEqual([400, "names[0]"]);
    expect((await batch(uid)).status).toBe(400);
    expect((await batch(uid, ...Array(26).fill(names[0]))).status).toBe(400);
    expect((await s.ok(`GET ${mappings}`)).totalCount).toBe("3");
    const answer = await batch(uid, names[1], `${uid}/${missing}`, names[0], names[1]);
    expect(answer.body).toEqual({ parent: uid, externalGroupRoleMappings: [made[1], made[0]] });
    expect((await batch(uid, names[0])).body).toEqual({ parent: uid, externalGroupRoleMappings: [] });
    expect((await s.ok(`GET ${mappings}`)).totalCount).toBe("1");
  });
});

/** Looks for texts in everything that the database has written. */
async function expectNowhere({ database }: IamServer, ...texts: string[]): Promise<void> {
  if (database.name === "sqlite") {
    const folder = dirname(database.url.slice("sqlite:".length));
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file)));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) for (const text of texts) expect(file.includes(text)).toBe(false);
    return;
  }
  const rows = await database.sql("select encode(packed, 'escape') as packed from identity_providers");
  expect(rows).toHaveLength(1);
  for (const text of texts) expect(JSON.stringify(rows)).not.toContain(text);
}
