/**
 * The auth room answers two questions about every call: who is it, and may they.
 *
 * - {@link authentication} turns a bearer token into a {@link Caller}: the platform's own token, or a token of an issuer outside that fits the
 *   rule of an identity or comes from an organisation's identity provider. Every fault of a token gets the same answer.
 * - {@link authorization} decides from the uid in the request and the caller's live grants, before any row of the resource is read and before
 *   the request is validated (AIP-211). Methods that name no uid receive the scopes to which they restrict their answer.
 *
 * There is no policy language: a grant is a scope and a set of capabilities, and holds for everything below its scope. Nothing denies; a token of
 * our own may be narrowed to some scopes and capabilities (`narrowing.ts`), and then its caller's grants count only within them.
 * The room knows no table. Identities, providers, grants and keys come through {@link IdentitySource}, {@link ProviderSource}, {@link GrantSource}
 * and the keys it is given; nothing about them outlives the call, so what is revoked stops with the next call.
 *
 * Follows: RFC 6750 (bearer), RFC 7519 and 8725 (JWT), OpenID Connect Discovery, AIP-211.
 */

export * from "./authenticate.ts";
export { type Authority, type Grant, type GrantSource, holds } from "./authority.ts";
export {
  authentication,
  authorityOf,
  authorization,
  authorizeOperator,
  callerOf,
  knownCallerOf,
  requireCapabilities,
  scopesOf,
} from "./authorize.ts";
export { bearerIn, refusalOf } from "./bearer.ts";
export {
  type CapabilityInfo,
  capabilities,
  capabilitiesByName,
  capabilityList,
  capabilityNamed,
} from "./capabilities.ts";
export { defaultAudiences, type MatchRule } from "./claim-match.ts";
export { createIssuer, type Issuer, TokenTooLong } from "./issuer.ts";
export { originOfIssuer, originOfPattern } from "./issuer-pattern.ts";
export { checkKeySet } from "./key-set.ts";
export { createKeySets, type KeySets } from "./key-sets.ts";
export { type Narrowing, narrower, narrowingClaims, narrowingOf } from "./narrowing.ts";
export { matchesPattern, patternFault } from "./pattern.ts";
export type { Provider, ProviderSignIn, ProviderSource } from "./provider.ts";
export {
  generateSigningKey,
  type KeyInLife,
  keySetMaxAgeSeconds,
  keysAt,
  maxTokenLifeSeconds,
  type StoredKey,
} from "./signing-keys.ts";
export { type Claims, isReadableToken } from "./token.ts";
