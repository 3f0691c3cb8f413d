/** Account associations through the port: one for each group, with its uid. */
import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { AccountAssociationsService } from "../../gen/platform/iam/v2/account_associations_pb.ts";
import { failureOf, onEveryServer } from "./iam-server.ts";

const amazon = { account: "123456789012" };
const google = { projectId: "project", projectNumber: "42" };

onEveryServer("account associations", (server) => {
  const path = (uid: string) => `/iam/v2/accountAssociations/${uid}`;
  const associate = (group: string, fields: object = { amazon }) =>
    server().ok(`POST ${path(group)}`, { name: "accounts", ...fields });
  const subgroup = async (parent: string, name: string) =>
    (await server().ok(`POST /iam/v2/groups/${parent}`, { name })).uid as string;
  const uids = (list: { accountAssociations: { uid: string }[] }) => list.accountAssociations.map(({ uid }) => uid);

  it("have their group's uid, and a group has one", async () => {
    const { root, rest, admin, grpc } = server();
    const made = await associate(root, { amazon, google, description: "ours" });
    expect(made).toMatchObject({ uid: root, name: "accounts", description: "ours", amazon, google });
    expect(made.createTime).toBe(made.updateTime);
    const client = grpc(AccountAssociationsService, admin);
    const got = await client.getAccountAssociation({ uid: root });
    expect([got.uid, got.amazon?.account, got.etag]).toEqual([root, amazon.account, made.etag]);
    const again = await rest(admin, `POST ${path(root)}`, { name: "other", google });
    expect([again.status, again.body.code]).toEqual([409, 6]);
    expect(again.body.details[1]).toEqual({
      "@type": "type.googleapis.com/google.rpc.ResourceInfo",
      resourceType: "iam.platform.internal/AccountAssociation",
      resourceName: root,
    });
    const second = client.createAccountAssociation({ parent: root, accountAssociation: { name: "other", google } });
    expect((await failureOf(second)).code).toBe(Code.AlreadyExists);
  });

  it("are made once by many clients at once", async () => {
    const { root, admin, rest, ok } = server();
    const group = await subgroup(root, "busy");
    const makers = Array.from({ length: 16 }, (_, i) => rest(admin, `POST ${path(group)}`, { name: `n${i}`, amazon }));
    const statuses = (await Promise.all(makers)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 15 }, () => 409)]);
    expect((await ok("GET /iam/v2/accountAssociations")).totalCount).toBe("1");
  });

  it("need a group that exists and a caller who may", async () => {
    const { root, admin, rest, holderOf } = server();
    const missing = await rest(admin, `POST ${path(`${root}/0000000000000000`)}`, { name: "none", amazon });
    expect(missing.body.details[1]).toMatchObject({ resourceType: "iam.platform.internal/Group" });
    const group = await subgroup(root, "below");
    const { token } = await holderOf(group, "CAP_IAM_ACCOUNT_ASSOCIATIONS_CREATE");
    expect((await rest(token, `POST ${path(root)}`, { name: "above", amazon })).status).toBe(403);
    expect((await rest(token, `POST ${path(group)}`, { name: "own", amazon })).status).toBe(200);
    expect((await rest(token, `GET ${path(group)}`)).status).toBe(403);
    expect((await rest(admin, `GET ${path(root)}`)).status).toBe(404);
  });

  const refused: [string, object, string][] = [
    ["no accounts", {}, ""],
    ["no name", { name: "", amazon }, "name"],
    ["an account of 11 digits", { amazon: { account: "12345678901" } }, "amazon.account"],
    ["an account of letters", { amazon: { account: "12345678901a" } }, "amazon.account"],
    ["a project without number", { google: { projectId: "project" } }, "google.project_number"],
    ["a tenant without clients", { azure: { tenantId: "tenant" } }, "azure.client_ids"],
    ["no services", { platform: {} }, "platform.service_bindings"],
    [
      "an unknown service",
      { platform: { serviceBindings: { SERVICE_PRINCIPAL_INGESTER: "0".repeat(40) } } },
      'platform.service_bindings["SERVICE_PRINCIPAL_INGESTER"]',
    ],
    [
      "an identity that does not exist",
      { platform: { serviceBindings: { INGESTER: "0".repeat(40) } } },
      'platform.service_bindings["INGESTER"]',
    ],
    [
      "an installation without id",
      { github: { appInstallations: { 1: { installations: [{ name: "x" }] } } } },
      "github.app_installations[1].installations[0].installation_id",
    ],
  ];
  it.each(refused)("are refused with %s", async (_, fields, field) => {
    const { root, admin, rest } = server();
    const answer = await rest(admin, `POST ${path(root)}`, { name: "accounts", ...fields });
    expect(answer.status).toBe(400);
    expect(answer.body.details[1].fieldViolations.map((v: { field?: string }) => v.field)).toEqual([field]);
  });

  it("bind services to identities directly in the group", async () => {
    const { root, admin, ok, rest, stranger } = server();
    const group = await subgroup(root, "services");
    const [direct, above, below] = [
      await stranger(group),
      await stranger(root),
      await stranger(await subgroup(group, "below")),
    ];
    const bindings = (serviceBindings: Record<string, string>) => ({ name: "services", platform: { serviceBindings } });
    for (const { uid } of [above, below])
      expect((await rest(admin, `POST ${path(group)}`, bindings({ INGESTER: uid }))).status).toBe(400);
    const made = await ok(`POST ${path(group)}`, bindings({ INGESTER: direct.uid }));
    expect(made.platform.serviceBindings).toEqual({ INGESTER: direct.uid });
    await ok(`DELETE /iam/v2/identities/${direct.uid}`);
    await ok(`PATCH ${path(group)}`, { description: "an identity that is gone stands in no other change's way" });
    await ok(`PATCH ${path(group)}`, { amazon });
    const added = await rest(
      admin,
      `PATCH ${path(group)}`,
      bindings({ INGESTER: direct.uid, IMAGE_SIGNER: direct.uid }),
    );
    expect(added.body.message).toContain('platform.service_bindings["IMAGE_SIGNER"]');
  });

  it("lose the service bindings of an identity that is deleted", async () => {
    const { root, ok, stranger } = server();
    const group = await subgroup(root, "services");
    const [one, two] = [await stranger(group), await stranger(group)];
    const serviceBindings = { INGESTER: one.uid, IMAGE_SIGNER: two.uid, CATALOG_SYNCER: one.uid };
    const made = await ok(`POST ${path(group)}`, { name: "services", amazon, platform: { serviceBindings } });
    await ok(`DELETE /iam/v2/identities/${(await stranger(group)).uid}`);
    expect(await ok(`GET ${path(group)}`)).toEqual(made);
    await ok(`DELETE /iam/v2/identities/${one.uid}?validate_only=true`);
    expect(await ok(`GET ${path(group)}`)).toEqual(made);

    await ok(`DELETE /iam/v2/identities/${one.uid}`);
    const less = await ok(`GET ${path(group)}`);
    expect(less).toMatchObject({ name: "services", amazon, platform: { serviceBindings: { IMAGE_SIGNER: two.uid } } });
    expect(Object.keys(less.platform.serviceBindings)).toEqual(["IMAGE_SIGNER"]);
    expect(less.createTime).toBe(made.createTime);
    expect(less.etag).not.toBe(made.etag);
    expect(Date.parse(less.updateTime)).toBeGreaterThan(Date.parse(made.updateTime));

    await ok(`DELETE /iam/v2/identities/${two.uid}`);
    const { platform: _, ...rest } = made;
    expect(await ok(`GET ${path(group)}`)).toEqual({
      ...rest,
      etag: expect.any(String),
      updateTime: expect.any(String),
    });
  });

  it("stay, and can be changed, when their last identity is deleted", async () => {
    const { root, admin, ok, rest, stranger } = server();
    const group = await subgroup(root, "services");
    const { uid } = await stranger(group);
    await ok(`POST ${path(group)}`, { name: "services", platform: { serviceBindings: { INGESTER: uid } } });
    await ok(`DELETE /iam/v2/identities/${uid}`);
    const left = await ok(`GET ${path(group)}`);
    expect(left).not.toHaveProperty("platform");
    expect(await ok(`PATCH ${path(group)}`, left)).toEqual(left);
    expect((await ok(`PATCH ${path(group)}`, { amazon })).amazon).toEqual(amazon);
    const emptied = await rest(admin, `PATCH ${path(group)}?updateMask=amazon`, {});
    expect(emptied.status).toBe(400);
  });

  it("change by mask, and `*` clears what is not sent", async () => {
    const { root, admin, ok, rest, grpc } = server();
    const made = await associate(root, { amazon, google });
    const merged = await ok(`PATCH ${path(root)}`, { amazon: { account: "210987654321" } });
    expect(merged).toMatchObject({ amazon: { account: "210987654321" }, google, name: "accounts" });
    const replaced = await ok(`PATCH ${path(root)}?updateMask=*`, { name: "new", google });
    expect(replaced).toMatchObject({ uid: root, name: "new", google, createTime: made.createTime });
    expect(replaced).not.toHaveProperty("amazon");
    const emptied = await rest(admin, `PATCH ${path(root)}?updateMask=google`, {});
    expect(emptied.body.message).toBe(
      "Invalid argument: at least one of amazon, google, platform, azure, github is needed",
    );
    const stale = grpc(AccountAssociationsService, admin).updateAccountAssociation({
      accountAssociation: { uid: root, name: "newer", etag: made.etag },
    });
    expect((await failureOf(stale)).code).toBe(Code.Aborted);
  });

  it("are listed where their groups are", async () => {
    const { root, ok, rest, holderOf } = server();
    const left = await subgroup(root, "left");
    const right = await subgroup(root, "right");
    const leaf = await subgroup(left, "leaf");
    for (const [i, group] of [leaf, root, right, left].entries())
      await associate(group, { name: `accounts ${i}`, amazon });
    const list = (query = "") => ok(`GET /iam/v2/accountAssociations${query}`);
    const all = [root, left, leaf, right].sort();
    const everything = await list();
    expect([uids(everything), everything.totalCount]).toEqual([all, "4"]);
    const queries: [string, string[]][] = [
      [`?uidp.children_of=${root}`, [left, right].sort()],
      [`?uidp.descendants_of=${root}`, all.filter((uid) => uid !== root)],
      [`?uidp.descendants_of=${left}`, [leaf]],
      [`?uidp.ancestors_of=${leaf}`, [root, left]],
      ["?uidp.in_root=true", [root]],
      [`?uidp.ids=${left}&uidp.ids=${right}`, [left, right].sort()],
      ["?name=accounts%202", [right]],
      ["?order_by=name%20desc", [left, right, root, leaf]],
    ];
    for (const [query, expected] of queries) {
      const listed = await list(query);
      expect([query, uids(listed), listed.totalCount]).toEqual([query, expected, String(expected.length)]);
    }
    const first = await list("?page_size=3");
    expect([...uids(first), ...uids(await list(`?page_token=${first.nextPageToken}`))]).toEqual(all);
    const local = await holderOf(left, "CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST");
    const { body } = await rest(local.token, "GET /iam/v2/accountAssociations");
    expect([uids(body), body.totalCount]).toEqual([[left, leaf], "2"]);
  });

  it("go by themselves, or with their group", async () => {
    const { root, admin, ok, rest, grpc } = server();
    const group = await subgroup(root, "going");
    await associate(group);
    await associate(root);
    const client = grpc(AccountAssociationsService, admin);
    await client.deleteAccountAssociation({ uid: root });
    expect((await failureOf(client.deleteAccountAssociation({ uid: root }))).code).toBe(Code.NotFound);
    await associate(root);
    await ok(`DELETE /iam/v2/groups/${group}`);
    const left = await ok("GET /iam/v2/accountAssociations");
    expect([uids(left), left.totalCount]).toEqual([[root], "1"]);
    expect((await rest(admin, `GET ${path(group)}`)).status).toBe(404);
  });

  it("are not made by a call that only validates", async () => {
    const { root, ok } = server();
    expect((await ok(`POST ${path(root)}?validateOnly=true`, { name: "dry", amazon })).uid).toBe(root);
    expect((await ok("GET /iam/v2/accountAssociations")).totalCount).toBe("0");
  });
});
