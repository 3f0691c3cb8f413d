/**
 * What identities and providers may say about tokens, how many may, and what is answered to a token that is refused.
 */
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { exportJWK, generateKeyPair } from "jose";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GroupsService } from "../../gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf } from "../../src/resource/index.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { forge, type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { settingsIn, temporaryFolder } from "../cli/platform-process.ts";
import type { Json } from "./contract.ts";
import { bind, builtInRole, freshName, makeGroup, makeIdentity } from "./fixtures.ts";
import { onEveryServer, type Platform, protocols } from "./platform.ts";

const fieldsOf = ({ details }: { details: readonly Json[] }) =>
  details[1].fieldViolations.map(({ field }: Json) => field);
const seconds = () => Math.floor(Date.now() / 1000);

/** A group that is an organisation. */
async function makeOrganisation(platform: Platform): Promise<string> {
  return (await platform.ok("CreateGroup", { parent: "", group: { name: freshName("org") } })).uid;
}

onEveryServer(
  "a quota",
  (platform) => {
    const patterned = (subjectPattern = "a.*") => ({ issuer: "https://issuer.example.com", subjectPattern });
    const refused = async (method: string, request: Json) => {
      const { message, details } = await platform().refused(method, request, "RESOURCE_EXHAUSTED");
      expect(details.map((detail) => detail["@type"])).toContain("type.googleapis.com/google.rpc.QuotaFailure");
      return message;
    };

    test("of patterns is the organisation's, wherever in it its identities are", async () => {
      const organisation = await makeOrganisation(platform());
      const { uid: group } = await makeGroup(platform(), organisation);
      const patterns = [
        patterned(),
        { issuerPattern: "https://h/.*", subject: "s" },
        { issuer: "https://h", subject: "s", audiencePattern: "a.*" },
      ];
      const made = [];
      for (const [i, claimMatch] of patterns.entries())
        made.push(await makeIdentity(platform(), i % 2 === 0 ? organisation : group, { claimMatch }));
      const literal = await makeIdentity(platform(), group);
      const request = (parent: string) => ({ parent, identity: { name: "x", claimMatch: patterned() } });
      for (const parent of [organisation, group])
        expect(await refused("CreateIdentity", request(parent))).toBe(
          "Resource exhausted: an organisation can have 3 patterns in its identities",
        );
      const claimPatterns = { identity: { uid: literal.uid, claimMatch: { claimPatterns: { ref: "a" } } } };
      await refused("UpdateIdentity", { ...claimPatterns, updateMask: "claimMatch.claimPatterns" });
      const change = { identity: { uid: made[0]!.uid, claimMatch: { subjectPattern: "b.*" } } };
      await platform().ok("UpdateIdentity", { ...change, updateMask: "claimMatch.subjectPattern" });
      await makeIdentity(platform(), await makeOrganisation(platform()), { claimMatch: patterned() });
      const two = { subject: "s", claimPatterns: { a: "1", b: "2" } };
      const last = { issuer: "https://issuer.example.com", ...two };
      await platform().ok("DeleteIdentity", { uid: made[1]!.uid });
      await refused("CreateIdentity", { parent: group, identity: { name: "x", claimMatch: last } });
      await platform().ok("CreateIdentity", request(group));
    });

    test("of identities with static keys of one issuer and subject is four", async () => {
      const organisation = await makeOrganisation(platform());
      const { jwk } = await testKey("ES256", "k");
      const keys = (subject: string) => {
        return { issuer: "https://issuer.example.com", subject, issuerKeys: JSON.stringify({ keys: [jwk] }) };
      };
      for (let i = 0; i < 4; i++) await makeIdentity(platform(), organisation, { staticKeys: keys("a") });
      const another = await makeIdentity(platform(), organisation, { staticKeys: keys("b") });
      await refused("CreateIdentity", { parent: organisation, identity: { name: "x", staticKeys: keys("a") } });
      const rename = { identity: { uid: another.uid, staticKeys: { subject: "a" } }, updateMask: "staticKeys.subject" };
      await refused("UpdateIdentity", rename);
      await makeIdentity(platform(), await makeOrganisation(platform()), { staticKeys: keys("a") });
    });
  },
  { maxPatterns: 3 },
);

onEveryServer("the platform's own issuer", (platform) => {
  test("is not an issuer outside", async () => {
    const own = platform().baseUrl;
    await platform().restart({ allowLoopbackIssuers: true });
    const { jwk } = await testKey("ES256", "k");
    const issuerKeys = JSON.stringify({ keys: [jwk] });
    for (const [field, rule] of [
      ["claim_match.issuer", { claimMatch: { issuer: own, subject: "s" } }],
      ["claim_match.issuer", { claimMatch: { issuer: `${own}/`, subjectPattern: "s" } }],
      ["claim_match.issuer_pattern", { claimMatch: { issuerPattern: own, subject: "s" } }],
      ["claim_match.issuer_pattern", { claimMatch: { issuerPattern: `${own.replaceAll(".", "\\.")}`, subject: "s" } }],
      ["static_keys.issuer", { staticKeys: { issuer: own, subject: "s", issuerKeys } }],
    ] as const) {
      const request = { parent: platform().root, identity: { name: "x", ...rule } };
      expect(fieldsOf(await platform().refused("CreateIdentity", request, "INVALID_ARGUMENT"))).toEqual([field]);
    }
    const oidc = { clientId: "web", pkceEnabled: true };
    const provider = { name: "login", defaultRole: await builtInRole(platform(), "viewer") };
    for (const issuer of [own, `${own}/`]) {
      const identityProvider = { ...provider, oidc: { ...oidc, issuer } };
      const request = { parent: platform().root, identityProvider };
      expect(fieldsOf(await platform().refused("CreateIdentityProvider", request, "INVALID_ARGUMENT"))).toEqual([
        "oidc.issuer",
      ]);
    }
    const identity = { uid: platform().administrator, description: "Still the first" };
    await platform().ok("UpdateIdentity", { identity, updateMask: "description" });
  });
});

onEveryServer("static keys", (platform) => {
  test("with a private member, or too weak, are refused", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const [whole, half] = [await exportJWK(privateKey), await exportJWK(publicKey)];
    const create = (...keys: unknown[]) => {
      const staticKeys = {
        issuer: "https://issuer.example.com",
        subject: freshName(),
        issuerKeys: JSON.stringify({ keys }),
      };
      return { parent: platform().root, identity: { name: "x", staticKeys } };
    };
    await platform().ok("CreateIdentity", create(half));
    for (const [keys, description] of [
      [[half, whole], 'keys[1] has the private member "d"'],
      [[half, { kty: "oct", k: "AAAA" }], 'keys[1] has the private member "k"'],
      [[{ kty: "RSA", n: "x".repeat(171), e: "AQAB" }], "keys[0] has 1024 bits, not 2048 to 8192"],
    ] as const) {
      const { details } = await platform().refused("CreateIdentity", create(...keys), "INVALID_ARGUMENT");
      expect(details[1].fieldViolations).toEqual([{ field: "static_keys.issuer_keys", description }]);
    }
  });
});

