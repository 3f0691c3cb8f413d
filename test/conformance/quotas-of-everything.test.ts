/** Everything that an organisation can store has a quota, whichever way it is created. */
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { defaultQuotas } from "../../src/quotas.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { type Answer, type IamServer, onEverySharedServer } from "./iam-server.ts";
import { methodFixtures } from "./method-fixtures.ts";

const viewer = builtInRoleUid("viewer");
const v1 = "/iam/v1/identityProviders";
/** Few of everything, and of bindings and groups what the tests need besides. */
const few = 3;
const quotas = Object.entries(defaultQuotas).map(
  ([name]) => `${name}=${name.toLowerCase().endsWith("bytes") ? 2000 : few}`,
);
const ample = ["groups=100", "repos=100", "roleBindings=100"];

let key: TestKey;
let issuer: LocalIssuer;
beforeAll(async () => {
  key = await testKey("RS256", "k");
});
beforeEach(async () => {
  issuer = await startIssuer(key);
});
afterEach(() => issuer.close());

const tokenOf = (sub: string) => {
  const now = Math.floor(Date.now() / 1000);
  return sign(key, { iss: issuer.url, sub, aud: "web", iat: now, exp: now + 300 });
};

function suiteOf(s: () => IamServer) {
  let acme: string;
  let count = 0;
  beforeEach(async () => {
    acme = (await s().ok("POST /iam/v2/groups", { name: "acme" })).uid;
  });
  const rest = (call: string, body?: unknown, token = s().admin) => s().rest(token, call, body);

  function expectRefused({ status, body }: Answer, kind: string, limit = few) {
    expect({ status, message: body.message }).toEqual({
      status: 429,
      message: `Resource exhausted: an organisation can have ${limit} ${kind} (--quotas)`,
    });
    const [info, failure] = body.details;
    expect([info.reason, failure.violations[0].subject]).toEqual(["RESOURCE_EXHAUSTED", acme]);
  }

  /** Creates until it is refused, which must be after as many as the quota. */
  async function expectQuota(kind: string, create: (number: number) => Promise<Answer>) {
    for (let i = 0; i < few; i++) {
      const { status, body } = await create(count++);
      expect([status, body]).toEqual([200, expect.anything()]);
    }
    expectRefused(await create(count++), kind);
  }

  const newProvider = async (group = acme) => {
    const oidc = { issuer: issuer.url, clientId: "web", pkceEnabled: true };
    return rest(`POST /iam/v2/identityProviders/${group}`, { name: `login ${count++}`, defaultRole: viewer, oidc });
  };

  return { acme: () => acme, rest, expectRefused, expectQuota, newProvider };
}

