/**
 * Identity providers, for authentication: the login services of organisations, each with the client id of the platform
 * there. A token of the issuer of a provider with that client as its audience signs its user in. The groups in the
 * token count while the token is used.
 */
import type { Claims } from "./token.ts";

/** A provider that accepts a token. */
export interface Provider {
  readonly uid: string;
  /** The claim that names the user's groups. */
  readonly groupsClaim: string;
  /** The groups that the provider has put the user in, beside those of the claim. */
  readonly groups?: readonly string[];
}

/** The sign-in of a caller through a provider. */
export interface ProviderSignIn {
  /** uid of the provider. */
  readonly uid: string;
  /** The user's groups, as the provider names them. */
  readonly externalGroups: readonly string[];
}

/** A user that providers have signed in. */
export interface SignedInUser {
  /** uid of the user identity. */
  readonly identity: string;
  /** Those that let the user in. */
  readonly providers: readonly Provider[];
}

/** The identity providers, read on every call, so that a deleted one stops with the next call. */
export interface ProviderSource {
  /**
   * Whether a provider has this issuer. Called for every token that is not cached; its cost must not depend on the
   * number of providers.
   */
  hasIssuer(issuer: string): Promise<boolean>;
  /** The providers of this issuer with one of the audiences as their client id. */
  accepting(issuer: string, audiences: readonly string[]): Promise<readonly Provider[]>;
  /** Whether a provider exists, and lets in a user identity that it has let in before. */
  accepts(uid: string, identity: string): Promise<boolean>;
  /**
   * Signs the user of a verified token in: its identity is created, and bound when a provider sees it for the first
   * time. undefined when the identity was deleted since, or no provider lets it in.
   */
  signIn(providers: readonly Provider[], claims: Claims): Promise<SignedInUser | undefined>;
}

/** The groups in a claim: a list of strings or a single one; none for anything else. */
export function externalGroupsOf(claims: Claims, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((group): group is string => typeof group === "string" && group !== "");
}
