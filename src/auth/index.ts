/**
 * The auth room answers two questions about every call: who is it, and may they.
 *
 * - {@link authentication} turns a bearer token into a {@link Caller}: the platform's own token, or a token of an issuer outside that fits the
 *   rule of an identity. Every fault of a token gets the same answer.
 * - {@link authorization} decides from the uid in the request and the caller's live grants, before any row of the resource is read and before
 *   the request is validated (AIP-211). Methods that name no uid receive the scopes to which they restrict their answer.
 *
 * There is no policy language: a grant is a scope and a set of capabilities, and holds for everything below its scope. Nothing denies.
 * The room knows no table. Identities, grants and keys come through {@link IdentitySource}, {@link GrantSource} and the keys it is given;
 * nothing about them outlives the call, so what is revoked stops with the next call.
 *
 * Follows: RFC 6750 (bearer), RFC 7519 and 8725 (JWT), OpenID Connect Discovery, AIP-211.
 */

export * from "./authenticate.ts";
export { type Authority, type Grant, type GrantSource, holds } from "./authority.ts";
export {
  authentication,
  authorityOf,
  authorization,
  callerOf,
  requireCapabilities,
  scopesOf,
  subjectOf,
} from "./authorize.ts";
export { type CapabilityInfo, capabilities, capabilityName, capabilityNamed } from "./capabilities.ts";
export { defaultAudiences, type MatchRule } from "./claim-match.ts";
export { createIssuer, generateSigningKey, type Issuer, type StoredKey } from "./issuer.ts";
export { parseKeySet } from "./key-set.ts";
export { createKeySets, type KeySets } from "./key-sets.ts";
export { isPattern } from "./pattern.ts";
