/**
 * Signing secrets of subscriptions in the form of Standard Webhooks 1.0.0: `whsec_` and base64 of 24 to 64 random
 * bytes.
 */
import { randomBytes } from "node:crypto";

const secretBytes = 32;

/** A new random secret. */
export function createSigningSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString("base64")}`;
}

/** The context that the secret of a subscription is sealed for. */
export function secretPlace(uid: string): string {
  return `${uid} signing_secret`;
}
