/** Tokens that must be rejected, by what is wrong with them. Each has a single fault. */
import { createHmac, sign as signBytes } from "node:crypto";
import { type CryptoKey, exportJWK, exportSPKI, importJWK, type JWK } from "jose";
import { forge, sign, type TestKey, testKey } from "./local-issuer.ts";

type Tokens<From> = Readonly<Record<string, (from: From) => string | Promise<string>>>;

/** What an attacker has: two good tokens that are signed with ES256, and the published key that verifies them. */
export interface Loot {
  readonly good: string;
  readonly other: string;
  readonly jwk: JWK;
}

/** What an attacker can make of it. */
export const forgedTokens: Tokens<Loot> = {
  // the signature
  "alg none, no signature": ({ good }) => `${signedPart({ alg: "none" }, claimsIn(good))}.`,
  "alg none, some signature": ({ good }) => forge({ alg: "none" }, claimsIn(good)),
  "alg none, the good signature": ({ good }) => replaced(good, 0, json({ alg: "none" })),
  "alg NoNe": ({ good, jwk }) => forge({ alg: "NoNe", kid: jwk.kid }, claimsIn(good)),
  "no alg": ({ good, jwk }) => replaced(good, 0, json({ kid: jwk.kid })),
  "a signature cut off": ({ good }) => replaced(good, 2, ""),
  "two parts only": ({ good }) => good.slice(0, good.lastIndexOf(".")),
  "a signature of zeros": ({ good }) => replaced(good, 2, new Uint8Array(64)),
  "a signature of ones": ({ good }) => replaced(good, 2, new Uint8Array(64).fill(255)),
  "a signature too short": ({ good }) => replaced(good, 2, partOf(good, 2).subarray(0, 63)),
  "a signature too long": ({ good }) => replaced(good, 2, Buffer.concat([partOf(good, 2), Buffer.alloc(1)])),
  "a signature with one bit changed": ({ good }) =>
    replaced(
      good,
      2,
      partOf(good, 2).map((byte, i) => (i === 10 ? byte ^ 1 : byte)),
    ),
  "a signature in DER": async ({ good, jwk }) => {
    const impostor = await testKey("ES256", jwk.kid!);
    const text = signedPart({ alg: "ES256", kid: jwk.kid }, claimsIn(good));
    return `${text}.${base64url(await signedByNode(impostor, "sha256", text))}`;
  },
  "another token's signature": ({ good, other }) => replaced(good, 2, partOf(other, 2)),
  "a padded signature": ({ good }) => `${good}==`,
  "a padded header": ({ good }) => good.replace(".", "=."),
  "a token of five parts": ({ good }) => `${good}.a.b`,
  "the JSON serialization": ({ good }) => {
    const [protectedHeader, payload, signature] = good.split(".");
    return JSON.stringify({ protected: protectedHeader, payload, signature });
  },
  "a header cut off": ({ good }) => replaced(good, 0, ""),
  "claims cut off": ({ good }) => replaced(good, 1, ""),
  "claims cut short": ({ good }) => replaced(good, 1, partOf(good, 1).subarray(0, 40)),
  // what is signed
  "a claim added": ({ good }) => replaced(good, 1, json({ ...claimsIn(good), admin: true })),
  "another subject's claims": ({ good }) => replaced(good, 1, json({ ...claimsIn(good), sub: "0".repeat(40) })),
  "a later expiry": ({ good }) => replaced(good, 1, json({ ...claimsIn(good), exp: Number(claimsIn(good).exp) + 9 })),
  "claims with a space": ({ good }) => replaced(good, 1, Buffer.concat([partOf(good, 1), Buffer.from(" ")])),
  "claims with a byte order mark": ({ good }) => replaced(good, 1, `\ufeff${partOf(good, 1)}`),
  "claims that are a list": ({ good }) => replaced(good, 1, json([claimsIn(good)])),
  "claims that are not UTF-8": ({ good }) => replaced(good, 1, Buffer.concat([Buffer.from([0xff]), partOf(good, 1)])),
  "a header with a space": ({ good }) => replaced(good, 0, Buffer.concat([partOf(good, 0), Buffer.from(" ")])),
  // the key
  "an unknown kid": ({ good }) => impostor(good, "b"),
  "a kid that is a path": ({ good }) => impostor(good, "../../dev/null"),
  "a kid that is a query": ({ good }) => impostor(good, "' or 1=1 --"),
  "a kid that is not a text": ({ good, jwk }) => forge({ alg: "ES256", kid: [jwk.kid] }, claimsIn(good)),
  "an impostor with the same kid": ({ good, jwk }) => impostor(good, jwk.kid!),
  "an impostor with the same key in the header": ({ good, jwk }) => impostor(good, jwk.kid!, { jwk }),
  "an impostor with its key in the header": async ({ good, jwk }) => {
    const key = await testKey("ES256", jwk.kid!);
    return sign(key, claimsIn(good), { jwk: key.jwk });
  },
  "an impostor with its key in the header and no kid": async ({ good }) => {
    const key = await testKey("ES256", "b");
    return sign(key, claimsIn(good), { jwk: key.jwk, kid: undefined });
  },
  "an impostor with a key set's address": ({ good, jwk }) => impostor(good, jwk.kid!, { jku: "https://evil.example" }),
  "an impostor with a certificate's address": ({ good, jwk }) =>
    impostor(good, jwk.kid!, { x5u: "https://evil.example" }),
  "an impostor with a certificate": ({ good, jwk }) => impostor(good, jwk.kid!, { x5c: ["MIIB"] }),
  "an EdDSA impostor": ({ good, jwk }) => impostor(good, jwk.kid!, {}, "EdDSA"),
  "an RSA impostor": ({ good, jwk }) => impostor(good, jwk.kid!, {}, "RS256"),
  "an ES384 impostor": ({ good, jwk }) => impostor(good, jwk.kid!, {}, "ES384"),
  // the algorithm
  "HS256 with the public key in PEM": async ({ good, jwk }) =>
    hmac("HS256", await exportSPKI(await publicKey(jwk)), good),
  "HS256 with the public key as JWK": ({ good, jwk }) => hmac("HS256", JSON.stringify(jwk), good),
  "HS256 with the public key's x": ({ good, jwk }) => hmac("HS256", Buffer.from(jwk.x!, "base64url"), good),
  "HS256 with an empty secret": ({ good }) => hmac("HS256", "", good),
  "HS512 with the public key in DER": async ({ good, jwk }) =>
    hmac("HS512", new Uint8Array(await crypto.subtle.exportKey("spki", await publicKey(jwk))), good),
  "an encrypted token": ({ good }) => forge({ alg: "RSA-OAEP", enc: "A256GCM" }, claimsIn(good)),
  // no token at all
  rubbish: () => "rubbish",
  "three empty parts": () => "..",
  "three parts of rubbish": () => "a.b.c",
};

