/**
 * Identity providers as authentication sees them: login services of organisations, each with a client that the platform is known as. A token of a
 * provider's issuer with that client as its audience signs its user in, and the groups that it names count for as long as the token is used.
 */
import type { Claims } from "./token.ts";

/** A provider that accepts a token. */
export interface Provider {
  readonly uid: string;
  /** The claim that names the user's groups. */
  readonly groupsClaim: string;
}

/** A caller's coming through a provider. */
export interface ProviderSignIn {
  /** uid of the provider. */
  readonly uid: string;
  /** The user's groups, as the provider names them. */
  readonly externalGroups: readonly string[];
}

/** The identity providers; asked on every call, so that a deleted one counts no more on the next. */
export interface ProviderSource {
  /** Whether there is a provider of this issuer. Asked for every token that is not verified: as much work however many there are. */
  hasIssuer(issuer: string): Promise<boolean>;
  /** The providers of this issuer with one of the audiences as their client id. */
  accepting(issuer: string, audiences: readonly string[]): Promise<readonly Provider[]>;
  exists(uid: string): Promise<boolean>;
  /**
   * The uid of the user identity of a verified token, made and bound where this is the first one that a provider sees. undefined when the identity
   * has been deleted since, or no provider is left.
   */
  signIn(providers: readonly Provider[], claims: Claims): Promise<string | undefined>;
}

/** The groups in a claim: a list of texts or a single one; anything else names none. */
export function externalGroupsOf(claims: Claims, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((group): group is string => typeof group === "string" && group !== "");
}