onEveryServer(
  "tokens by pattern and by keys carried",
  (platform) => {
    let key: TestKey;
    let issuer: LocalIssuer;
    let group: string;
    beforeAll(async () => {
      key = await testKey("ES256", "k");
      issuer = await startIssuer(key);
      group = (await makeGroup(platform())).uid;
    });
    afterAll(() => issuer?.close());

    const tokenOf = (sub: string, more: Json = {}, signer = key) =>
      sign(signer, { iss: issuer.url, sub, aud: platform().baseUrl, exp: seconds() + 300, ...more });
    const trust = async (rule: Json, parent = group) => {
      const { uid } = await makeIdentity(platform(), parent, rule);
      await bind(platform(), parent, uid, await builtInRole(platform(), "viewer"));
    };
    const isAccepted = async (as: string, uid = group) => (await platform().call("GetGroup", { uid }, { as })).ok;

    test("an issuer below the pattern's origin is asked, and one that the pattern does not match is refused", async () => {
      const subject = freshName();
      const origin = issuer.url.replaceAll(".", "\\.");
      await trust({ claimMatch: { issuerPattern: `${origin}/[a-z]+`, subject } });
      for (const path of ["/acme", "/acme1"]) {
        const document = { issuer: `${issuer.url}${path}`, jwks_uri: `${issuer.url}/keys` };
        issuer.answers.set(`${path}/.well-known/openid-configuration`, { status: 200, body: JSON.stringify(document) });
      }
      expect(await isAccepted(await tokenOf(subject, { iss: `${issuer.url}/acme` }))).toBe(true);
      expect(await isAccepted(await tokenOf(subject, { iss: `${issuer.url}/acme1` }))).toBe(false);
      expect(await isAccepted(await tokenOf(subject))).toBe(false);
    });

    test("a pattern of an earlier version matches nothing, and does not keep its identity from being changed", async () => {
      const uid = newUid(group);
      const subject = freshName();
      const iss = { case: "issuerPattern", value: "http://127.*" } as const;
      const rule = { iss, sub: { case: "subject", value: subject } as const };
      const identity = create(IdentitySchema, { name: "x", relationship: { case: "claimMatch", value: rule } });
      const spine = { uid, parent: group, createTimeUs: 0, updateTimeUs: 0 };
      await platform().write((session) =>
        session.insert(identities.table, { ...spine, ...contentOf(identities, identity) }),
      );
      await bind(platform(), group, uid, await builtInRole(platform(), "viewer"));
      issuer.requests.length = 0;
      expect(await isAccepted(await tokenOf(subject))).toBe(false);
      expect(issuer.requests).toEqual([]);
      await platform().ok("UpdateIdentity", { identity: { uid, name: "y" }, updateMask: "name" });
      const issuerPattern = issuer.url.replaceAll(".", "\\.");
      const change = { identity: { uid, claimMatch: { issuerPattern } }, updateMask: "claimMatch.issuerPattern" };
      await platform().ok("UpdateIdentity", change);
      expect(await isAccepted(await tokenOf(subject))).toBe(true);
    });

    test("the keys of two organisations are tried, however many identities one of them has", async () => {
      const subject = freshName();
      const [one, other] = [await makeOrganisation(platform()), await makeOrganisation(platform())];
      const keys: Record<string, TestKey[]> = { [one]: [], [other]: [] };
      const iss = "https://nowhere.example.com";
      for (const organisation of [one, other])
        for (let i = 0; i < 4; i++) {
          const own = await testKey("ES256", "k");
          keys[organisation]!.push(own);
          const issuerKeys = JSON.stringify({ keys: [own.jwk] });
          await trust({ staticKeys: { issuer: iss, subject, issuerKeys } }, organisation);
        }
      const accepted = async (organisation: string) => {
        const tokens = await Promise.all(keys[organisation]!.map((own) => tokenOf(subject, { iss }, own)));
        return (await Promise.all(tokens.map((token) => isAccepted(token, organisation)))).filter(Boolean).length;
      };
      const counts = [await accepted(one), await accepted(other)];
      expect(Math.max(...counts)).toBe(4);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
    });
  },
  { allowLoopbackIssuers: true },
);

