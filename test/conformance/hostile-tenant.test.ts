/** What a token without a valid signature costs, beside a tenant that has stored what is dearest to compare it with. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf } from "../../src/resource/index.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { forge, type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { makeGroup } from "./fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const hostileIdentities = 600;
const requests = 40;
/**
 * A refused call costs about a millisecond. One signature more doubles it at most; patterns made it a hundred times as
 * dear.
 */
const most = 8;
type Relationship = MessageInitShape<typeof IdentitySchema>["relationship"];

/** Stores identities of one tenant as nothing but the database would let it. */
async function store(platform: Platform, relationshipOf: (i: number) => Relationship): Promise<void> {
  const { uid: parent } = await makeGroup(platform);
  await platform.write(async (session) => {
    for (let i = 0; i < hostileIdentities; i++) {
      const relationship = relationshipOf(i) as NonNullable<Relationship>;
      const identity = create(IdentitySchema, { name: `hostile ${i}`, relationship });
      const spine = { uid: newUid(parent), parent, createTimeUs: i, updateTimeUs: i };
      await session.insert(identities.table, { ...spine, ...contentOf(identities, identity) });
    }
  });
}

/**
 * The median of the CPU time of many calls in milliseconds, of the whole process: server and client. A full garbage
 * collection takes as long as a hundred calls, and is of none of them.
 */
async function cpuOf(call: (i: number) => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < requests; i++) {
    const before = process.cpuUsage();
    await call(i);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return times.sort((a, b) => a - b)[requests / 2]!;
}

onEveryServer(
  "a hostile tenant",
  (platform) => {
    let key: TestKey;
    let issuer: LocalIssuer;
    beforeAll(async () => {
      key = await testKey("ES256", "k");
      issuer = await startIssuer(key);
    });
    afterAll(() => issuer?.close());

    const claimsOf = (iss: string, i: number) => {
      const now = Math.floor(Date.now() / 1000);
      const sub = `repo:${i}:${"ab0c1x".repeat(20)}`;
      return { iss, sub, aud: platform().baseUrl, iat: now, exp: now + 300, jti: `${i}` };
    };
    const forged = async (iss: string, i: number) =>
      forge({ alg: "ES256", kid: "k" }, claimsOf(iss, i), `forged ${i}`.padEnd(64, "."));

    /** The ways in that need no proof, each refused. */
    const entrances: Record<string, (token: string) => Promise<Response>> = {
      "a call": (token) =>
        fetch(`${platform().baseUrl}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } }),
      "a token in a form": (token) =>
        fetch(`${platform().baseUrl}/sts/exchange`, {
          method: "POST",
          body: new URLSearchParams({ subject_token: token }),
        }),
      "a token in the header": (token) =>
        fetch(`${platform().baseUrl}/sts/exchange`, { headers: { authorization: `Bearer ${token}` } }),
      "a token for an identity": (token) =>
        fetch(`${platform().baseUrl}/sts/exchange?identity=${"0".repeat(40)}`, {
          headers: { authorization: `Bearer ${token}` },
        }),
    };

    async function costs(tokenOf: (i: number) => Promise<string>): Promise<Record<string, number>> {
      const tokens = await Promise.all(Array.from({ length: requests }, (_, i) => tokenOf(i)));
      const found: Record<string, number> = {};
      for (const [name, enter] of Object.entries(entrances)) {
        found[name] = await cpuOf(async (i) => {
          const response = await enter(tokens[i]!);
          expect([401, 403]).toContain(response.status);
          await response.arrayBuffer();
        });
      }
      return found;
    }

    test("makes no unverified token dearer", async () => {
      const issuers: Record<string, () => string> = {
        "an issuer nobody has": () => "https://issuer.example.com",
        "an issuer that it has": () => issuer.url,
        "an issuer that its patterns have": () => `${issuer.url}/any`,
      };
      const stranger = await testKey("ES256", "k");
      const kinds: Record<string, (iss: string, i: number) => Promise<string>> = {
        "a forged token": forged,
        "a token signed by another key": (iss, i) => sign(stranger, claimsOf(iss, i)),
      };
      const all = async () => {
        const found: Record<string, number> = {};
        for (const [kind, tokenOf] of Object.entries(kinds))
          for (const [whose, issuerOf] of Object.entries(issuers))
            for (const [where, ms] of Object.entries(await costs((i) => tokenOf(issuerOf(), i))))
              found[`${kind} of ${whose}, ${where}`] = ms;
        return found;
      };
      await all(); // once, to be compiled
      const without = await all();
      const hostile = "(?:[a-z0-9]{1,40}|x[a-z]{1,20}){1,8}!";
      const here = issuer.url.replaceAll(".", "\\.");
      const issuerPatterns = [`https://.*|${hostile}`, `${here}/(?:[a-z0-9]{1,40}|x){1,6}`, ".*"];
      await store(platform(), (i) => ({
        case: "claimMatch",
        value: {
          iss:
            i % 4 === 3
              ? { case: "issuer", value: issuer.url }
              : { case: "issuerPattern", value: `${issuerPatterns[i % 4]!}|${i}` },
          sub: { case: "subjectPattern", value: `${hostile}|${i}` },
          aud: { case: "audiencePattern", value: `${hostile}|${i}` },
        },
      }));
      await store(platform(), (i) => ({
        case: "staticKeys",
        value: { issuer: issuer.url, subject: claimsOf("", i).sub, issuerKeys: JSON.stringify({ keys: [key.jwk] }) },
      }));
      await all();
      const beside = await all();
      console.table(
        Object.fromEntries(Object.entries(without).map(([name, ms]) => [name, { without: ms, beside: beside[name] }])),
      );
      for (const [name, ms] of Object.entries(without)) expect(beside[name]! / ms, name).toBeLessThan(most);
    }, 300_000);
  },
  // The cost itself is measured.
  { allowLoopbackIssuers: true, rateLimitAddress: undefined, rateLimitExchange: undefined },
);
