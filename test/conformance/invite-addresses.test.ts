/** Invites with an e-mail address: only an issuer that the organisation has chosen says whose it is. */
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { userIdentityUid } from "../../src/new-uid.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { onEverySharedServer } from "./iam-server.ts";

const viewer = builtInRoleUid("viewer");
const editor = builtInRoleUid("editor");
const address = "Alice@example.com";

let key: TestKey;
let ours: LocalIssuer;
let theirs: LocalIssuer;
beforeAll(async () => {
  key = await testKey("ES256", "k1");
});
beforeEach(async () => {
  ours = await startIssuer(key);
  theirs = await startIssuer(key);
});
afterEach(() => {
  ours.close();
  theirs.close();
});

function tokenBy(issuer: string, claims: Record<string, unknown>, by: TestKey = key): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return sign(by, { iss: issuer, sub: "alice", aud: "client", iat: now, exp: now + 600, ...claims });
}

onEverySharedServer(
  "invites to an address",
  (server) => {
    const organisation = async (): Promise<string> => (await server().ok("POST /iam/v2/groups", { name: "ours" })).uid;
    const provide = (group: string, { url }: LocalIssuer) =>
      server().ok(`POST /iam/v2/identityProviders/${group}`, {
        name: "login",
        defaultRole: viewer,
        oidc: { issuer: url, clientId: "client", pkceEnabled: true },
      });
    const invite = async (group: string) => {
      const body = { roleUid: editor, ttl: "600s", email: address, singleUse: true };
      return (await server().ok(`POST /iam/v2/groupInvites/${group}`, body)).code as string;
    };
    const accept = (token: string, code: string) => server().rest(token, "POST /iam/v2/groupInvites:accept", { code });
    const verified = { email: address, email_verified: true };

    it("are for the user whose address the organisation's provider has verified", async () => {
      const { ok } = server();
      const root = await organisation();
      await provide(root, ours);
      const group = (await ok(`POST /iam/v2/groups/${root}`, { name: "below" })).uid;
      for (const [sub, email] of [
        ["alice", address],
        ["again", "Alice@EXAMPLE.com"],
      ]) {
        const { status, body } = await accept(
          await tokenBy(ours.url, { ...verified, sub, email }),
          await invite(group),
        );
        expect(status).toBe(200);
        expect([body.identity.uid, body.group.uid]).toEqual([userIdentityUid(ours.url, sub!), group]);
      }
    });

    it("are for that user with a token of the platform's own too", async () => {
      const { rest } = server();
      const root = await organisation();
      await provide(root, ours);
      const exchanged = await rest(await tokenBy(ours.url, verified), "GET /sts/exchange");
      expect(exchanged.status).toBe(200);
      const { body } = await accept(exchanged.body.token, await invite(root));
      expect(body.identity.uid).toBe(userIdentityUid(ours.url, "alice"));
    });

    const refused: [string, Record<string, unknown>][] = [
      ["another address", { ...verified, email: "bob@example.com" }],
      ["the address at another domain", { ...verified, email: "Alice@example.org" }],
      ["the address in another case", { ...verified, email: "alice@example.com" }],
      ["the address, unverified", { email: address }],
      ["the address, verified only in words", { email: address, email_verified: "true" }],
      ["several addresses", { ...verified, email: [address] }],
      ["no address", {}],
    ];
    it.each(refused)("are not for a user with %s", async (_, claims) => {
      const root = await organisation();
      await provide(root, ours);
      const code = await invite(root);
      expect((await accept(await tokenBy(ours.url, claims), code)).status).toBe(404);
      expect((await accept(await tokenBy(ours.url, verified), code)).status).toBe(200);
    });

    it("are not for whom another organisation's provider says to have the address", async () => {
      const { ok, rest } = server();
      const root = await organisation();
      await provide(root, ours);
      const other = (await ok("POST /iam/v2/groups", { name: "other" })).uid;
      await provide(other, theirs);
      const token = await tokenBy(theirs.url, verified);
      expect((await rest(token, `GET /iam/v2/groups/${other}`)).status).toBe(200);
      expect((await accept(token, await invite(root))).status).toBe(404);
      expect((await accept(token, await invite(other))).status).toBe(200);
    });

    it("are not for an identity whose rule somebody in a group wrote, whatever issuer it names", async () => {
      const { ok, rest } = server();
      const root = await organisation();
      await provide(root, ours);
      const own = await testKey("ES256", "own");
      const keys = { issuer: ours.url, subject: "alice", issuerKeys: JSON.stringify({ keys: [own.jwk] }) };
      const carrying = { name: "carrying", staticKeys: { ...keys, audiences: ["client"] } };
      const matching = { name: "matching", claimMatch: { issuer: theirs.url, subject: "alice", audience: "client" } };
      for (const identity of [carrying, matching]) await ok(`POST /iam/v2/identities/${root}`, identity);
      const code = await invite(root);
      for (const token of [await tokenBy(ours.url, verified, own), await tokenBy(theirs.url, verified)]) {
        expect((await rest(token, "GET /iam/v2/groups")).status).toBe(200);
        expect((await accept(token, code)).status).toBe(404);
      }
    });

    it("are for nobody once the provider is gone", async () => {
      const { ok } = server();
      const root = await organisation();
      const { uid } = await provide(root, ours);
      const other = (await ok("POST /iam/v2/groups", { name: "other" })).uid;
      await provide(other, ours);
      const token = await tokenBy(ours.url, verified);
      await ok(`DELETE /iam/v2/identityProviders/${uid}`);
      expect((await accept(token, await invite(root))).status).toBe(404);
      expect((await accept(token, await invite(other))).status).toBe(200);
    });
  },
  { allowLoopbackIssuers: "true" },
);
