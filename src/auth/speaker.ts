/**
 * Whom a verified token speaks for: the identities whose rules it matches, and the user of the identity providers that
 * accept it. A rule is matched only if the keys that it trusts have verified the token.
 */

import { rootOf } from "../uid.ts";
import type { Caller } from "./caller.ts";
import type { IdentitySource, MatchableIdentity } from "./identity-source.ts";
import { type Principal, userUidOf } from "./principal.ts";
import { externalGroupsOf, type Provider, type ProviderSource, type SignIn } from "./provider.ts";
import { type Matching, matches, missesAudience } from "./tokens/claim-match.ts";
import { certificateIssuer } from "./tokens/client-certificates.ts";
import { PatternBudget } from "./tokens/pattern.ts";
import { TokenMisfit, TokenRejected } from "./tokens/token.ts";

/** The identities that a token speaks for. */
export interface Speaker extends Pick<Caller, "identities" | "providers"> {
  /** Until when, in milliseconds since 1970, if nothing changes. */
  readonly untilMs: number;
  /** Whether it may speak for more: patterns were left out, or a first sign-in. */
  readonly isPartial: boolean;
}

/** The identities and providers that may expect a token. */
export interface Expecting {
  readonly candidates: readonly MatchableIdentity[];
  readonly accepting: readonly Provider[];
  /** Whether any of them trusts the keys that the issuer publishes. */
  readonly wantsPublished: boolean;
}

/** What a token is asked to speak for; without a member, for everything. */
export interface Restriction {
  /** The uid of the identity provider that its user signs in at. */
  readonly provider?: string | undefined;
  /** Its user alone. */
  readonly isUserOnly?: boolean;
  /** The uid that a call is about; undefined if it is about no organisation or several. */
  readonly place?: string | undefined;
  /** Whether it is a token of its issuer that is used for the first time. */
  readonly isNew?: boolean;
}

/** The client has a valid certificate and no token. It may know the name in its certificate. */
export class CertificateUnknown extends TokenRejected {
  constructor(subject: string) {
    super(`missing bearer token, and no identity is that of the client certificate for ${subject}`);
  }
}

/** The user could sign in for the first time, at one of several providers. */
export class SignInAmbiguous extends TokenRejected {
  constructor() {
    super("several identity providers accept it, and none is named");
  }
}

/** It may be accepted in a moment, or for another call. */
export class NotFinal extends TokenRejected {
  override readonly name = "NotFinal";
}

/** What {@link Speakers} needs. */
interface SpeakersOptions {
  readonly identities: Pick<IdentitySource, "candidates">;
  readonly providers: ProviderSource;
  /** The audiences of this platform. */
  readonly defaults: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

const nobody: SignIn = { providers: [], isDeferred: false };

/** Finds whom tokens speak for. */
export class Speakers {
  readonly #options: SpeakersOptions;
  readonly #budget: PatternBudget;

  constructor(options: SpeakersOptions) {
    this.#options = options;
    this.#budget = new PatternBudget(options.clock);
  }

  async expecting(claims: Principal["claims"], audiences: readonly string[]): Promise<Expecting> {
    const { identities, providers } = this.#options;
    const [candidates, accepting] = await Promise.all([
      identities.candidates(claims.iss, claims.sub),
      claims.iss === certificateIssuer ? [] : providers.accepting(claims.iss, audiences),
    ]);
    const wantsPublished = accepting.length > 0 || candidates.some(({ rule }) => rule.kind === "claim_match");
    return { candidates, accepting, wantsPublished };
  }

  /**
   * `trusts`: whether a static key set has verified the token. Signs its user in. Errors: TokenRejected if it speaks
   * for nobody.
   */
  async speaker(
    principal: Omit<Principal, "keys" | "signed">,
    { candidates, accepting }: Expecting,
    trusts: (issuerKeys: string) => boolean,
    restriction: Restriction,
  ): Promise<Speaker> {
    const { provider, isUserOnly = provider !== undefined, place, isNew = false } = restriction;
    const { claims, isPublished } = principal;
    const trusting = candidates.filter(({ rule }) =>
      rule.kind === "static_keys" ? trusts(rule.issuerKeys) : isPublished,
    );
    const matched = trusting
      .filter((identity) => matches(identity.rule, principal, this.#matchingOf(identity)))
      .sort(oldestFirst);
    const isOverBudget = trusting.some(({ uid }) => !this.#budget.hasLeft(rootOf(uid)));
    const signIn =
      isPublished && accepting.length > 0
        ? await this.#options.providers.signIn(accepting, claims, { named: provider, place, isNew })
        : nobody;
    const user = userUidOf(principal);
    const known = [...(signIn.providers.length > 0 ? [user] : []), ...matched.map(({ uid }) => uid)];
    const found = [...new Set(known)].filter((uid) => !isUserOnly || uid === user);
    if (found.length === 0) {
      if (isOverBudget)
        throw new NotFinal("no identity or provider matches it; matching of patterns stopped at its limit");
      if (signIn.isDeferred || signIn.ambiguous === "elsewhere")
        throw new NotFinal("its user signs in with a call about the organisation of the provider");
      if (signIn.ambiguous === "here") throw new SignInAmbiguous();
      if (accepting.length === 0) throw await this.#unexpected(principal, trusting);
      throw new TokenRejected("the user was deleted, or its identity provider does not let it in");
    }
    const isAtRoot = (uid: string) => !uid.includes("/");
    const ends = matched.flatMap(({ rule }) => (rule.kind === "static_keys" ? [rule.expireTimeMs] : []));
    // A platform token may live longer than the token that named the groups.
    const groupsUntilMs = claims.exp * 1000;
    const hasGroups = this.#options.clock() < groupsUntilMs;
    if (hasGroups && signIn.providers.length > 0) ends.push(groupsUntilMs);
    return {
      identities: [...found.filter((uid) => !isAtRoot(uid)), ...found.filter(isAtRoot)],
      isPartial: isOverBudget || signIn.isDeferred,
      untilMs: Math.min(...ends, Number.POSITIVE_INFINITY),
      ...(signIn.providers.length > 0 && {
        providers: signIn.providers.map(({ uid, groupsClaim, groups = [] }) => ({
          uid,
          externalGroups: [...new Set([...(hasGroups ? externalGroupsOf(claims, groupsClaim) : []), ...groups])],
        })),
      }),
    };
  }

  /** How a token is matched with the rule of an identity: the work of its patterns counts for its organisation. */
  #matchingOf({ uid }: MatchableIdentity): Matching {
    const organisation = rootOf(uid);
    const work = {
      hasLeft: () => this.#budget.hasLeft(organisation),
      spend: (done: number) => this.#budget.spend(organisation, done),
    };
    const { defaults, clock } = this.#options;
    return { defaults, nowMs: clock(), work };
  }

  /** The reason why no identity accepts a verified token. */
  async #unexpected(
    principal: Omit<Principal, "keys" | "signed">,
    candidates: readonly MatchableIdentity[],
  ): Promise<TokenRejected> {
    const { iss, sub } = principal.claims;
    if (iss === certificateIssuer) return new CertificateUnknown(sub);
    const isForOthers =
      candidates.some((identity) => missesAudience(identity.rule, principal, this.#matchingOf(identity))) ||
      (await this.#options.providers.hasIssuer(iss));
    return isForOthers
      ? new TokenMisfit("for another audience")
      : new TokenRejected("no identity or provider matches it");
  }
}

function oldestFirst(a: MatchableIdentity, b: MatchableIdentity): number {
  return a.createTimeUs - b.createTimeUs || (a.uid < b.uid ? -1 : 1);
}