onEverySharedServer(
  "few of everything",
  (s) => {
    const { acme, rest, expectRefused, expectQuota, newProvider } = suiteOf(s);

    test("roles, by v1 and v2, and again after one is deleted", async () => {
      const create = (n: number) =>
        rest(`POST /iam/v2/roles/${acme()}`, { name: `r${n}`, capabilities: ["CAP_REPO_LIST"] });
      await expectQuota("roles", create);
      const ofV1 = { name: "v1", capabilities: ["repo.list"] };
      expectRefused(await rest(`POST /iam/v1/roles/${acme()}`, ofV1), "roles");
      expectRefused(
        await rest(`POST /iam/v2/roles/${acme()}?validate_only=true`, { name: "r", capabilities: ["CAP_REPO_LIST"] }),
        "roles",
      );
      const { roles } = await s().ok(`GET /iam/v2/roles?uidp.descendants_of=${acme()}`);
      await s().ok(`DELETE /iam/v2/roles/${roles[0].uid}`);
      expect((await create(100)).status).toBe(200);
      const other = (await s().ok("POST /iam/v2/groups", { name: "other" })).uid;
      expect((await rest(`POST /iam/v2/roles/${other}`, { name: "r", capabilities: ["CAP_REPO_LIST"] })).status).toBe(
        200,
      );
    });

    test("identity providers and their mappings", async () => {
      await expectQuota("identityProviders", () => newProvider());
      const { identityProviders } = await s().ok(`GET /iam/v2/identityProviders?uidp.descendants_of=${acme()}`);
      const provider = (n: number) => identityProviders[n % few].uid;
      await expectQuota("externalGroupRoleMappings", (n) =>
        rest(`POST /iam/v2/externalGroupRoleMappings/${provider(n)}`, { externalGroupId: `g${n}`, roleUid: viewer }),
      );
    });

    test("invites, by v1 and v2", async () => {
      await expectQuota("groupInvites", () =>
        rest(`POST /iam/v2/groupInvites/${acme()}`, { roleUid: viewer, ttl: "3600s" }),
      );
      expectRefused(await rest(`POST /iam/v1/group_invites/${acme()}`, { role: viewer, ttl: "3600s" }), "groupInvites");
    });

    test("account associations and accepted terms", async () => {
      const groups: string[] = [];
      for (let i = 0; i <= few; i++)
        groups.push((await s().ok(`POST /iam/v2/groups/${acme()}`, { name: `g${i}` })).uid);
      let at = 0;
      const account = { name: "a", amazon: { account: "123456789012" } };
      await expectQuota("accountAssociations", () => rest(`POST /iam/v2/accountAssociations/${groups[at++]}`, account));
      at = 0;
      const documentIds = ["data-privacy.v1"];
      await expectQuota("termsAcceptances", () => rest(`POST /iam/v2/terms/${groups[at++]}`, { documentIds }));
    });

    test("advisories, which v1 writes", async () => {
      const method = "v1.Advisories.Create";
      const { advisory } = await methodFixtures[method]!.request(undefined as never, acme());
      await expectQuota("advisories", (n) =>
        rest("POST /vulnerabilities/v1/advisories", {
          parentId: acme(),
          advisory: { ...advisory, advisoryId: `CGA-${n}` },
        }),
      );
    });

    test("bytes of readmes, which grow and shrink", async () => {
      const repos: string[] = [];
      for (let i = 0; i < 2; i++)
        repos.push((await s().ok(`POST /registry/v2/repos/${acme()}`, { name: `r${i}` })).uid);
      const write = (repo: number, bytes: number) =>
        rest(`PATCH /registry/v2/repos/${repos[repo]}/readme`, { content: "x".repeat(bytes) });
      expect((await write(0, 1500)).status).toBe(200);
      expectRefused(await write(1, 1000), "readmeBytes", 2000);
      expectRefused(await write(0, 2000), "readmeBytes", 2000);
      expect((await write(0, 100)).status).toBe(200);
      expect((await write(1, 1000)).status).toBe(200);
      await s().ok(`DELETE /registry/v2/repos/${repos[1]}`);
      expect((await write(0, 1500)).status).toBe(200);
    });

    test("users, groups and members of provisioning, and the bytes of their attributes", async () => {
      const provider = (await newProvider()).body.uid;
      const { token, etag } = await s().ok(`POST ${v1}/${provider}:generateScimToken`, {});
      await s().ok(`POST ${v1}/${provider}:setScimEnabled`, { enabled: true, etag });
      const scim = (call: string, body: unknown) => rest(call.replace(" ", " /scim/v2"), body, token);
      const userOf = (n: number) => ({
        schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
        userName: `user${n}`,
        active: false,
      });
      const groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group";
      const refusal = (kind: string, limit = few) => ({
        status: 429,
        detail: expect.stringContaining(`an organisation can have ${limit} ${kind} (--quotas)`),
      });
      const users: string[] = [];
      for (let i = 0; i < few; i++) users.push((await scim("POST /Users", userOf(i))).body.id);
      const answerOf = async (call: string, body: unknown) => {
        const { status, body: answer } = await scim(call, body);
        return { status, detail: answer.detail };
      };
      expect(await answerOf("POST /Users", userOf(9))).toEqual(refusal("scim_users"));
      const nickName = "n".repeat(1000);
      expect((await scim(`PUT /Users/${users[0]}`, { ...userOf(0), nickName })).status).toBe(200);
      expect(await answerOf(`PUT /Users/${users[1]}`, { ...userOf(1), nickName })).toEqual(
        refusal("scim_user_bytes", 2000),
      );
      const members = users.map((value) => ({ value }));
      const groupOf = (n: number, some: object[]) => ({ schemas: [groupSchema], displayName: `g${n}`, members: some });
      const first = (await scim("POST /Groups", groupOf(0, members.slice(0, 2)))).body.id;
      expect(await answerOf("POST /Groups", groupOf(1, members.slice(0, 2)))).toEqual(refusal("scim_members"));
      expect((await scim(`PUT /Groups/${first}`, groupOf(0, members))).status).toBe(200);
      for (let i = 1; i < few; i++) expect((await scim("POST /Groups", groupOf(i, []))).status).toBe(201);
      expect(await answerOf("POST /Groups", groupOf(9, []))).toEqual(refusal("scim_groups"));
    });

    test("first sign-ins of users", async () => {
      const provider = (await newProvider()).body.uid;
      await expectQuota("signIns", async (n) => rest("GET /iam/v2/groups", undefined, await tokenOf(`user${n}`)));
      const token = await tokenOf("one more");
      const exchange = await rest("POST /sts/exchange", { identity_provider: provider }, token);
      expectRefused(exchange, "signIns");
      const known = await rest("GET /iam/v2/groups", undefined, await tokenOf(`user0`));
      expect([known.status, provider]).toEqual([expect.any(Number), expect.any(String)]);
    });
  },
  {
    quotas: [...quotas.filter((one) => !/^(groups|repos|roleBindings)=/.test(one)), ...ample].join(),
    allowLoopbackIssuers: "true",
  },
);

onEverySharedServer(
  "few role bindings",
  (s) => {
    const { acme, rest, expectRefused, newProvider } = suiteOf(s);

    test("count when invites are accepted and when users sign in first", async () => {
      const { code } = await s().ok(`POST /iam/v2/groupInvites/${acme()}`, { roleUid: viewer, ttl: "3600s" });
      const accept = async () => {
        const { token } = await s().stranger(acme());
        return rest("POST /iam/v2/groupInvites:accept", { code }, token);
      };
      expect((await accept()).status).toBe(200); // the creator of the group has the other binding
      expectRefused(await accept(), "roleBindings", 2);
      await newProvider();
      const token = await tokenOf("jane");
      for (let i = 0; i < 2; i++) expectRefused(await rest("GET /iam/v2/groups", undefined, token), "roleBindings", 2);
    });
  },
  { quotas: "roleBindings=2", allowLoopbackIssuers: "true" },
);
