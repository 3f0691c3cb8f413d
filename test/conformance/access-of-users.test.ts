/** Who can do what, of users whom an identity provider signs in. */
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { userIdentityUid } from "../../src/new-uid.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { type IamServer, onEverySharedServer } from "./iam-server.ts";

const viewer = builtInRoleUid("viewer");
const editor = builtInRoleUid("editor");
const owner = builtInRoleUid("owner");

let key: TestKey;
let issuer: LocalIssuer;
beforeAll(async () => {
  key = await testKey("RS256", "k");
});
beforeEach(async () => {
  issuer = await startIssuer(key);
});
afterEach(() => issuer.close());

function tokenOf(change: Record<string, unknown> = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return sign(key, { iss: issuer.url, sub: "jane", aud: "web", iat: now, exp: now + 300, ...change });
}

onEverySharedServer(
  "what users can do",
  (server) => {
    const jane = () => userIdentityUid(issuer.url, "jane");

    async function organisation(s: IamServer) {
      const acme: string = (await s.ok("POST /iam/v2/groups", { name: "acme" })).uid;
      const oidc = { issuer: issuer.url, clientId: "web", pkceEnabled: true };
      const login = { name: "login", defaultRole: viewer, oidc };
      const provider: string = (await s.ok(`POST /iam/v2/identityProviders/${acme}`, login)).uid;
      return { acme, provider };
    }
    const explain = (s: IamServer, scope: string, capability: string) =>
      s.ok(`GET /access/v1/grants/${scope}:explain?identity=${jane()}&capability=${capability}`);

    test("follows from the provider: default role, mappings, and which tokens count", async () => {
      const s = server();
      const { acme, provider } = await organisation(s);
      const mapping = await s.ok(`POST /iam/v2/externalGroupRoleMappings/${provider}`, {
        externalGroupId: "eng",
        roleUid: editor,
      });
      const isLetIn = async (token: string, call: string, body?: unknown) =>
        (await s.rest(token, call, body)).status === 200;
      const repo = (name: string) => [`POST /registry/v2/repos/${acme}`, { name }] as const;
      const read = `GET /iam/v2/groups/${acme}`;

      expect(await explain(s, acme, "groups.list")).toMatchObject({
        verdict: "VERDICT_DENIED",
        missing: ["No user with this uid has signed in.", "No grant of the identity covers the scope."],
      });
      const promised = await s.ok(`GET /access/v1/grants/${acme}`);
      expect(promised.grants).toMatchObject([
        { source: "GRANT_SOURCE_ROLE_BINDING", role: { uid: owner } },
        { source: "GRANT_SOURCE_ADMINISTRATOR" },
        {
          source: "GRANT_SOURCE_DEFAULT_ROLE",
          state: "GRANT_STATE_CONDITIONAL",
          condition: "it is a user whom the identity provider signs in for the first time",
          role: { uid: viewer, name: "viewer" },
          identityProvider: provider,
          binding: "",
        },
        {
          source: "GRANT_SOURCE_GROUP_MAPPING",
          state: "GRANT_STATE_CONDITIONAL",
          condition: "it is a user whom the identity provider signs in as a member of the external group",
          externalGroup: "eng",
          groupMapping: mapping.uid,
        },
      ]);
      expect(promised.totalCount).toBe("4");

      const [plain, member] = [await tokenOf(), await tokenOf({ groups: ["eng"] })];
      expect(await isLetIn(plain, read)).toBe(true);
      const viewing = await explain(s, acme, "groups.list");
      expect(viewing).toMatchObject({
        verdict: "VERDICT_CONDITIONAL",
        missing: [
          "It is allowed if an identity provider of the organisation accepts the token.",
          "It is allowed if the identity provider signs the user in as a member of the external group.",
        ],
      });
      expect(viewing.grants).toMatchObject([
        { source: "GRANT_SOURCE_DEFAULT_ROLE", role: { name: "viewer" }, identityProvider: provider },
        { source: "GRANT_SOURCE_GROUP_MAPPING", role: { name: "editor" }, externalGroup: "eng" },
      ]);
      expect(viewing.grants[0].binding).toMatch(new RegExp(`^${acme}/`));

      const pushing = await explain(s, acme, "repo.create");
      expect(pushing).toMatchObject({
        verdict: "VERDICT_CONDITIONAL",
        grants: [{ source: "GRANT_SOURCE_GROUP_MAPPING" }],
        otherGrants: [{ role: { name: "viewer" } }],
      });
      expect(await isLetIn(plain, ...repo("a"))).toBe(false);
      expect(await isLetIn(member, ...repo("b"))).toBe(true);
      const ofJane = await s.ok(`GET /access/v1/grants/${acme}?identity=${jane()}`);
      expect(ofJane.grants.map(({ source }: { source: string }) => source)).toEqual([
        "GRANT_SOURCE_DEFAULT_ROLE",
        "GRANT_SOURCE_GROUP_MAPPING",
      ]);

      const bolt: string = (await s.ok("POST /iam/v2/groups", { name: "bolt" })).uid;
      await s.ok(`POST /iam/v2/roleBindings/${bolt}`, { identityUid: jane(), roleUid: viewer });
      expect(await explain(s, bolt, "groups.list")).toMatchObject({ verdict: "VERDICT_ALLOWED", missing: [] });
      expect(await isLetIn(plain, `GET /iam/v2/groups/${bolt}`)).toBe(true);

      await s.ok(`DELETE /iam/v2/roleBindings/${viewing.grants[0].binding}`);
      expect((await explain(s, acme, "roles.list")).grants).toMatchObject([{ source: "GRANT_SOURCE_GROUP_MAPPING" }]);
      expect(await isLetIn(await tokenOf({ jti: "later" }), read)).toBe(false);
      await s.ok(`DELETE /iam/v2/identityProviders/${provider}`);
      expect(await explain(s, bolt, "groups.list")).toMatchObject({
        verdict: "VERDICT_DENIED",
        otherGrants: [{ state: "GRANT_STATE_INEFFECTIVE" }],
      });
      expect(await isLetIn(plain, `GET /iam/v2/groups/${bolt}`)).toBe(false);
    });

    test("a first sign-in at another organisation's provider is still to come", async () => {
      const s = server();
      const { acme } = await organisation(s);
      await s.rest(await tokenOf(), `GET /iam/v2/groups/${acme}`);
      const bolt: string = (await s.ok("POST /iam/v2/groups", { name: "bolt" })).uid;
      const oidc = { issuer: issuer.url, clientId: "cli", pkceEnabled: true };
      await s.ok(`POST /iam/v2/identityProviders/${bolt}`, { name: "login", defaultRole: editor, oidc });
      expect(await explain(s, bolt, "repo.create")).toMatchObject({
        verdict: "VERDICT_CONDITIONAL",
        missing: ["It is allowed if the identity provider signs the user in, which has not happened yet."],
      });
      const token = await tokenOf({ aud: "cli" });
      expect((await s.rest(token, `POST /registry/v2/repos/${bolt}`, { name: "a" })).status).toBe(200);
    });
  },
  { allowLoopbackIssuers: "true" },
);