/** An issuer that identities trust: its keys, and claims that are good. */
export interface TrustedHand {
  /** Signs with ES256. */
  readonly key: TestKey;
  /** Signs with RS256. */
  readonly rsa: TestKey;
  /** Published like the others, and too short: see {@link shortRsaKey}. */
  readonly short: TestKey;
  /** `iss`, `sub`, `aud`, `iat` and `exp`. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Seconds since 1970. */
  readonly now: number;
}

/** What even an issuer that identities trust cannot sign. It publishes a second key for ES256. */
export const misissuedTokens: Tokens<TrustedHand> = {
  // the claims
  "sub twice": ({ key, claims }) =>
    signText(key, {}, `{"sub":${JSON.stringify(claims.sub)},${JSON.stringify(claims).slice(1)}`),
  "a member of a member twice": ({ key, claims }) =>
    signText(key, {}, `{"act":{"sub":"a","sub":"b"},${JSON.stringify(claims).slice(1)}`),
  expired: (hand) => issued(hand, { exp: hand.now - 61 }),
  "long expired": (hand) => issued(hand, { exp: 1 }),
  "without exp": (hand) => issued(hand, { exp: undefined }),
  "exp as a text": (hand) => issued(hand, { exp: String(hand.now + 60) }),
  "exp in milliseconds beyond every calendar": (hand) => issued(hand, { exp: 1e16 }),
  "not yet valid": (hand) => issued(hand, { nbf: hand.now + 600 }),
  "issued in the future": (hand) => issued(hand, { iat: hand.now + 600 }),
  "another audience": (hand) => issued(hand, { aud: "https://other.example" }),
  "our address with a slash as audience": (hand) => issued(hand, { aud: `${hand.claims.aud}/` }),
  "101 audiences, ours among them": (hand) =>
    issued(hand, { aud: [hand.claims.aud, ...Array.from({ length: 100 }, (_, i) => `${i}`)] }),
  "no audience": (hand) => issued(hand, { aud: undefined }),
  "an empty audience list": (hand) => issued(hand, { aud: [] }),
  "an audience that only begins like ours": (hand) => issued(hand, { aud: `${hand.claims.aud}.evil.example` }),
  "another subject": (hand) => issued(hand, { sub: `${hand.claims.sub}2` }),
  "no subject": (hand) => issued(hand, { sub: undefined }),
  "an empty subject": (hand) => issued(hand, { sub: "" }),
  "a subject with NUL": (hand) => issued(hand, { sub: `${hand.claims.sub}\0` }),
  "another issuer": (hand) => issued(hand, { iss: "https://other.example" }),
  "the platform as issuer": (hand) => issued(hand, { iss: hand.claims.aud }),
  "the issuer with a slash": (hand) => issued(hand, { iss: `${hand.claims.iss}/` }),
  "the issuer with a query": (hand) => issued(hand, { iss: `${hand.claims.iss}?` }),
  "no issuer": (hand) => issued(hand, { iss: undefined }),
  "an issuer list": (hand) => issued(hand, { iss: [hand.claims.iss] }),
  "too long": (hand) => issued(hand, { padding: "a".repeat(8192) }),
  // the key
  "no kid, two keys": ({ key, claims }) => sign(key, { ...claims }, { kid: undefined }),
  "a key of another type under its kid": ({ key, rsa, claims }) => sign(rsa, { ...claims }, { kid: key.jwk.kid }),
  "an RSA key of 1024 bits": ({ short, claims }) => signText(short, {}, JSON.stringify(claims)),
  "its own key in the header": ({ key, claims }) => sign(key, { ...claims }, { jwk: key.jwk }),
  "its own key set's address": ({ key, claims }) => sign(key, { ...claims }, { jku: `${claims.iss}/keys` }),
  // the algorithm
  "RS512 by an RS256 key": (hand) => rsaSigned(hand, "RS512", "sha512"),
  RS1: (hand) => rsaSigned(hand, "RS1", "sha1"),
  "RS256 with SHA-1": (hand) => rsaSigned(hand, "RS256", "sha1"),
  "PS256 claimed, RS256 signed": (hand) => rsaSigned(hand, "PS256", "sha256"),
  "an RSA signature called ES256": (hand) => rsaSigned(hand, "ES256", "sha256"),
  "a signature in DER by the right key": async ({ key, claims }) => {
    const text = signedPart({ alg: "ES256", kid: key.jwk.kid }, claims);
    return `${text}.${base64url(await signedByNode(key, "sha256", text))}`;
  },
  // the header
  "a critical extension": ({ key, claims }) => signText(key, { crit: ["exp"], exp: 1 }, JSON.stringify(claims)),
  "an unencoded payload": ({ key, claims }) => signText(key, { crit: ["b64"], b64: false }, JSON.stringify(claims)),
  "b64 without crit": ({ key, claims }) => signText(key, { b64: false }, JSON.stringify(claims)),
  "b64 that changes nothing": ({ key, claims }) => signText(key, { b64: true }, JSON.stringify(claims)),
  "a compressed payload, by its header": ({ key, claims }) => signText(key, { zip: "DEF" }, JSON.stringify(claims)),
  "an encrypted payload, by its header": ({ key, claims }) => signText(key, { enc: "A256GCM" }, JSON.stringify(claims)),
  "an empty list of critical extensions": ({ key, claims }) => signText(key, { crit: [] }, JSON.stringify(claims)),
  "a logout token": ({ key, claims }) => sign(key, { ...claims }, { typ: "logout+jwt" }),
  "a typ that is not a text": ({ key, claims }) => signText(key, { typ: ["JWT"] }, JSON.stringify(claims)),
  "alg twice": ({ key, claims }) =>
    signText(key, `{"alg":"none","alg":"ES256","kid":"${key.jwk.kid}"}`, JSON.stringify(claims)),
  "kid twice": ({ key, claims }) =>
    signText(key, `{"kid":"x","alg":"ES256","kid":"${key.jwk.kid}"}`, JSON.stringify(claims)),
};

