/**
 * Signing secrets of subscriptions in the form of Standard Webhooks 1.0.0: `whsec_` and base64 of 24 to 64 random
 * bytes. A subscription keeps its secrets sealed together: the current one, then the one before if it was rotated.
 */
import { randomBytes } from "node:crypto";
import type { Secrets } from "../../resource/index.ts";

const secretBytes = 32;

/** A new random secret. */
export function createSigningSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString("base64")}`;
}

/** Seals the secrets of a subscription, the current one first. */
export function sealSigningSecrets(secrets: Secrets, uid: string, all: readonly string[]): string {
  return secrets.seal(all.join(" "), secretPlace(uid));
}

/** The secrets of a subscription, the current one first. Errors: a plain Error if they were sealed with another key. */
export function openSigningSecrets(secrets: Secrets, uid: string, sealed: string): readonly string[] {
  const opened = secrets.open(sealed, secretPlace(uid));
  if (opened === undefined) throw new Error(`the signing secret of ${uid} was sealed by another key`);
  return opened.split(" ");
}

/** The context that the secrets of a subscription are sealed for. */
export function secretPlace(uid: string): string {
  return `${uid} signing_secret`;
}
