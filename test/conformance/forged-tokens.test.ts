/**
 * Forged and broken tokens, sent to the port: all are refused in the same words over every protocol. They imitate a
 * token of the platform's own, of an issuer that publishes its keys, and of one whose keys an identity carries.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  brokenHeaders,
  forgedTokens,
  type Loot,
  misissuedTokens,
  rsaSigned,
  shortRsaKey,
  signText,
  type TrustedHand,
} from "../auth/forged-tokens.ts";
import { type LocalIssuer, sign, startIssuer, testKey } from "../auth/local-issuer.ts";
import type { Json } from "./contract.ts";
import { bind, builtInRole, freshUid, makeIdentity } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const [key, second, rsa, short] = [
  await testKey("ES256", "a"),
  await testKey("ES256", "z"),
  await testKey("RS256", "r"),
  await shortRsaKey("short"),
];
const published = [key, second, rsa, short];

const errorInfo = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNAUTHENTICATED" };
const refusal = (text: string) => ({
  code: 16,
  message: `Unauthenticated: ${text}`,
  details: [{ ...errorInfo, domain: "iam.platform.internal" }],
});

onEveryServer(
  "forged tokens",
  (platform) => {
    let external: LocalIssuer;
    let viewer: string;
    /** Tokens to imitate, and who issues them. */
    const loot: Record<string, Loot> = {};
    const hands: Record<string, TrustedHand> = {};

    beforeAll(async () => {
      const s = platform();
      external = await startIssuer(...published);
      viewer = await builtInRole(s, "viewer");
      const { keys } = (await (await s.fetch("/.well-known/jwks.json")).json()) as Json;
      expect(keys).toHaveLength(1);
      loot.platform = { good: s.admin, other: await s.token(s.administrator), jwk: keys[0] };

      const aud = JSON.parse(Buffer.from(s.admin.split(".")[1]!, "base64url").toString()).iss;
      const hand = (iss: string, sub: string): TrustedHand => {
        const now = Math.floor(Date.now() / 1000);
        return { key, rsa, short, now, claims: { iss, sub, aud, iat: now, exp: now + 3600 } };
      };
      hands.publisher = hand(external.url, "robot");
      hands.puller = hand("https://pull.example", "puller");
      const issuerKeys = JSON.stringify({ keys: published.flatMap(({ jwk }) => (jwk === short.jwk ? [] : [jwk])) });
      await trust({ claimMatch: { issuer: external.url, subject: "robot" } });
      await trust({ staticKeys: { issuer: "https://pull.example", subject: "puller", issuerKeys, ...validity } });
      for (const [name, { claims }] of Object.entries(hands))
        loot[name] = {
          good: await sign(key, { ...claims }),
          other: await sign(key, { ...claims, jti: "1" }),
          jwk: key.jwk,
        };
    });
    afterAll(() => external?.close());

    const validity = { expirationTime: new Date(Date.now() + 86_400_000).toISOString() };

    async function trust(rule: object): Promise<void> {
      const { uid } = await makeIdentity(platform(), platform().root, rule);
      await bind(platform(), platform().root, uid, viewer);
    }

    const request = () => ({ uid: platform().root });

    async function expectRefused(authorization: string): Promise<void> {
      const options = { as: null, headers: { authorization } };
      const status = await platform().refused("GetGroup", request(), "UNAUTHENTICATED", options);
      expect(status).toEqual(refusal("invalid bearer token"));
    }

    async function expectAccepted(token: string): Promise<void> {
      expect(await platform().read("GetGroup", request(), { as: token })).toMatchObject(request());
    }

    describe.each(["platform", "publisher", "puller"])("that imitate one of the %s", (name) => {
      test("are told from good ones", async () => {
        const { good, other } = loot[name]!;
        for (const token of [good, other]) await expectAccepted(token);
      });

      test.each(Object.keys(forgedTokens))("%s", async (forgery) => {
        await expectRefused(`Bearer ${await forgedTokens[forgery]!(loot[name]!)}`);
      });

      test("broken headers", async () => {
        for (const header of brokenHeaders(loot[name]!.good)) await expectRefused(header);
      });

      test("are not accepted afterwards either, and good ones are", async () => {
        const { good } = loot[name]!;
        await expectRefused(`Bearer ${await forgedTokens["an impostor with the same kid"]!(loot[name]!)}`);
        await expectAccepted(good);
      });
    });

    describe.each(["publisher", "puller"])("that the %s signs itself", (name) => {
      test("are told from good ones", async () => {
        const hand = hands[name]!;
        await expectAccepted(await signText(key, {}, JSON.stringify(hand.claims)));
        await expectAccepted(await sign(second, { ...hand.claims }));
        await expectAccepted(await rsaSigned(hand, "RS256", "sha256"));
      });

      test.each(Object.keys(misissuedTokens))("%s", async (mistake) => {
        await expectRefused(`Bearer ${await misissuedTokens[mistake]!(hands[name]!)}`);
      });
    });

    test("no token at all", async () => {
      for (const headers of [{}, { authorization: "" }]) {
        const status = await platform().refused("GetGroup", request(), "UNAUTHENTICATED", { as: null, headers });
        expect(status).toEqual(refusal("missing bearer token"));
      }
    });

    test("the platform's own that has run out, names nobody, or somebody who is gone", async () => {
      const s = platform();
      await expectRefused(`Bearer ${await s.token(s.administrator, -120)}`);
      await expectRefused(`Bearer ${await s.token("0".repeat(40))}`);
      const { uid } = await makeIdentity(s, s.root);
      const token = await s.token(uid);
      expect(await s.call("ListGroups", {}, { as: token })).toMatchObject({ ok: true });
      await s.ok("DeleteIdentity", { uid });
      await expectRefused(`Bearer ${token}`);
    });

    test("are refused before anything else is looked at", async () => {
      for (const uid of ["nonsense", freshUid(), freshUid(platform().root)]) {
        const status = await platform().refused("GetGroup", { uid }, "UNAUTHENTICATED", { as: "forged" });
        expect(status).toEqual(refusal("invalid bearer token"));
      }
    });
  },
  { allowLoopbackIssuers: true },
);
