/**
 * The lifecycle of the signing keys of the platform. A rotation only adds a key. Everything else follows from the
 * creation times of the keys, so that all servers of an installation agree without communication:
 *
 *     published  ──>  signing  ──>  verifying  ──>  retired
 *          it has waited   the next key   its last token
 *                          signs          has expired
 *
 * A key waits until every server has read it and every cached copy of the key set has expired. The first key of an
 * installation does not wait.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";

/** A stored signing key; JSON. Whoever reads it can sign. */
export interface StoredKey {
  /** The key's thumbprint (RFC 7638). */
  readonly kid: string;
  readonly privateJwk: JWK;
  /** RFC 3339. */
  readonly createTime: string;
}

/** The state of a key in its lifecycle. */
type KeyState = "published" | "signing" | "verifying" | "retired";

/** A key with its state at a time. */
interface KeyInLife {
  readonly key: StoredKey;
  readonly state: KeyState;
  /** When it begins or began to sign. */
  readonly signTimeMs: number;
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

/** The keys with their states, newest first. Of at least one key exactly one signs. */
export function keysAt(keys: readonly StoredKey[], nowMs: number): readonly KeyInLife[] {
  const oldestFirst = [...keys].sort((a, b) => Date.parse(a.createTime) - Date.parse(b.createTime));
  const signTimes = oldestFirst.map(({ createTime }, i) => Date.parse(createTime) + (i === 0 ? 0 : publicationMs));
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
      return { key, state, signTimeMs: signTimes[i]!, retireTimeMs };
    })
    .reverse();
}
