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

export { type Author, actorAt, actorOf } from "./actor.ts";
export * from "./authenticate.ts";
export { type Authority, holds, scopesHolding } from "./authority.ts";
export {
  authentication,
  authorityOf,
  authorization,
  authorizeOperator,
  callerOf,
  knownAuthorityOf,
  knownCallerNameOf,
  knownCallerOf,
  operatorClaims,
  requireCapabilities,
  scopesOf,
} from "./authorize.ts";
export type { Caller, Narrowing } from "./caller.ts";
export { capabilities, capabilitiesByName, capabilityList, capabilityNamed } from "./capabilities.ts";
export type { Grant, GrantSource } from "./grant.ts";
export type { IdentitySource, KeySources, MatchableIdentity } from "./identity-source.ts";
export { narrower, narrowGrants, narrowingClaims, narrowingOf, organisationOf } from "./narrowing.ts";
export { type UpstreamClaims, upstreamClaims } from "./principal.ts";
export type { Presentation, Provider, ProviderSignIn, ProviderSource, SignIn } from "./provider.ts";
export { SignInAmbiguous } from "./speaker.ts";
export { bearerIn, refusalOf } from "./tokens/bearer.ts";
export { defaultAudiences, type MatchRule } from "./tokens/claim-match.ts";
export { type CertificateTokens, certificateIssuer, createCertificateTokens } from "./tokens/client-certificates.ts";
export { createIssuer, type Issuer, TokenTooLong } from "./tokens/issuer.ts";
export { originOfIssuer, originOfPattern } from "./tokens/issuer-pattern.ts";
export { checkKeySet } from "./tokens/key-set.ts";
export { createKeySets, fetchKeySet, type KeySets } from "./tokens/key-sets.ts";
export { matchesPattern, patternFault } from "./tokens/pattern.ts";
export {
  type GivenKey,
  generateSigningKey,
  keySetMaxAgeSeconds,
  keysAt,
  maxTokenLifeSeconds,
  parseGivenKeys,
  type SigningKey,
  type StoredKey,
} from "./tokens/signing-keys.ts";
export { type Claims, isReadableToken } from "./tokens/token.ts";
