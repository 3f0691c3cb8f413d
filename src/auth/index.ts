/**
 * Authentication and authorization: who calls, and what the caller may do.
 *
 * - {@link authentication} turns a bearer token into a {@link Caller}: a platform token, or a token of another issuer
 *   that matches the rule of an identity or comes from the identity provider of an organisation. Every fault of a token
 *   has the same answer.
 * - {@link authorization} decides by the uid in the request and the current grants of the caller, before any row of the
 *   resource is read and before the request is validated (AIP-211). Methods without a uid get the scopes that they
 *   restrict their response to.
 *
 * There is no policy language and no deny rule: a grant is a scope and a set of capabilities, and applies to everything
 * below its scope. A platform token may be narrowed to some scopes and capabilities (`narrowing.ts`); then the grants
 * of its caller count only within these.
 *
 * It accesses no table. Identities, providers, grants and keys come through {@link IdentitySource}, {@link
 * ProviderSource}, {@link GrantSource} and the keys that it is given. None of them is kept beyond a call, so whatever
 * is revoked stops with the next call.
 *
 * Follows: RFC 6750 (bearer), RFC 7519 and 8725 (JWT), OpenID Connect Discovery, AIP-211.
 */

export { type Author, actorOf } from "./actor.ts";
export * from "./authenticate.ts";
export { holds, scopesHolding } from "./authority.ts";
export {
  authentication,
  authorityOf,
  authorization,
  authorizeOperator,
  callerOf,
  knownCallerOf,
  operatorClaims,
  requireCapabilities,
  scopesOf,
} from "./authorize.ts";
export { bearerIn, refusalOf } from "./bearer.ts";
export type { Caller, Narrowing } from "./caller.ts";
export { capabilities, capabilitiesByName, capabilityList, capabilityNamed } from "./capabilities.ts";
export { defaultAudiences, type MatchRule } from "./claim-match.ts";
export { type CertificateTokens, certificateIssuer, createCertificateTokens } from "./client-certificates.ts";
export type { Grant, GrantSource } from "./grant.ts";
export { createIssuer, type Issuer, TokenTooLong } from "./issuer.ts";
export { originOfIssuer, originOfPattern } from "./issuer-pattern.ts";
export { checkKeySet } from "./key-set.ts";
export { createKeySets, fetchKeySet, type KeySets } from "./key-sets.ts";
export { narrower, narrowGrants, narrowingClaims, narrowingOf } from "./narrowing.ts";
export { matchesPattern, patternFault } from "./pattern.ts";
export type { Provider, ProviderSignIn, ProviderSource, SignedInUser } from "./provider.ts";
export {
  type GivenKey,
  generateSigningKey,
  keySetMaxAgeSeconds,
  keysAt,
  maxTokenLifeSeconds,
  parseGivenKeys,
  type SigningKey,
  type StoredKey,
} from "./signing-keys.ts";
export { type Claims, isReadableToken } from "./token.ts";
