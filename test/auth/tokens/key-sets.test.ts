import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createKeySets, type KeySets, keySetLifetimeMs } from "../../../src/auth/tokens/key-sets.ts";
import { parseToken, TokenRejected } from "../../../src/auth/tokens/token.ts";
import { fetchLimited } from "../../../src/outbound.ts";
import { discoveryPath, type LocalIssuer, sign, startIssuer, startMs, type TestKey, testKey } from "../local-issuer.ts";

let key: TestKey;
let newKey: TestKey;
let issuer: LocalIssuer;
let keySets: KeySets;
let nowMs: number;
const bothDocuments = [discoveryPath, "/keys"];

beforeAll(async () => {
  key = await testKey("ES256", "a");
  newKey = await testKey("ES256", "b");
});
beforeEach(async () => {
  nowMs = startMs;
  issuer = await startIssuer(key);
  keySets = createKeySets({ allowLoopbackHttp: true, clock: () => nowMs });
});
afterEach(() => issuer.close());

const tokenOf = async (signer: TestKey, iss = issuer.url) =>
  parseToken(await sign(signer, { iss, sub: "a", aud: "b", exp: 2_000_000_000 }));
const verify = async (signer: TestKey, iss?: string, isNamed?: boolean) =>
  keySets.verify(await tokenOf(signer, iss), isNamed);
const asked = () => issuer.requests.splice(0);

describe("fetching", () => {
  it("asks an issuer once for ten minutes", async () => {
    await Promise.all(Array.from({ length: 50 }, () => verify(key)));
    nowMs += keySetLifetimeMs - 1;
    await verify(key);
    expect(asked()).toEqual(bothDocuments);
    nowMs += 1;
    await verify(key);
    expect(asked()).toEqual(bothDocuments);
  });

  it("finds a new key, and a removed one gone, after 30 s", async () => {
    await verify(key);
    issuer.keys = [newKey.jwk];
    nowMs += 29_999;
    await expect(verify(newKey)).rejects.toThrow(TokenRejected);
    nowMs += 1;
    await verify(newKey);
    await expect(verify(key)).rejects.toThrow(TokenRejected);
    expect(asked()).toEqual([...bothDocuments, ...bothDocuments]);
  });

  it("is not driven by bad tokens", async () => {
    const stranger = await testKey("ES256", "stranger");
    const impostor = await testKey("ES256", "a");
    await verify(key);
    for (let i = 0; i < 20; i++) {
      await expect(verify(stranger)).rejects.toThrow(TokenRejected);
      await expect(verify(impostor)).rejects.toThrow(TokenRejected);
    }
    expect(asked()).toEqual(bothDocuments);
    nowMs += 30_000;
    await Promise.allSettled(Array.from({ length: 20 }, () => verify(stranger)));
    await expect(verify(impostor)).rejects.toThrow(TokenRejected);
    expect(asked()).toEqual(bothDocuments);
    await verify(key);
  });

  it("leaves a failing issuer alone for 30 s, then tries again", async () => {
    issuer.answers.set(discoveryPath, { status: 500, body: "" });
    for (let i = 0; i < 5; i++) await expect(verify(key)).rejects.toThrow(TokenRejected);
    expect(asked()).toEqual([discoveryPath]);
    issuer.answers.clear();
    await expect(verify(key)).rejects.toThrow(TokenRejected);
    nowMs += 30_000;
    await verify(key);
  });

  it("keeps a trusted set when an early renewal fails, and drops it when its time is over", async () => {
    await verify(key);
    nowMs += 30_000;
    issuer.answers.set("/keys", { status: 503, body: "" });
    await expect(verify(newKey)).rejects.toThrow(TokenRejected);
    await verify(key);
    nowMs = startMs + keySetLifetimeMs;
    await expect(verify(key)).rejects.toThrow(TokenRejected);
  });

  it("does not mix issuers, nor lets one hold up another", async () => {
    const other = await startIssuer(newKey);
    let release = () => {};
    const held = new Promise<void>((done) => {
      release = done;
    });
    keySets = createKeySets({
      allowLoopbackHttp: true,
      clock: () => nowMs,
      fetch: async (address, options) => {
        if (address.startsWith(other.url)) await held;
        return fetchLimited(address, options);
      },
    });
    const slow = verify(newKey, other.url);
    await verify(key);
    await expect(verify(newKey)).rejects.toThrow(TokenRejected);
    release();
    await slow;
    other.close();
  });

  /** Key sets of issuers that are all there, and what has been fetched for them. */
  function everywhere(): string[] {
    const fetched: string[] = [];
    keySets = createKeySets({
      allowLoopbackHttp: true,
      clock: () => nowMs,
      fetch: async (address) => {
        fetched.push(address);
        const iss = address.replace(/\/(?:keys|\.well-known\/.*)$/, "");
        const document = address.endsWith("/keys") ? { keys: [key.jwk] } : { issuer: iss, jwks_uri: `${iss}/keys` };
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(document)) };
      },
    });
    return fetched;
  }

  it("is for ten issuers in 30 s at an origin where nobody names them, and none that verify pay for it", async () => {
    const fetched = everywhere();
    const at = (i: number) => `https://issuer.example/${i}`;
    for (let i = 0; i < 10; i++) await verify(key, at(i), false);
    for (let i = 10; i < 30; i++) await expect(verify(key, at(i), false)).rejects.toThrow("too many issuers");
    expect(fetched).toHaveLength(20);
    await verify(key, at(30), true);
    await verify(key, "https://other.example/1", false);
    nowMs += 30_000;
    // Fetched again: its keys have verified a token.
    await expect(verify(newKey, at(0), false)).rejects.toThrow("no such key");
    for (let i = 10; i < 20; i++) await verify(key, at(i), false);
    await expect(verify(key, at(20), false)).rejects.toThrow("too many issuers");
  });

  it("is for 2000 issuers in a minute whose keys have verified nothing", async () => {
    const fetched = everywhere();
    await verify(key, "https://good.example");
    for (let i = 0; i < 1999; i++)
      await expect(verify(newKey, `https://issuer-${i}.example`)).rejects.toThrow("a moment ago");
    await expect(verify(key, "https://late.example")).rejects.toThrow("too many issuers");
    nowMs += 30_000;
    fetched.length = 0;
    await expect(verify(newKey, "https://good.example")).rejects.toThrow("no such key");
    expect(fetched).toHaveLength(2);
    nowMs += 30_000;
    await verify(key, "https://late.example");
  });

  it("takes no document of more than 256 KiB", async () => {
    const padding = { padding: "x".repeat(256 * 1024) };
    issuer.answers.set("/keys", { status: 200, body: JSON.stringify({ keys: [key.jwk], ...padding }) });
    await expect(verify(key)).rejects.toThrow("cannot be fetched");
  });

  it("forgets the issuers used longest ago", async () => {
    await verify(key);
    asked();
    const fetched = everywhere();
    for (let i = 0; i <= 1000; i++) await verify(key, `https://issuer-${i}.example`);
    fetched.length = 0;
    await verify(key, "https://issuer-1000.example");
    expect(fetched).toEqual([]);
    await verify(key, "https://issuer-0.example");
    expect(fetched).toHaveLength(2);
  });
});