onEveryServer(
  "401",
  (platform) => {
    let key: TestKey;
    let issuer: LocalIssuer;
    let subject: string;
    beforeAll(async () => {
      key = await testKey("ES256", "k");
      issuer = await startIssuer(key);
      subject = freshName();
      await makeIdentity(platform(), platform().root, { claimMatch: { issuer: issuer.url, subject } });
    });
    afterAll(() => issuer?.close());
    const tokenOf = (more: Json = {}, signer = key) =>
      sign(signer, { iss: issuer.url, sub: subject, aud: platform().baseUrl, exp: seconds() + 300, ...more });

    /** The challenge over every protocol, in headers or in metadata. */
    async function challenge(authorization: string | null): Promise<string> {
      const headers: Record<string, string> = authorization === null ? {} : { authorization };
      const found = new Set<string | null>();
      for (const over of protocols) {
        const outcome = await platform().call("ListGroups", {}, { as: null, headers, over });
        expect(outcome.ok ? 0 : outcome.status.code).toBe(16);
        found.add(outcome.header("www-authenticate"));
      }
      const web = createClient(
        GroupsService,
        createGrpcWebTransport({ baseUrl: platform().baseUrl, httpVersion: "1.1" }),
      );
      const error = await web.listGroups({}, { headers }).catch((reason) => reason);
      found.add(error.metadata.get("www-authenticate"));
      expect(found.size, "the same over every protocol").toBe(1);
      return [...found][0] ?? "";
    }

    const invalid = 'Bearer error="invalid_token"';
    test("asks for a token where there is none", async () => {
      expect(await challenge(null)).toBe("Bearer");
      expect(await challenge("Basic YTpi")).toBe("Bearer");
    });

    test("says of a token what it says itself, and of a forged or unknown one nothing", async () => {
      const described = (what: string) => `${invalid}, error_description="the token is ${what}"`;
      const bearer = async (token: string | Promise<string>) => challenge(`Bearer ${await token}`);
      expect(await bearer(tokenOf({ exp: seconds() - 100 }))).toBe(described("expired"));
      expect(await bearer(tokenOf({ nbf: seconds() + 100 }))).toBe(described("not yet valid"));
      expect(await bearer(tokenOf({ aud: `${platform().baseUrl}/` }))).toBe(described("for another audience"));
      expect(await bearer(platform().token(platform().administrator, -100))).toBe(described("expired"));
      const stranger = await testKey("ES256", "k");
      for (const token of [
        await tokenOf({}, stranger),
        await tokenOf({ exp: seconds() - 100 }, stranger),
        await tokenOf({ sub: "nobody" }),
        await tokenOf({ iss: "https://issuer.example.com" }),
        forge({ alg: "none" }, {}),
        "a.b.c",
      ])
        expect(await bearer(token)).toBe(invalid);
    });
  },
  { allowLoopbackIssuers: true },
);

