import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Authenticator } from "../../src/auth/authenticate.ts";
import type { MatchableIdentity } from "../../src/auth/identity-source.ts";
import { externalGroupsOf, type Provider } from "../../src/auth/provider.ts";
import { createIssuer, type Issuer } from "../../src/auth/tokens/issuer.ts";
import { createKeySets } from "../../src/auth/tokens/key-sets.ts";
import { generateSigningKey } from "../../src/auth/tokens/signing-keys.ts";
import type { Claims } from "../../src/auth/tokens/token.ts";
import { userIdentityUid } from "../../src/new-uid.ts";
import { keySourcesIn } from "./identity-table.ts";
import {
  discoveryPath,
  forge,
  type LocalIssuer,
  sign,
  startIssuer,
  startMs,
  type TestKey,
  testKey,
} from "./local-issuer.ts";

const platform = "https://api.platform.example";
let user: string;
const clock = () => startMs;

let own: Issuer;
let key: TestKey;
let stranger: TestKey;
let external: LocalIssuer;

/** Providers by client id; all of them have the local issuer. */
let providers: Map<string, Provider>;
let identities: MatchableIdentity[];
let signedIn: [providers: string[], subject: string][];
let isDeleted: boolean;
/** Asked, it differs: every call finds the providers as they are. */
let changes = 0;
let authenticator: Authenticator;

beforeAll(async () => {
  own = await createIssuer({ issuer: platform, keys: [await generateSigningKey()], clock });
  key = await testKey("ES256", "a");
  stranger = await testKey("ES256", "a");
  external = await startIssuer(key);
  user = userIdentityUid(external.url, "jane");
});
afterAll(() => external.close());

beforeEach(() => {
  external.requests.length = 0;
  providers = new Map([["web", { uid: "org/web", clientId: "web", groupsClaim: "groups" }]]);
  identities = [];
  signedIn = [];
  isDeleted = false;
  authenticator = new Authenticator({
    issuer: own,
    clock,
    keySets: createKeySets({ allowLoopbackHttp: true, clock }),
    identities: {
      keySources: async (issuer, subject) => keySourcesIn(identities, issuer, subject),
      candidates: async () => identities,
      isActive: async (uid) => uid === user && !isDeleted,
      changes: () => changes++,
    },
    providers: {
      hasIssuer: async (issuer) => issuer === external.url && providers.size > 0,
      accepting: async (issuer, audiences) =>
        issuer === external.url ? audiences.flatMap((audience) => providers.get(audience) ?? []) : [],
      accepts: async (uid) => ([...providers.values()].some((provider) => provider.uid === uid) ? [] : undefined),
      async signIn(accepting, { sub }) {
        signedIn.push([accepting.map(({ uid }) => uid), sub]);
        return { providers: isDeleted ? [] : accepting, isDeferred: false };
      },
    },
  });
});

const claimsOf = (change: Record<string, unknown> = {}) => ({
  iss: external.url,
  sub: "jane",
  aud: "web",
  exp: startMs / 1000 + 300,
  ...change,
});
const tokenOf = (change: Record<string, unknown> = {}, signer = key) => sign(signer, claimsOf(change));
const authenticate = async (token: string) => authenticator.authenticate(`Bearer ${token}`);
const expectRefused = (token: string) =>
  expect(authenticate(token)).rejects.toMatchObject({ code: Code.Unauthenticated });