/** Authorization headers that do not hold one bearer token. */
export function brokenHeaders(token: string): string[] {
  return [
    "Bearer",
    token,
    `Basic ${token}`,
    `Token ${token}`,
    `DPoP ${token}`,
    `Bearer${token}`,
    `Bearer: ${token}`,
    `Bearer ${token},`,
    `Bearer ${token}, Bearer ${token}`,
    `Bearer ${token} ${token}`,
    `Bearer Bearer ${token}`,
    `Bearer "${token}"`,
    `Bearer token=${token}`,
    `Bearer ${token}=`,
    `Bearer ${token.replace(".", ". ")}`,
  ];
}

/** An RSA key of 1024 bits, which no library for tokens makes. */
export async function shortRsaKey(kid: string): Promise<TestKey> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    true,
    ["sign", "verify"],
  );
  return { alg: "RS256", privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" } };
}

/** Signs a header, completed with the key's `alg` and `kid` unless it is a text, and claims that are a text. */
export async function signText(key: TestKey, header: object | string, claims: string): Promise<string> {
  const { alg, privateKey, jwk } = key;
  const text = signedPart(typeof header === "string" ? header : { alg, kid: jwk.kid, ...header }, claims);
  const algorithm = { name: privateKey.algorithm.name, hash: "SHA-256" };
  const signature = await crypto.subtle.sign(algorithm, privateKey, Buffer.from(text));
  return `${text}.${base64url(new Uint8Array(signature))}`;
}

