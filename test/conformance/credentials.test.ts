/** Credentials are capabilities: nobody decides who acts as an identity that is granted more than they hold. */
import { exportJWK, generateKeyPair } from "jose";
import { expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { bind, builtInRole, freshName, makeGroup, makeIdentity, makeMember, makeRole, makeUser } from "./fixtures.ts";
import { onEveryServer, type Platform, protocols } from "./platform.ts";

const keySet = await (async () => {
  const { publicKey } = await generateKeyPair("ES256", { extractable: true });
  return JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] });
})();

const staticKeys = { issuer: "https://evil.example.com", subject: "me", issuerKeys: keySet };
const claimMatch = { issuer: "https://evil.example.com", subject: "me" };

/** Every way to say in an update that others act as the identity: the body without the uid, and the mask. */
const takeovers: readonly (readonly [string, Json, string?])[] = [
  ["another subject", { claimMatch: { subject: "me" } }],
  ["another issuer, by a nested mask", { claimMatch }, "claimMatch.issuer"],
  ["a pattern in the place of the subject", { claimMatch: { subjectPattern: ".*" } }, "claimMatch.subjectPattern"],
  ["a claim less", { claimMatch }, "claimMatch"],
  ["another audience", { claimMatch: { audience: "mine" } }],
  ["another claim", { claimMatch: { claims: { repo: "mine" } } }],
  ["a pattern of a claim", { claimMatch: { claimPatterns: { repo: ".*" } } }],
  ["static keys", { staticKeys }],
  ["static keys, by a mask", { staticKeys }, "staticKeys"],
  ["everything at once", { name: "new", staticKeys }, "*"],
];

onEveryServer("credentials of identities", (platform) => {
  test.each(takeovers)("stay with the owner: %s", async (_, body, updateMask) => {
    const { uid: org } = await makeGroup(platform(), platform().root);
    const { token: as } = await makeMember(platform(), org, ["CAP_IAM_IDENTITY_UPDATE", "CAP_REPO_LIST"]);
    const rule = { issuer: "https://issuer.example.com", subject: freshName(), claims: { repo: "ours" } };
    const { uid } = await makeIdentity(platform(), org, { claimMatch: rule });
    await bind(platform(), org, uid, await builtInRole(platform(), "owner"));
    const request = { identity: { uid, ...body }, ...(updateMask !== undefined && { updateMask }) };
    const status = await platform().refused("UpdateIdentity", request, "PERMISSION_DENIED", { as });
    expect(status.message).not.toMatch(/CAP_|owner|\d/);
    expect(await platform().read("GetIdentity", { uid })).toMatchObject({ claimMatch: rule });
  });

  test.each(protocols)("change over %s by whoever holds all that is granted, wherever", async (over) => {
    const { uid: org } = await makeGroup(platform(), platform().root);
    const { uid: folder } = await makeGroup(platform(), org);
    const weak = await makeMember(platform(), org, ["CAP_IAM_IDENTITY_UPDATE"]);
    const { uid } = await makeIdentity(platform(), org);
    const change = (as?: string) => ({ identity: { uid, claimMatch: { subject: freshName() } }, ...(as && { as }) });
    const update = (as: string) => platform().call("UpdateIdentity", change(), { as, over });
    const code = async (as: string) => {
      const outcome = await update(as);
      return outcome.ok ? "OK" : outcome.status.code;
    };
    expect(await code(weak.token)).toBe("OK"); // nothing is granted yet
    const role = await makeRole(platform(), org, ["CAP_REPO_LIST", "CAP_TAG_LIST"]);
    const binding = await bind(platform(), folder, uid, role.uid);
    expect(await code(weak.token)).toBe(7);
    const elsewhere = await makeMember(platform(), org, ["CAP_REPO_LIST", "CAP_TAG_LIST"]);
    expect(await code(elsewhere.token)).toBe(7); // may not update at all
    const half = await makeRole(platform(), folder, ["CAP_REPO_LIST"]);
    await bind(platform(), folder, weak.uid, half.uid);
    expect(await code(weak.token)).toBe(7);
    const rest = await makeRole(platform(), folder, ["CAP_TAG_LIST"]);
    await bind(platform(), folder, weak.uid, rest.uid);
    expect(await code(weak.token)).toBe("OK"); // held at the scope of the grant, by several bindings together
    const above = await bind(platform(), org, uid, role.uid);
    expect(await code(weak.token)).toBe(7); // held below the scope only
    await platform().ok("DeleteRoleBinding", { uid: above.uid });
    expect(await code(weak.token)).toBe("OK");
    await platform().ok("DeleteRoleBinding", { uid: binding.uid });
  });

  test("need nothing where they stay as they are", async () => {
    const { uid: org } = await makeGroup(platform(), platform().root);
    const { token: as } = await makeMember(platform(), org, ["CAP_IAM_IDENTITY_UPDATE"]);
    const { uid, claimMatch: rule } = await makeIdentity(platform(), org);
    await bind(platform(), org, uid, await builtInRole(platform(), "owner"));
    const identity = { uid, name: "renamed", description: "Ours", claimMatch: rule };
    const all = await platform().ok("UpdateIdentity", { identity, updateMask: "*" }, { as });
    expect(all).toMatchObject({ name: "renamed", claimMatch: rule });
    await platform().ok("UpdateIdentity", { identity: { uid, company: "acme" } }, { as });
  });

  test("live no longer by whoever lacks what is granted: static keys are prolonged by owners", async () => {
    const { uid: org } = await makeGroup(platform(), platform().root);
    const { token: as } = await makeMember(platform(), org, ["CAP_IAM_IDENTITY_UPDATE"]);
    const expirationTime = new Date(Date.now() + 3_600_000).toISOString();
    const { uid } = await makeIdentity(platform(), org, { staticKeys: { ...staticKeys, expirationTime } });
    await bind(platform(), org, uid, await builtInRole(platform(), "viewer"));
    const later = { staticKeys: { expirationTime: new Date(Date.now() + 7_200_000).toISOString() } };
    await platform().refused("UpdateIdentity", { identity: { uid, ...later } }, "PERMISSION_DENIED", { as });
  });

  test("change by no token that is narrowed to less than is granted", async () => {
    const { uid: org } = await makeGroup(platform(), platform().root);
    const owner = await makeMember(platform(), org, "owner");
    const { uid } = await makeIdentity(platform(), org);
    await bind(platform(), org, uid, await builtInRole(platform(), "viewer"));
    const identity = { uid, claimMatch: { subject: freshName() } };
    const response = await platform().fetch("/sts/exchange?cap=identity.update", {
      headers: { authorization: `Bearer ${owner.token}` },
    });
    const { token: as } = (await response.json()) as { token: string };
    await platform().ok("UpdateIdentity", { identity: { uid, name: "new" } }, { as });
    await platform().refused("UpdateIdentity", { identity }, "PERMISSION_DENIED", { as });
    await platform().ok("UpdateIdentity", { identity }, { as: owner.token });
  });
});

