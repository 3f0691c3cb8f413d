import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createIssuer, generateSigningKey, type Issuer } from "../../../src/auth/index.ts";
import { createVerifier, type Verdict } from "../../../src/cli/events/verify.ts";
import {
  type Forgery,
  type PublishedIssuer,
  publishIssuer,
  type Subscription,
  signDelivery,
} from "../signed-deliveries.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const group = "0123456789012345678901234567890123456789/0123456789abcdef";

let published: PublishedIssuer;
let stranger: Issuer;
let subscription: Subscription;

beforeAll(async () => {
  published = await publishIssuer();
  const { url } = published.issuer;
  stranger = await createIssuer({ issuer: url, keys: [await generateSigningKey(Date.now)], clock: Date.now });
  subscription = { issuer: url, group, secret };
});
afterAll(() => published.close());

async function verdictOf(forgery: Forgery, known: Partial<Subscription> = subscription): Promise<Verdict> {
  const { issuer } = published;
  const verify = createVerifier({ issuer: issuer.url, group: known.group, secret: known.secret, now: Date.now });
  return verify(await signDelivery(issuer, subscription, forgery));
}

const outcomes = ({ status, event, token, signature }: Verdict) => [
  status,
  event.outcome,
  token.outcome,
  signature.outcome,
];

test("a delivery of the platform's verifies", async () => {
  expect(await verdictOf({})).toEqual({
    status: 200,
    event: { outcome: "verified", text: "CloudEvents 1.0" },
    token: { outcome: "verified", text: `webhook:${group}` },
    signature: { outcome: "verified", text: "Standard Webhooks" },
  });
});

test("what is not known is not checked", async () => {
  expect(outcomes(await verdictOf({ secret: "whsec_AAAA" }, {}))).toEqual([200, "verified", "verified", "unchecked"]);
});

describe("is not an event", () => {
  test.each<[string, Forgery, string]>([
    ["without a version", { headers: { "ce-specversion": undefined } }, "ce-specversion is not 1.0"],
    ["of another version", { headers: { "ce-specversion": "0.3" } }, "ce-specversion is not 1.0"],
    ["without an id", { headers: { "ce-id": undefined } }, "no ce-id"],
    ["without a source", { headers: { "ce-source": undefined } }, "no ce-source"],
    ["without a type", { headers: { "ce-type": undefined } }, "no ce-type"],
    ["with another body", { headers: { "content-type": "text/plain" } }, "the body is not JSON"],
    ["with a broken body", { arriving: "{" }, "the body is not valid JSON"],
  ])("%s", async (_, forgery, text) => {
    const { status, event } = await verdictOf(forgery);
    expect([status, event]).toEqual([400, { outcome: "refused", text }]);
  });
});

test("without a token it is nobody's", async () => {
  const { status, token } = await verdictOf({ headers: { authorization: undefined } });
  expect([status, token]).toEqual([401, { outcome: "refused", text: "missing" }]);
});

describe("the token is refused", () => {
  test.each<[string, () => Forgery, RegExp]>([
    ["for another body", () => ({ arriving: '{"actor":{},"body":{}}' }), /digest in the token does not match the body/],
    ["with another digest", () => ({ digest: "sha256:00" }), /digest in the token does not match the body/],
    ["for another audience", () => ({ audience: "somebody" }), /"aud"/],
    ["for another group", () => ({ subject: `webhook:${group.slice(0, 40)}` }), /^the token is for the group 0123/],
    ["about something else", () => ({ subject: group }), /is not a webhook/],
    ["expired", () => ({ ttlSeconds: -60 }), /"exp"/],
    ["by a key that was never published", () => ({ by: stranger }), /no applicable key/],
    ["in another scheme", () => ({ headers: { authorization: "Basic eA==" } }), /not a bearer token/],
    ["that is none", () => ({ headers: { authorization: "Bearer x" } }), /Invalid Compact JWS/],
  ])("%s", async (_, forgery, text) => {
    const { status, token } = await verdictOf(forgery());
    expect([status, token]).toEqual([403, { outcome: "refused", text: expect.stringMatching(text) }]);
  });
});

describe("the signature is refused", () => {
  const past = String(Math.floor(Date.now() / 1000) - 10);
  test.each<[string, Forgery, RegExp]>([
    ["by another secret", { secret: "whsec_AAAA" }, /not made with this secret/],
    ["for another body", { arriving: "[]" }, /not made with this secret/],
    ["for another time", { headers: { "webhook-timestamp": past } }, /not made with this secret/],
    ["too old", { age: 301 }, /five minutes/],
    ["ahead", { age: -301 }, /five minutes/],
    ["at no time", { headers: { "webhook-timestamp": "now" } }, /five minutes/],
    ["that is missing", { headers: { "webhook-signature": undefined } }, /not made with this secret/],
    ["without its time", { headers: { "webhook-timestamp": undefined } }, /^missing$/],
    ["for another event", { headers: { "webhook-id": "other" } }, /webhook-id differs from ce-id/],
    [
      "of no known form",
      { headers: { "webhook-signature": `v1,${"é".repeat(44)} v2,x` } },
      /not made with this secret/,
    ],
  ])("%s", async (_, forgery, text) => {
    const { status, signature } = await verdictOf(forgery);
    expect([status, signature]).toEqual([403, { outcome: "refused", text: expect.stringMatching(text) }]);
  });

  test("one right signature among several is enough", async () => {
    const { headers } = await signDelivery(published.issuer, subscription);
    const both = `v1,AAAA ${headers["webhook-signature"]}`;
    expect((await verdictOf({ headers: { "webhook-signature": both } })).signature.outcome).toBe("verified");
  });
});

describe("an issuer whose keys cannot be had", () => {
  test.each<[string, (path: string, document: unknown) => unknown]>([
    ["answers with an error", () => undefined],
    ["calls itself otherwise", () => ({ issuer: "https://other.example", jwks_uri: "https://other.example/keys" })],
    ["publishes no keys", (path, document) => (path.endsWith("jwks.json") ? {} : document)],
    ["has no keys to fetch", (path, document) => (path.endsWith("jwks.json") ? undefined : document)],
  ])("%s", async (_, answer) => {
    const broken = await publishIssuer(answer);
    const verify = createVerifier({ issuer: broken.issuer.url, group: undefined, secret: undefined, now: Date.now });
    const { status, token } = await verify(await signDelivery(broken.issuer, subscription));
    await broken.close();
    expect([status, token.outcome]).toEqual([500, "unchecked"]);
  });

  test("is asked again by the next delivery", async () => {
    let isDown = true;
    const issuer = await publishIssuer((_path, document) => (isDown ? undefined : document));
    const verify = createVerifier({ issuer: issuer.issuer.url, group: undefined, secret: undefined, now: Date.now });
    const delivery = await signDelivery(issuer.issuer, subscription);
    expect((await verify(delivery)).status).toBe(500);
    isDown = false;
    expect((await verify(delivery)).status).toBe(200);
    const asked = issuer.requests();
    expect((await verify(delivery)).status).toBe(200);
    expect(issuer.requests()).toBe(asked);
    await issuer.close();
  });
});