describe("discovery", () => {
  const document = (change: Record<string, unknown>) => ({
    status: 200,
    body: JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, ...change }),
  });

  it("strips one final slash of the issuer", async () => {
    const iss = `${issuer.url}/`;
    issuer.answers.set(discoveryPath, document({ issuer: iss }));
    await verify(key, iss);
  });

  it("looks below the issuer's path", async () => {
    const iss = `${issuer.url}/tenant`;
    issuer.answers.set(`/tenant${discoveryPath}`, document({ issuer: iss }));
    await verify(key, iss);
  });

  const bad: [string, () => void][] = [
    ["another issuer", () => issuer.answers.set(discoveryPath, document({ issuer: "https://idp.example" }))],
    ["an issuer with a slash more", () => issuer.answers.set(discoveryPath, document({ issuer: `${issuer.url}/` }))],
    ["no issuer", () => issuer.answers.set(discoveryPath, document({ issuer: undefined }))],
    ["no jwks_uri", () => issuer.answers.set(discoveryPath, document({ jwks_uri: undefined }))],
    [
      "a jwks_uri that is not a text",
      () => issuer.answers.set(discoveryPath, document({ jwks_uri: [`${issuer.url}/keys`] })),
    ],
    ["a private jwks_uri", () => issuer.answers.set(discoveryPath, document({ jwks_uri: "https://10.0.0.1/keys" }))],
    [
      "a metadata jwks_uri",
      () => issuer.answers.set(discoveryPath, document({ jwks_uri: "http://169.254.169.254/keys" })),
    ],
    ["a file jwks_uri", () => issuer.answers.set(discoveryPath, document({ jwks_uri: "file:///etc/keys" }))],
    [
      "a jwks_uri with credentials",
      () => issuer.answers.set(discoveryPath, document({ jwks_uri: issuer.url.replace("//", "//u:p@") })),
    ],
    ["null", () => issuer.answers.set(discoveryPath, { status: 200, body: "null" })],
    ["no JSON", () => issuer.answers.set(discoveryPath, { status: 200, body: "<html>" })],
    ["a redirect", () => issuer.answers.set(discoveryPath, { status: 302, body: "" })],
    [
      "not found",
      () => issuer.answers.set(discoveryPath, { status: 404, body: JSON.stringify({ issuer: issuer.url }) }),
    ],
    ["more than 1 MiB", () => issuer.answers.set(discoveryPath, document({ padding: " ".repeat(1024 * 1024) }))],
    ["keys redirected", () => issuer.answers.set("/keys", { status: 307, body: JSON.stringify({ keys: [key.jwk] }) })],
    ["keys not JSON", () => issuer.answers.set("/keys", { status: 200, body: "{" })],
    ["no keys", () => issuer.answers.set("/keys", { status: 200, body: '{"keys":[]}' })],
    [
      "too many keys",
      () => issuer.answers.set("/keys", { status: 200, body: JSON.stringify({ keys: new Array(101).fill(key.jwk) }) }),
    ],
  ];
  it.each(bad)("refuses %s", async (_, change) => {
    change();
    await expect(verify(key)).rejects.toThrow(TokenRejected);
  });

  it.each(["?a=b", "#a", "/?"])("refuses an issuer that ends with %s", async (end) => {
    await expect(verify(key, issuer.url + end)).rejects.toThrow(TokenRejected);
  });

  it.each([
    ...[
      "http://idp.example",
      "https://10.0.0.1",
      "https://localhost.:1/a b",
      "https://u:p@idp.example",
      "urn:a",
      "idp.example",
      "accounts",
    ],
    ...["file:///etc", "https://169.254.169.254", "https://[::ffff:127.0.0.1]"],
  ])("does not fetch from %s", async (iss) => {
    await expect(verify(key, iss)).rejects.toThrow(TokenRejected);
  });

  it("does not fetch from loopback unless the setting allows it", async () => {
    keySets = createKeySets({ allowLoopbackHttp: false, clock: () => nowMs });
    await expect(verify(key)).rejects.toThrow(TokenRejected);
    expect(asked()).toEqual([]);
  });
});