/** What may be done to providers, and nothing else. */
const providerWork = [
  "CAP_IAM_IDENTITY_PROVIDERS_CREATE",
  "CAP_IAM_IDENTITY_PROVIDERS_UPDATE",
  "CAP_IAM_IDENTITY_PROVIDERS_DELETE",
  "CAP_IAM_ROLE_BINDINGS_CREATE",
];

onEveryServer("credentials of the users of providers", (platform) => {
  const issuer = "https://login.example.com";
  const oidc = (more: Json = {}) => ({ issuer, clientId: "ours", pkceEnabled: true, ...more });

  /** An organisation with a provider, somebody who may only work on providers there, and a user who owns it. */
  async function organisation(p: Platform, user: string | undefined) {
    const { uid: org } = await makeGroup(p, "");
    const weak = await makeMember(p, org, providerWork);
    const provider = { name: "login", defaultRole: weak.roleUid, oidc: oidc() };
    const made = await p.ok("CreateIdentityProvider", { parent: org, identityProvider: provider });
    const { uid: folder } = await makeGroup(p, org);
    if (user !== undefined) await bind(p, folder, user, await builtInRole(p, "owner"));
    return { org, as: weak.token, uid: made.uid as string, provider };
  }

  test("stay with their provider: whoever lacks what they are granted changes neither issuer nor client", async () => {
    const p = platform();
    const { org, as, uid, provider } = await organisation(p, (await makeUser(p, issuer)).uid);
    for (const change of [{ issuer: "https://evil.example.com" }, { clientId: "evil" }]) {
      const identityProvider = { uid, oidc: change };
      await p.refused("UpdateIdentityProvider", { identityProvider }, "PERMISSION_DENIED", { as });
    }
    const second = { parent: org, identityProvider: { ...provider, oidc: oidc({ clientId: "evil" }) } };
    await p.refused("CreateIdentityProvider", second, "PERMISSION_DENIED", { as });
    await p.refused("DeleteIdentityProvider", { uid }, "PERMISSION_DENIED", { as });
    await p.ok("UpdateIdentityProvider", { identityProvider: { uid, description: "Ours" } }, { as });
    const other = { ...provider, oidc: oidc({ issuer: "https://other.example.com" }) };
    const { uid: others } = await p.ok("CreateIdentityProvider", { parent: org, identityProvider: other }, { as });
    await p.ok("DeleteIdentityProvider", { uid: others }, { as }); // its users are granted nothing
    const theirs = { uid, oidc: { clientId: "new" } };
    await p.ok("UpdateIdentityProvider", { identityProvider: theirs });
  });

  test("may be taken from a second client of theirs by whoever may delete providers", async () => {
    const p = platform();
    const { org, as, provider } = await organisation(p, (await makeUser(p, issuer)).uid);
    const second = { ...provider, oidc: oidc({ clientId: "stolen" }) };
    const { uid } = await p.ok("CreateIdentityProvider", { parent: org, identityProvider: second });
    await p.ok("DeleteIdentityProvider", { uid }, { as });
  });

  test("are theirs before they first sign in", async () => {
    const p = platform();
    const { org, as, uid } = await organisation(p, undefined);
    const owner = await makeMember(p, org, "owner");
    const { uid: user } = await p.ok("LookupIdentity", { issuer, subject: freshName() });
    const roleBinding = { identityUid: user, roleUid: await builtInRole(p, "owner") };
    const change = { identityProvider: { uid, oidc: { clientId: "evil" } } };
    await p.ok("UpdateIdentityProvider", { identityProvider: { uid, oidc: { clientId: "good" } } }, { as });
    await p.ok("CreateRoleBinding", { parent: org, roleBinding }, { as: owner.token });
    await p.refused("UpdateIdentityProvider", change, "PERMISSION_DENIED", { as });
    await p.ok("UpdateIdentityProvider", change, { as: owner.token });
  });
});
