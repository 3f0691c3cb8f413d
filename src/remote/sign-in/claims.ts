/** What a token says about itself. The server verifies it; this is for people only. */
import { claimsOf } from "../../client/index.ts";

/** When a token expires, in milliseconds since 1970; undefined if it does not say. */
export function expiryOf(token: string): number | undefined {
  const { exp } = claimsOf(token);
  return typeof exp === "number" ? exp * 1000 : undefined;
}

/** Whom a token is for. */
export function audiencesOf(token: string): readonly string[] {
  return [claimsOf(token).aud ?? []].flat().map(String);
}

/** Who issued a token; for one that was exchanged, the issuer of the first one. */
export function issuerOf(token: string): string | undefined {
  const { act, iss } = claimsOf(token);
  const issuer = (act as { readonly iss?: unknown } | undefined)?.iss ?? iss;
  return typeof issuer === "string" ? issuer : undefined;
}

/** The uid of the identity provider through which a token of the platform was given; undefined if it names none. */
export function identityProviderOf(token: string): string | undefined {
  const { idp } = claimsOf(token);
  return typeof idp === "string" ? idp : undefined;
}
