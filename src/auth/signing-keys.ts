/**
 * The life of the platform's signing keys. A rotation only adds a key; all else follows from the times at which keys were made, so that
 * every server of an installation comes to the same view without being told:
 *
 *     made ── published, does not sign ──> signs ── the next key signs ──> verifies ── the last token it signed has run out ──> retired
 *
 * A key waits long enough for every server to have read it and every cached copy of the key set to have run out. The first key of an
 * installation has nobody to wait for.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose";

/** A signing key as it is stored; JSON. Whoever reads it can sign. */
export interface StoredKey {
  /** The key's thumbprint (RFC 7638). */
  readonly kid: string;
  readonly privateJwk: JWK;
  /** RFC 3339. */
  readonly createTime: string;
}

/** Where a key is in its life. */
export type KeyState = "published" | "signing" | "verifying" | "retired";

/** A key with its state at some moment. */
export interface KeyInLife {
  readonly key: StoredKey;
  readonly state: KeyState;
  /** When it began or will begin to sign. */
  readonly signTimeMs: number;
  /** When it retires; undefined while no other key comes after it. */
  readonly retireTimeMs: number | undefined;
}

/** How long relying parties may keep a copy of the published keys. */
export const keySetMaxAgeSeconds = 300;
/** How often a server looks for keys that another process has added. */
export const keyReadIntervalMs = 30_000;
/** From a key's making to its first signature: twice what its publication needs at most. */
export const publicationMs = 2 * (keySetMaxAgeSeconds * 1000 + keyReadIntervalMs);
/** No token of ours lives longer. */
export const maxTokenLifeSeconds = 30 * 86_400;

/** How the platform signs. */
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
