/** Changes of identity providers that would leave an organisation without an owner who could sign in. */
import { Code } from "@connectrpc/connect";
import { exportJWK, generateKeyPair } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PreconditionFailureSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { IdentityProviders as IdentityProvidersV1 } from "../../gen/platform/iam/v1/identity_providers_pb.ts";
import { IdentityProvidersService } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { userIdentityUid } from "../../src/new-uid.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { type Answer, failureOf, type IamServer, onEverySharedServer } from "./iam-server.ts";

const owner = builtInRoleUid("owner");
const viewer = builtInRoleUid("viewer");
const v1 = "/iam/v1/identityProviders";
const v2 = "/iam/v2/identityProviders";

let key: TestKey;
let issuer: LocalIssuer;
let other: LocalIssuer;
beforeAll(async () => {
  key = await testKey("RS256", "k");
});
beforeEach(async () => {
  [issuer, other] = await Promise.all([startIssuer(key), startIssuer(key)]);
});
afterEach(() => {
  issuer.close();
  other.close();
});

const tokenOf = (sub: string, iss = issuer.url) => {
  const now = Math.floor(Date.now() / 1000);
  return sign(key, { iss, sub, aud: "web", iat: now, exp: now + 300 });
};

onEverySharedServer(
  "the last owner",
  (server) => {
    let s: IamServer;
    let acme: string;
    let provider: string;
    /** A token of jane, who is the only owner. */
    let jane: string;

    beforeEach(async () => {
      s = server();
      acme = (await s.ok("POST /iam/v2/groups", { name: "acme" })).uid;
      provider = await makeProvider({ defaultRole: owner });
      jane = await tokenOf("jane");
      expect(await seen(jane)).toEqual(["acme"]);
    });

    async function makeProvider(change: { defaultRole?: string; issuer?: string; clientId?: string }, group = acme) {
      const { defaultRole = viewer, ...oidc } = change;
      const configuration = { issuer: issuer.url, clientId: "web", pkceEnabled: true, ...oidc };
      return (await s.ok(`POST ${v2}/${group}`, { name: "login", defaultRole, oidc: configuration })).uid as string;
    }
    async function seen(token: string): Promise<readonly string[] | number> {
      const { status, body } = await s.rest(token, "GET /iam/v2/groups");
      return status === 200 ? body.groups.map(({ name }: { name: string }) => name) : status;
    }
    const etagOf = async (uid = provider) => (await s.ok(`GET ${v1}?id=${uid}`)).items[0].scim.etag;
    const turnOn = async (body = {}, as = jane, uid = provider) =>
      s.rest(as, `POST ${v1}/${uid}:setScimEnabled`, { enabled: true, etag: await etagOf(uid), ...body });
    const bind = (identityUid: string, roleUid = owner, group = acme) =>
      s.ok(`POST /iam/v2/roleBindings/${group}`, { identityUid, roleUid });
    /** Whether the provider could be deleted. */
    const isFree = async () => (await s.rest(s.admin, `DELETE ${v2}/${provider}?validateOnly=true`)).status === 200;
    const refusalOf = ({ status, body }: Answer) => [status, body.code, body.details[1]?.violations];
    const refused = () => [
      400,
      Code.FailedPrecondition,
      [{ type: "LAST_OWNER", subject: provider, description: expect.stringMatching(/owner.*sign in.*force/) }],
    ];

    describe("is not locked out", () => {
      test("when provisioning is turned on, unless that is forced", async () => {
        expect(refusalOf(await turnOn())).toEqual(refused());
        expect(await seen(jane)).toEqual(["acme"]);
        expect((await s.ok(`GET ${v1}?id=${provider}`)).items[0].scim.enabled).toBe(false);
        expect((await turnOn({ force: true })).status).toBe(200);
        expect(await seen(jane)).toBe(401);
      });

      const replaced = (oidc = {}) => ({
        name: "login",
        defaultRole: owner,
        oidc: { issuer: issuer.url, clientId: "web", pkceEnabled: true, ...oidc },
      });
      test.each([
        ["deletion", () => `DELETE ${v2}/${provider}`, undefined],
        ["deletion by v1", () => `DELETE ${v1}/${provider}`, undefined],
        ["another issuer", () => `PATCH ${v2}/${provider}`, () => ({ oidc: { issuer: other.url } })],
        ["another client", () => `PATCH ${v2}/${provider}`, () => ({ oidc: { clientId: "cli" } })],
        ["another issuer by v1", () => `PUT ${v1}/${provider}`, () => replaced({ issuer: other.url })],
        ["another client by v1", () => `PUT ${v1}/${provider}`, () => replaced({ clientId: "cli" })],
      ] as const)("by %s, unless that is forced", async (_, call, body) => {
        for (const as of [jane, s.admin]) expect(refusalOf(await s.rest(as, call(), body?.()))).toEqual(refused());
        expect(await seen(jane)).toEqual(["acme"]);
        if (call().startsWith("PUT")) return; // the update of v1 has nowhere to say so
        expect((await s.rest(jane, `${call()}?force=true`, body?.())).status).toBe(200);
        expect(await seen(jane)).toBe(401);
      });

      test("by changes that are only checked", async () => {
        expect(refusalOf(await s.rest(jane, `DELETE ${v2}/${provider}?validateOnly=true`))).toEqual(refused());
        expect((await s.rest(jane, `DELETE ${v2}/${provider}?validateOnly=true&force=true`)).status).toBe(200);
        expect(await seen(jane)).toEqual(["acme"]);
      });

      test("over gRPC", async () => {
        const [older, newer] = [s.grpc(IdentityProvidersV1, jane), s.grpc(IdentityProvidersService, jane)];
        const identityProvider = {
          uid: provider,
          configuration: { case: "oidc", value: { issuer: other.url } },
        } as const;
        const updateMask = { paths: ["oidc.issuer"] };
        const enabling = { identityProviderId: provider, enabled: true, etag: await etagOf() };
        for (const call of [
          () => older.setScimEnabled(enabling),
          () => older.delete({ id: provider }),
          () => newer.updateIdentityProvider({ identityProvider, updateMask }),
          () => newer.deleteIdentityProvider({ uid: provider }),
        ]) {
          const failure = await failureOf(call());
          expect(failure.code).toBe(Code.FailedPrecondition);
          const [details] = failure.findDetails(PreconditionFailureSchema);
          expect(details?.violations).toMatchObject([{ type: "LAST_OWNER", subject: provider }]);
        }
        await older.setScimEnabled({ ...enabling, force: true });
        await s.grpc(IdentityProvidersV1, s.admin).delete({ id: provider, force: true });
        expect(await seen(jane)).toBe(401);
      });

      test("by two changes at once, of which each leaves the way of the other", async () => {
        const second = await makeProvider({ issuer: other.url, defaultRole: owner });
        expect(await seen(await tokenOf("john", other.url))).toEqual(["acme"]);
        const answers = await Promise.all([provider, second].map((uid) => s.rest(s.admin, `DELETE ${v2}/${uid}`)));
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
      });
    });

    describe("is another one than", () => {
      const identity = async (rule: object, group = acme) =>
        (await s.ok(`POST /iam/v2/identities/${group}`, { name: "spare", ...rule })).uid as string;
      const claimMatch = { issuer: "https://ci.example.com", subject: "deploy" };
      const keysUntil = async (expirationTime: Date) => {
        const { publicKey } = await generateKeyPair("ES256", { extractable: true });
        const issuerKeys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] });
        return { staticKeys: { issuer: "https://ci.example.com", subject: "job", issuerKeys, expirationTime } };
      };

      test("an identity in the root group that is an owner", async () => {
        const uid = await identity({ claimMatch });
        const { uid: binding } = await bind(uid, viewer);
        expect(await isFree()).toBe(false);
        await s.ok(`DELETE /iam/v2/roleBindings/${binding}`);
        await bind(uid);
        expect(await isFree()).toBe(true);
        expect((await turnOn()).status).toBe(200);
      });

      test("one whose static keys have not expired", async () => {
        await bind(await identity(await keysUntil(new Date(Date.now() + 86_400_000))));
        expect(await isFree()).toBe(true);
        const [spare] = (await s.ok(`GET /iam/v2/identities?name=spare&uidp.children_of=${acme}`)).identities;
        const expiry = new Date(Date.now() + 4000);
        await s.ok(`PATCH /iam/v2/identities/${spare.uid}`, { staticKeys: { expirationTime: expiry } });
        await expect.poll(isFree).toBe(false);
        expect(Date.now()).toBeGreaterThanOrEqual(expiry.getTime());
      });

      test("an identity in a group below, and one of another organisation", async () => {
        const folder = (await s.ok(`POST /iam/v2/groups/${acme}`, { name: "folder" })).uid;
        await bind(await identity({ claimMatch }, folder), owner, folder);
        const bolt = (await s.ok("POST /iam/v2/groups", { name: "bolt" })).uid;
        await bind(await identity({ claimMatch }, bolt), owner, bolt);
        expect(await isFree()).toBe(false);
      });

      test("a user of the same issuer for whom there is another provider", async () => {
        await makeProvider({ clientId: "cli" }, (await s.ok("POST /iam/v2/groups", { name: "bolt" })).uid);
        expect(await isFree()).toBe(false); // that one is of another organisation
        await makeProvider({ clientId: "cli" });
        expect(await isFree()).toBe(true);
      });

      test("a user whom the directory of another provider has, while it is active", async () => {
        const second = await makeProvider({ clientId: "cli" });
        const { token } = await s.ok(`POST ${v1}/${second}:generateScimToken`, {});
        expect((await turnOn({}, s.admin, second)).status).toBe(200);
        expect(await isFree()).toBe(false);
        const made = await s.rest(token, "POST /scim/v2/Users", { userName: "j", externalId: "jane", active: true });
        expect(made.status).toBe(201);
        expect(await isFree()).toBe(true);
        const setActive = (value: boolean) =>
          s.rest(token, `PATCH /scim/v2/Users/${made.body.id}`, {
            Operations: [{ op: "replace", path: "active", value }],
          });
        expect((await setActive(false)).status).toBe(200);
        expect(await isFree()).toBe(false);
      });

      test("a user of an issuer without a provider here, and a user who never existed", async () => {
        const bolt = (await s.ok("POST /iam/v2/groups", { name: "bolt" })).uid;
        await makeProvider({ issuer: other.url }, bolt);
        expect(await seen(await tokenOf("john", other.url))).toEqual(["bolt"]);
        await bind(userIdentityUid(other.url, "john"));
        expect(await isFree()).toBe(false);
        await makeProvider({ issuer: other.url });
        expect(await isFree()).toBe(true);
      });
    });

    test("is looked for only if there was one before", async () => {
      const [binding] = (await s.ok(`GET /iam/v2/roleBindings?identity=${userIdentityUid(issuer.url, "jane")}`))
        .roleBindings;
      await s.ok(`DELETE /iam/v2/roleBindings/${binding.uid}`);
      expect((await turnOn({}, s.admin)).status).toBe(200);
      expect((await s.rest(s.admin, `DELETE ${v2}/${provider}`)).status).toBe(200);
    });

    test("may be taken out by SCIM, and by changes that take nobody's way in", async () => {
      expect((await s.rest(jane, `PATCH ${v2}/${provider}`, { description: "ours" })).status).toBe(200);
      const { token } = await s.ok(`POST ${v1}/${provider}:generateScimToken`, {});
      expect((await turnOn({ force: true })).status).toBe(200);
      const scim = (call: string, body?: unknown) => s.rest(token, call, body);
      const made = await scim("POST /scim/v2/Users", { userName: "jane", externalId: "jane", active: true });
      expect([made.status, await seen(jane)]).toEqual([201, ["acme"]]);
      const off = { enabled: false, etag: await etagOf() };
      expect((await s.rest(jane, `POST ${v1}/${provider}:setScimEnabled`, off)).status).toBe(200);
      expect((await turnOn()).status).toBe(200); // jane is in the directory
      expect((await scim(`DELETE /scim/v2/Users/${made.body.id}`)).status).toBe(204);
      expect(await seen(jane)).toBe(401);
    });
  },
  { allowLoopbackIssuers: "true" },
);