describe("a provider's token", () => {
  it("signs its user in, with the groups that it names", async () => {
    const caller = await authenticate(await tokenOf({ groups: ["eng", "ops"] }));
    expect(caller).toMatchObject({
      subject: user,
      identities: [user],
      providers: [{ uid: "org/web", externalGroups: ["eng", "ops"] }],
    });
    expect(signedIn).toEqual([[["org/web"], "jane"]]);
  });

  it("may be one that several providers accept, each with groups of its own", async () => {
    providers.set("cli", { uid: "org/cli", clientId: "cli", groupsClaim: "teams" });
    const caller = await authenticate(await tokenOf({ aud: ["cli", "web", "other"], groups: ["g"], teams: "t" }));
    expect(caller.providers).toEqual([
      { uid: "org/cli", externalGroups: ["t"] },
      { uid: "org/web", externalGroups: ["g"] },
    ]);
  });

  it("speaks for the identities that it matches too", async () => {
    const rule = { kind: "claim_match", claims: {}, claimPatterns: {} } as const;
    const matching = { ...rule, issuer: external.url, subject: "jane", audience: "web" };
    identities = [
      { uid: "g/1", createTimeUs: 1, rule: matching },
      { uid: "g/2", createTimeUs: 1, rule: { ...matching, audience: "other" } },
      { uid: user, createTimeUs: 2, rule: matching },
    ];
    expect((await authenticate(await tokenOf())).identities).toEqual(["g/1", user]);
    isDeleted = true;
    identities.pop();
    const caller = await authenticate(await tokenOf());
    expect(caller.identities).toEqual(["g/1"]);
    expect(caller).not.toHaveProperty("providers");
  });

  it("counts only while its provider is there", async () => {
    const token = await tokenOf();
    await authenticate(token);
    providers.clear();
    await expectRefused(token);
    expect(signedIn).toHaveLength(1);
  });

  it("is refused when the user was deleted", async () => {
    isDeleted = true;
    await expectRefused(await tokenOf());
  });

  it("is refused when it is not in order, and then signs nobody in", async () => {
    await expectRefused(await tokenOf({ exp: startMs / 1000 - 60 }));
    await expectRefused(await tokenOf({}, stranger));
    await expectRefused(forge({ alg: "none" }, claimsOf(), ""));
    await expectRefused(forge({ alg: "ES256", kid: "a" }, claimsOf()));
    expect(signedIn).toEqual([]);
  });

  it("causes no traffic for an issuer of no provider, and signs nobody in for another audience", async () => {
    await expectRefused(await tokenOf({ iss: "http://127.0.0.1:1" }));
    await expectRefused(await tokenOf({ iss: `${external.url}/` }));
    expect(external.requests).toEqual([]);
    await expectRefused(await tokenOf({ aud: "elsewhere" }));
    await expectRefused(await tokenOf({ aud: platform }));
    expect(external.requests).toEqual([discoveryPath, "/keys"]);
    expect(signedIn).toEqual([]);
  });
});

describe("a token of our own that names a provider", () => {
  const mint = (claims: Record<string, unknown>) => own.mint({ subject: user, ttlSeconds: 60, claims });

  it("carries the groups, while the provider is there", async () => {
    const token = await mint({ idp: "org/web", groups: ["eng"] });
    expect((await authenticate(token)).providers).toEqual([{ uid: "org/web", externalGroups: ["eng"] }]);
    providers.clear();
    await expectRefused(token);
  });

  it("is nothing of the kind without one", async () => {
    expect(await authenticate(await mint({ groups: ["eng"] }))).not.toHaveProperty("providers");
    await expectRefused(await mint({ idp: 1 }));
    await expectRefused(await mint({ idp: "" }));
  });
});

describe("the groups of a token", () => {
  it.each([
    [
      ["a", "b"],
      ["a", "b"],
    ],
    ["a", ["a"]],
    [["a", 1, null, ["b"], "", { c: 1 }], ["a"]],
    ["", []],
    [7, []],
    [{ a: 1 }, []],
    [null, []],
    [undefined, []],
  ])("%j names %j", (groups, expected) => {
    expect(externalGroupsOf(claimsOf({ groups }) as unknown as Claims, "groups")).toEqual(expected);
  });

  it("are the token's own claims only", () => {
    expect(externalGroupsOf(claimsOf() as unknown as Claims, "toString")).toEqual([]);
  });
});
