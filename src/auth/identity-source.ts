/** The identities, for authentication. */
import type { Awaitable } from "../awaitable.ts";
import type { MatchRule } from "./tokens/claim-match.ts";

/** An identity that a token may match. */
export interface MatchableIdentity {
  readonly uid: string;
  readonly createTimeUs: number;
  readonly rule: MatchRule;
}

/** The sources of keys that may verify a token of an issuer and subject. */
export interface KeySources {
  /**
   * Whether the published keys of the issuer may: "named" when a rule names the issuer, "at origin" when the pattern of
   * a rule is about its origin.
   */
  readonly published: "named" | "at origin" | undefined;
  /**
   * The static key sets of identities, as text, in the order in which to try them: the first ones of all organisations
   * come before the second ones.
   */
  readonly carried: readonly string[];
}

/** The identities, for authentication. */
export interface IdentitySource {
  /** Called for every token that is not cached. Its cost must not depend on the number of identities. */
  keySources(issuer: string, subject: string): Promise<KeySources>;
  /**
   * Every identity whose rule might match a verified token of this issuer and subject: with the same issuer or a
   * pattern about its origin, and with the same subject or a pattern. It may return others, but must not omit any.
   */
  candidates(issuer: string, subject: string): Awaitable<readonly MatchableIdentity[]>;
  /** Whether the identity exists and tokens may speak for it now. */
  isActive(uid: string): Awaitable<boolean>;
  /** A number that differs once an identity, a rule, a provider or a user of one has changed. Asked on every call. */
  changes(): Awaitable<number>;
}
