/**
 * Identity providers, for authentication: the login services of organisations, each with the client id of the platform
 * there. A token of the issuer of a provider with that client as its audience signs its user in. Several organisations
 * may have a provider for the same issuer and client: each counts within its own organisation only. The groups in a
 * token count while that token is valid.
 */
import type { Claims } from "./tokens/token.ts";

/** A provider that accepts a token. */
export interface Provider {
  readonly uid: string;
  readonly clientId: string;
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

/** What providers say of the user of a verified token. */
export interface SignIn {
  /** Those that let the user in. Without one the token does not speak for a user. */
  readonly providers: readonly Provider[];
  /**
   * Set if the user would be let in for the first time, at one of several providers, and none is named: whether any of
   * them is of the organisation that the call is about. Every one is of that of a call that is about none.
   */
  readonly ambiguous?: "here" | "elsewhere";
  /** Whether the user would be let in for the first time, by a call about the organisation of the provider. */
  readonly isDeferred: boolean;
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
  /**
   * The groups that a provider has put a user in that it has let in before; undefined if it does not exist, or does not
   * let the user in any more.
   */
  accepts(uid: string, identity: string): Promise<readonly string[] | undefined>;
  /**
   * Signs the user of a verified token in, at the provider that is named or at those that know the user. The first time
   * the user identity is created, and bound; that happens at the provider that is named, that the operator reserves its
   * issuer and client for, or that is the only one.
   */
  signIn(accepting: readonly Provider[], claims: Claims, presented: Presentation): Promise<SignIn>;
}

/** How a token is presented to identity providers. */
export interface Presentation {
  /** The uid of the provider that is named. */
  readonly named: string | undefined;
  /**
   * The uid that a call is about; undefined if it is about no organisation or several. A call about one is not a first
   * sign-in at another, which would learn of the caller.
   */
  readonly place: string | undefined;
  /** Whether its claims are news of the user. */
  readonly isNew: boolean;
}

/** The groups in a claim: a list of strings or a single one; none for anything else. */
export function externalGroupsOf(claims: Claims, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((group): group is string => typeof group === "string" && group !== "");
}