/** Signs for the named algorithm with the given digest, whether they belong together or not. */
export async function rsaSigned({ rsa, claims }: TrustedHand, alg: string, digest: string): Promise<string> {
  const text = signedPart({ alg, kid: rsa.jwk.kid }, claims);
  return `${text}.${base64url(await signedByNode(rsa, digest, text))}`;
}

function issued({ key, claims }: TrustedHand, change: Record<string, unknown>): Promise<string> {
  return sign(key, { ...claims, ...change });
}

async function impostor(good: string, kid: string, header: Record<string, unknown> = {}, alg = "ES256") {
  return sign(await testKey(alg, kid), claimsIn(good), header);
}

/** Node signs what the web's own interface has no way to say. */
async function signedByNode({ privateKey }: TestKey, digest: string, text: string): Promise<Buffer> {
  const der = Buffer.from(await crypto.subtle.exportKey("pkcs8", privateKey));
  return signBytes(digest, Buffer.from(text), { key: der, format: "der", type: "pkcs8" });
}

function hmac(alg: string, secret: string | Uint8Array, good: string): string {
  const text = signedPart({ ...JSON.parse(partOf(good, 0).toString()), alg }, claimsIn(good));
  const digest = createHmac(`sha${alg.slice(2)}`, secret).update(text);
  return `${text}.${digest.digest("base64url")}`;
}

async function publicKey(jwk: JWK): Promise<CryptoKey> {
  return (await importJWK(jwk, "ES256", { extractable: true })) as CryptoKey;
}

function signedPart(header: unknown, claims: unknown): string {
  return forge(header, claims, "").slice(0, -1);
}

function partOf(token: string, index: number): Buffer {
  return Buffer.from(token.split(".")[index]!, "base64url");
}

function claimsIn(token: string): Record<string, unknown> {
  return JSON.parse(partOf(token, 1).toString());
}

function replaced(token: string, index: number, content: string | Uint8Array): string {
  return token.split(".").with(index, base64url(content)).join(".");
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

function base64url(content: string | Uint8Array): string {
  return Buffer.from(content as string).toString("base64url");
}
