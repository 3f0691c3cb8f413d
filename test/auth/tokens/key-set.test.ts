import { generateKeyPairSync, sign as signBytes } from "node:crypto";
import { exportJWK } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { checkKeySet, parseKeySet, UnknownKey } from "../../../src/auth/tokens/key-set.ts";
import { parseToken, signatureAlgorithms, TokenRejected } from "../../../src/auth/tokens/token.ts";
import { forge, sign, type TestKey, testKey } from "../local-issuer.ts";

const claims = { iss: "https://idp.example", sub: "a", aud: "b", exp: 2_000_000_000 };
const setOf = (...keys: unknown[]) => parseKeySet(JSON.stringify({ keys }));
const keys = new Map<string, TestKey>();

beforeAll(async () => {
  for (const alg of signatureAlgorithms) keys.set(alg, await testKey(alg, alg));
});

describe("verify", () => {
  it.each(signatureAlgorithms)("accepts %s by the named key among all", async (alg) => {
    const set = setOf(...[...keys.values()].map(({ jwk }) => jwk));
    await set.verify(parseToken(await sign(keys.get(alg)!, claims)));
  });

  it("accepts a token without kid when one key fits", async () => {
    const token = parseToken(await sign(keys.get("ES256")!, claims, { kid: undefined }));
    await setOf(keys.get("ES256")!.jwk, keys.get("RS256")!.jwk).verify(token);
    const another = await testKey("ES256", "another");
    await expect(setOf(keys.get("ES256")!.jwk, another.jwk).verify(token)).rejects.toThrow(TokenRejected);
  });

  it("distinguishes an unknown key from a wrong signature", async () => {
    const { jwk } = keys.get("ES256")!;
    const stranger = await testKey("ES256", "stranger");
    const impostor = await testKey("ES256", jwk.kid!);
    await expect(setOf(jwk).verify(parseToken(await sign(stranger, claims)))).rejects.toThrow(UnknownKey);
    const wrong = setOf(jwk).verify(parseToken(await sign(impostor, claims)));
    await expect(wrong).rejects.toThrow(TokenRejected);
    await expect(wrong).rejects.not.toThrow(UnknownKey);
  });

  it("refuses RSA keys below 2048 bits", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const signed = forge({ alg: "RS256", kid: "a" }, claims).split(".").slice(0, 2).join(".");
    const text = `${signed}.${signBytes("sha256", Buffer.from(signed), privateKey).toString("base64url")}`;
    const weak = { ...(await exportJWK(publicKey)), kid: "a" };
    expect(() => setOf(weak)).toThrow("key set without a usable key");
    await expect(setOf(weak, keys.get("ES256")!.jwk).verify(parseToken(text))).rejects.toThrow(UnknownKey);
  });

  it.each([
    ["another algorithm's key", { alg: "RS512" }],
    ["an encryption key", { use: "enc" }],
    ["key_ops without verify", { key_ops: ["encrypt"] }],
  ])("refuses %s", async (_, change) => {
    const { jwk } = keys.get("RS256")!;
    await expect(
      setOf({ ...jwk, ...change }).verify(parseToken(await sign(keys.get("RS256")!, claims))),
    ).rejects.toThrow(TokenRejected);
  });
});

describe("parseKeySet", () => {
  it("passes over what it cannot use", async () => {
    const { privateKey, jwk } = keys.get("ES256")!;
    const others = [
      null,
      1,
      "a",
      [],
      {},
      { kty: "oct", k: "AAAA" },
      { kty: "RSA" },
      { kty: "EC", crv: "P-521", x: "a", y: "b" },
    ];
    const published = [
      ...others,
      { ...(await exportJWK(privateKey)), kid: "ES256" },
      { ...jwk, x5c: ["a"], x5u: "https://evil.example" },
    ];
    await setOf(...published).verify(parseToken(await sign(keys.get("ES256")!, claims)));
  });

  it("takes a hundred keys and no more", () => {
    const { jwk } = keys.get("ES256")!;
    const many = (count: number) => Array.from({ length: count }, (_, i) => ({ ...jwk, kid: `${i}` }));
    setOf(...many(100));
    expect(() => setOf(...many(101))).toThrow(TokenRejected);
  });

  const { n, e } = { n: "s".repeat(342), e: "AQAB" };
  const bad: [string, string][] = [
    ["nothing", ""],
    ["not JSON", "{"],
    ["null", "null"],
    ["a list", "[]"],
    ["no keys", "{}"],
    ["keys not a list", '{"keys":{}}'],
    ["empty", '{"keys":[]}'],
    ["only a symmetric key", '{"keys":[{"kty":"oct","k":"AAAA"}]}'],
    ["only a private key", JSON.stringify({ keys: [{ kty: "EC", crv: "P-256", x: "a", y: "b", d: "c" }] })],
    ["an enormous modulus", JSON.stringify({ keys: [{ kty: "RSA", n: n.repeat(5), e }] })],
    ["an enormous exponent", JSON.stringify({ keys: [{ kty: "RSA", n, e: n }] })],
  ];
  it.each(bad)("refuses %s", (_, text) => expect(() => parseKeySet(text)).toThrow(TokenRejected));
});

describe("checkKeySet", () => {
  const check =
    (...set: unknown[]) =>
    () =>
      checkKeySet(JSON.stringify({ keys: set }));

  it("accepts every kind of key, and passes over kinds that it does not know", () => {
    const all = [...keys.values()].map(({ jwk }) => jwk);
    check(...all, { kty: "EC", crv: "P-521", x: "a", y: "b" }, { kty: "OKP", crv: "X25519", x: "a" })();
  });

  it("refuses a key with any private member, beside whatever good one", async () => {
    const good = keys.get("ES256")!.jwk;
    for (const alg of ["ES256", "RS256", "EdDSA"]) {
      const { privateKey, jwk } = keys.get(alg)!;
      const whole = await exportJWK(privateKey);
      const hidden = Object.keys(whole).filter((name) => !(name in jwk));
      expect(hidden).toContain("d");
      for (const name of hidden)
        expect(check(good, { ...jwk, [name]: whole[name as keyof typeof whole] }), `${alg} ${name}`).toThrow(
          `keys[1] has the private member "${name}"`,
        );
    }
    expect(check(good, { kty: "oct", k: "AAAA" })).toThrow('keys[1] has the private member "k"');
  });

  it("refuses weak keys", () => {
    const { jwk } = keys.get("RS256")!;
    const bits = (size: number) =>
      generateKeyPairSync("rsa", { modulusLength: size }).publicKey.export({ format: "jwk" });
    expect(check(bits(1024))).toThrow("keys[0] has 1024 bits, not 2048 to 8192");
    expect(check(bits(2040))).toThrow("has 2040 bits");
    check(bits(2048))();
    for (const e of ["AQ", "Ag", "", "AAAAAQ", "AQAAAQ"]) expect(check({ ...jwk, e }), e).toThrow("exponent");
  });

  it("refuses what is not a key", () => {
    const { jwk } = keys.get("ES256")!;
    expect(check({ ...jwk, x: jwk.y })).toThrow("keys[0] is not a valid key");
    expect(check(jwk, null)).toThrow("keys[1] is not an object");
    expect(check({ kty: "EC", crv: "P-521", x: "a", y: "b" })).toThrow("without a usable key");
  });
});
