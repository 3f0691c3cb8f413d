/**
 * The lifecycle of the signing keys of the platform. A rotation only adds a key. Everything else follows from the
 * creation times of the keys, so that all servers of an installation agree without communication:
 *
 *     published  ──>  signing  ──>  verifying  ──>  retired
 *          it has waited   the next key   its last token
 *                          signs          has expired
 *
 * A key waits until every server has read it and every cached copy of the key set has expired. The first key of an
 * installation does not wait, nor does one that replaces a revoked key.
 *
 * Keys that the operator gives in a file come before those of the database: the first signs, the others verify, and
 * those of the database only verify.
 */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";

/** A stored signing key; JSON. Anyone who reads it can sign. */
export interface StoredKey {
  /** The key's thumbprint (RFC 7638). */
  readonly kid: string;
  readonly privateJwk: JWK;
  /** RFC 3339. */
  readonly createTime: string;
  /** When it begins to sign, RFC 3339, if it does not wait until it has been published. */
  readonly signTime?: string;
}

/** A signing key that the operator gives; it is not stored. */
export type GivenKey = Pick<StoredKey, "kid" | "privateJwk">;

/** The keys of an issuer, those given in their order. */
export type SigningKey = StoredKey | GivenKey;

/** The state of a key in its lifecycle. */
type KeyState = "published" | "signing" | "verifying" | "retired";

/** A key with its state at a time. */
interface KeyInLife {
  readonly key: SigningKey;
  readonly state: KeyState;
  readonly source: "database" | "file";
  /** When it begins or began to sign; undefined for a key of a file. */
  readonly signTimeMs: number | undefined;
  /** When it retires; undefined until there is a newer key. */
  readonly retireTimeMs: number | undefined;
}

/** How long relying parties may keep a copy of the published keys. */
export const keySetMaxAgeSeconds = 300;
/** How often a server looks for keys that another process has added. */
export const keyReadIntervalMs = 30_000;
/** The time from the creation of a key to its first signature: twice the longest time that its publication takes. */
export const publicationMs = 2 * (keySetMaxAgeSeconds * 1000 + keyReadIntervalMs);
/** The longest lifetime of a platform token. */
export const maxTokenLifeSeconds = 30 * 86_400;

/** The signature algorithm of the platform. */
export const signingAlgorithm = "ES256";

/** Makes a new signing key. */
export async function generateSigningKey(clock: () => number = Date.now): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
  const privateJwk = await exportJWK(privateKey);
  return { kid: await calculateJwkThumbprint(privateJwk), privateJwk, createTime: new Date(clock()).toISOString() };
}

/**
 * Reads given keys: private keys in PEM on the curve P-256 (PKCS #8 or SEC 1), or a JWK, or a set of them. Errors: an
 * Error whose message says what is wrong.
 */
export async function parseGivenKeys(text: string): Promise<readonly GivenKey[]> {
  const keys = text.trimStart().startsWith("{") ? keysOfJson(text) : keysOfPem(text);
  if (keys.length === 0) throw new Error("has no private key in PEM, nor a JSON Web Key");
  const given: GivenKey[] = [];
  for (const key of keys) {
    if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1")
      throw new Error("has a key that is not on the curve P-256");
    const privateJwk = await exportJWK(key);
    const kid = await calculateJwkThumbprint(privateJwk);
    if (given.some((other) => other.kid === kid)) throw new Error(`has the key ${kid} twice`);
    given.push({ kid, privateJwk });
  }
  return given;
}

function keysOfPem(text: string): KeyObject[] {
  const blocks = text.match(/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----/g) ?? [];
  if (blocks.some((block) => block.includes("ENCRYPTED")))
    throw new Error("has an encrypted private key; store it without a passphrase");
  return blocks.map((key) => importedKey({ key, format: "pem" }));
}

function keysOfJson(text: string): KeyObject[] {
  let value: JWK & { readonly keys?: unknown };
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error("is not JSON", { cause });
  }
  const keys: unknown = value.keys ?? [value];
  if (!Array.isArray(keys)) throw new Error("is not a JSON Web Key Set");
  return keys.map((key) => importedKey({ key, format: "jwk" }));
}

function importedKey(key: Parameters<typeof createPrivateKey>[0]): KeyObject {
  try {
    return createPrivateKey(key);
  } catch (cause) {
    throw new Error("has a key that is not a valid private key", { cause });
  }
}

/**
 * The keys with their states, given ones first, then stored ones, newest first. Of at least one key exactly one signs.
 */
export function keysAt(keys: readonly SigningKey[], nowMs: number): readonly KeyInLife[] {
  const stored = storedKeysAt(keys.filter(isStored), nowMs);
  const given = keys.filter((key) => !isStored(key));
  if (given.length === 0) return stored;
  return [
    ...given.map((key, i): KeyInLife => {
      const state = i === 0 ? "signing" : "verifying";
      return { key, state, source: "file", signTimeMs: undefined, retireTimeMs: undefined };
    }),
    ...stored.map((key): KeyInLife => (key.state === "retired" ? key : { ...key, state: "verifying" })),
  ];
}

function isStored(key: SigningKey): key is StoredKey {
  return "createTime" in key;
}

function storedKeysAt(keys: readonly StoredKey[], nowMs: number): KeyInLife[] {
  const oldestFirst = [...keys].sort((a, b) => Date.parse(a.createTime) - Date.parse(b.createTime));
  const signTimes = oldestFirst.map(({ createTime, signTime }, i) =>
    signTime === undefined ? Date.parse(createTime) + (i === 0 ? 0 : publicationMs) : Date.parse(signTime),
  );
  const signing = Math.max(
    signTimes.findLastIndex((time) => time <= nowMs),
    0,
  );
  return oldestFirst
    .map((key, i): KeyInLife => {
      const nextSigns = signTimes[i + 1];
      const retireTimeMs = nextSigns === undefined ? undefined : nextSigns + maxTokenLifeSeconds * 1000;
      const isRetired = retireTimeMs !== undefined && retireTimeMs <= nowMs;
      const state = i > signing ? "published" : i === signing ? "signing" : isRetired ? "retired" : "verifying";
      return { key, state, source: "database", signTimeMs: signTimes[i], retireTimeMs };
    })
    .reverse();
}