test("the log says why a token is refused, with the request's id, and nothing of the token", async () => {
  const database = settingsIn(await temporaryFolder()).database[1]!;
  const config = readConfig({
    flags: { listen: "127.0.0.1:0", adminListen: "off", database },
    env: {},
    warn: () => {},
  });
  const lines: Record<string, unknown>[] = [];
  const server = await startServer(
    config,
    pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line)) }),
  );
  try {
    const token = forge(
      { alg: "ES256" },
      { iss: "https://issuer.example.com", sub: "s", aud: "a", exp: seconds() + 9 },
    );
    const headers = { authorization: `Bearer ${token}`, "x-request-id": "r-1" };
    const reason = { msg: "token refused", reason: "no identity or provider matches it", requestId: "r-1" };
    for (const [path, method] of [
      ["/iam/v2/groups", "platform.iam.v2.GroupsService/ListGroups"],
      ["/sts/exchange", "sts/exchange"],
      [`/sts/exchange?identity=${"0".repeat(40)}`, "sts/exchange"],
    ] as const) {
      lines.length = 0;
      await (await fetch(`${server.baseUrl}${path}`, { headers })).text();
      expect(lines.filter(({ msg }) => msg === "token refused")).toMatchObject([{ ...reason, method }]);
      expect(JSON.stringify(lines)).not.toContain(token.slice(0, 20));
    }
    lines.length = 0;
    await (await fetch(`${server.baseUrl}/iam/v2/groups`)).text();
    expect(lines.filter(({ msg }) => msg === "token refused")).toEqual([]);
  } finally {
    await server.stop();
  }
});
