/**
 * `Authorization: Bearer <token>` (RFC 6750) → {@link Caller}.
 *
 * A platform token names an identity by its uid, or a principal (`principal.ts`). A token of another issuer speaks for
 * every identity whose rule it matches and trusts the keys that verified it, and for the user of identity providers
 * with its issuer and one of its audiences as client. Steps:
 *
 * 1. Verify its signature (`verification.ts`). No pattern is matched.
 * 2. Check its times.
 * 3. Match the rules of the identities of that issuer and the audiences of its providers (`speaker.ts`).
 *
 * Verified tokens are cached for at most ten minutes, with what they speak for until an identity or provider changes.
 * So a deleted identity, a changed rule or a revoked key takes effect on the next call, and a refused token costs
 * nothing more. Tokens that speak for nobody are cached apart, so that they cannot evict others.
 */

import type { Message } from "@bufbuild/protobuf";
import { type Awaitable, both, chain, tryChain } from "../awaitable.ts";
import { unauthenticated } from "../errors.ts";
import { createPayer, type Pause, type Payer } from "../fairness/index.ts";
import type { Caller } from "./caller.ts";
import type { IdentitySource } from "./identity-source.ts";
import { KnownTokens, type Outcome, type VerifiedToken } from "./known-tokens.ts";
import { narrowingOf, organisationOf } from "./narrowing.ts";
import { type Principal, principalIn, principalKey, userUidOf } from "./principal.ts";
import { externalGroupsOf, type ProviderSource } from "./provider.ts";
import { CertificateUnknown, NotFinal, type Speaker, Speakers } from "./speaker.ts";
import { bearerIn, refusalOf } from "./tokens/bearer.ts";
import { defaultAudiences } from "./tokens/claim-match.ts";
import type { CertificateTokens } from "./tokens/client-certificates.ts";
import type { Issuer } from "./tokens/issuer.ts";
import { fetchIntervalMs, type KeySets, keySetLifetimeMs } from "./tokens/key-sets.ts";
import {
  type Claims,
  checkPeriod,
  isIdentifier,
  isInPeriod,
  leewaySeconds,
  parseToken,
  type Token,
  TokenRejected,
} from "./tokens/token.ts";
import { type Verification, Verifier } from "./verification.ts";

/** What a token is presented for. */
type Use = CallUse | ExchangeUse;

/** A call. */
interface CallUse {
  readonly exchange?: undefined;
  /** The uid that the call is about; undefined if it is about no organisation or several. */
  placeOf(message: Message): string | undefined;
  readonly message: Message;
  /** When the call began, in milliseconds since 1970; by default now. */
  readonly nowMs?: number | undefined;
}

/** An exchange. With a `provider`, by its uid, the token speaks for the user who signs in there alone. */
interface ExchangeUse {
  readonly exchange: { readonly provider?: string | undefined };
  /** As {@link CallUse.placeOf}. */
  readonly place: string | undefined;
  readonly nowMs?: undefined;
}

/** What an {@link Authenticator} needs. */
interface AuthenticatorOptions {
  readonly issuer: Issuer;
  readonly identities: IdentitySource;
  readonly providers: ProviderSource;
  readonly keySets: KeySets;
  /** Absent: certificates of clients are not identities. */
  readonly certificates?: CertificateTokens | undefined;
  /** See {@link Payer.pause}; absent: nothing pauses. */
  readonly pause?: Pause | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** A caller, and until when it is one, in milliseconds since 1970, if nothing changes. */
interface Found extends Pick<Speaker, "untilMs" | "isPartial"> {
  readonly caller: Caller;
}

/** What is asked of a token. */
interface Attempt {
  readonly provider: string | undefined;
  readonly place: string | undefined;
  /**
   * Whether it is looked up if the issuer publishes the key, even if nobody asks: what an exchange gives must not
   * depend on who does.
   */
  readonly isExchange: boolean;
  readonly isNew: boolean;
  /** Until when the answer may be incomplete. */
  untilMs?: number;
}

/** What is looked up for each use of a token: whether its key still verifies, and the changes of identities by now. */
interface Validity {
  readonly isVerified: Awaitable<boolean>;
  readonly changes: Awaitable<number>;
}

/** A use of a token, with what was looked up for it. */
interface LookUp {
  readonly use: Use | undefined;
  readonly nowMs: number;
  readonly cached: VerifiedToken | undefined;
  readonly validity: Validity | undefined;
}

/** Authenticates the callers of calls. */
export class Authenticator {
  /** How many calls had a token that was verified before, and how many had another. */
  readonly tokenUses = { known: 0, unknown: 0 };
  readonly #issuer: Issuer;
  readonly #identities: IdentitySource;
  readonly #providers: ProviderSource;
  readonly #pause: Pause;
  readonly #clock: () => number;
  readonly #verifier: Verifier;
  readonly #speakers: Speakers;
  readonly #tokens = new KnownTokens();

  constructor(options: AuthenticatorOptions) {
    const { issuer, identities, providers, pause = () => undefined, clock } = options;
    this.#issuer = issuer;
    this.#identities = identities;
    this.#providers = providers;
    this.#pause = pause;
    this.#clock = clock;
    this.#verifier = new Verifier(options);
    this.#speakers = new Speakers({ identities, providers, defaults: defaultAudiences(issuer.url), clock });
  }

  /**
   * Errors: UNAUTHENTICATED `missing bearer token` or `invalid bearer token`. The challenge says what is wrong with a
   * token whose signature is valid. The `cause` of the error, for the log, says why any token is invalid.
   */
  authenticate(header: string | null, use?: Use): Awaitable<Caller> {
    if (header === null || header.trim() === "") throw unauthenticated("missing bearer token");
    const nowMs = use?.nowMs ?? this.#clock();
    const cached = this.#tokens.verified(header, nowMs);
    const validity = cached && this.#validityOf(cached, nowMs);
    if (validity !== undefined && use?.exchange === undefined) {
      const caller = settledCaller(cached!, validity, nowMs);
      if (caller !== undefined) {
        this.tokenUses.known++;
        return caller;
      }
    }
    return tryChain(
      () => this.#callerOf(header, { use, nowMs, cached, validity }),
      (caller) => caller,
      (error) => {
        if (!(error instanceof TokenRejected)) throw error;
        if (error instanceof CertificateUnknown) throw Object.assign(unauthenticated(error.message), { cause: error });
        throw refusalOf(header, error);
      },
    );
  }

  /** Whether a header has a token that was verified before and has a caller. */
  isKnown(header: string | undefined): boolean {
    return header !== undefined && this.#knownToken(header)?.caller !== undefined;
  }

  /** Whom requests with a header count against; undefined unless it has a token that was known to have a caller. */
  payerOf(header: string): Payer | undefined {
    const payer = this.#knownToken(header)?.payer;
    return payer?.account === "" ? undefined : payer;
  }

  /** The caller of the token in a header when it was last used. It may not be let in any more. */
  lastCaller(header: string | null): Caller | undefined {
    return header === null ? undefined : this.#knownToken(header)?.caller;
  }

  #knownToken(header: string): VerifiedToken | undefined {
    return this.#tokens.verified(header, this.#clock());
  }

  #callerOf(header: string, { use, nowMs, cached, validity }: LookUp): Awaitable<Caller> {
    const refused = cached === undefined ? this.#tokens.refused(header, nowMs) : undefined;
    if (cached === undefined && refused === undefined) this.tokenUses.unknown++;
    else this.tokenUses.known++;
    return chain(cached ?? refused ?? this.#verified(header), (known) =>
      tryChain(
        () => this.#current(known, use, nowMs, validity),
        (caller) => {
          if (cached === undefined) this.#tokens.accept(known);
          known.caller = caller;
          return caller;
        },
        (error) => {
          if (error instanceof TokenRejected && use?.exchange?.provider === undefined) {
            this.#tokens.refuse(known);
            known.caller = undefined;
            if (known.payer !== undefined) known.payer.account = ""; // connections remember it
          }
          throw error;
        },
      ),
    );
  }

  /** Errors: TokenRejected. */
  async #verified(header: string): Promise<VerifiedToken> {
    const text = bearerIn(header);
    if (text === undefined) throw new TokenRejected("not a bearer token");
    const token = parseToken(text);
    const untilMs = Math.min(this.#clock() + keySetLifetimeMs, (token.claims.exp + leewaySeconds) * 1000);
    if (token.claims.iss !== this.#issuer.url)
      return { header, token, untilMs, verification: await this.#verifier.verify(token) };
    await this.#issuer.verify(token);
    return { header, token, untilMs };
  }

  #validityOf({ token, verification }: VerifiedToken, nowMs: number): Validity {
    const isVerified = verification !== undefined || this.#issuer.stillVerifies(token, nowMs);
    return { isVerified, changes: this.#identities.changes() };
  }

  /** The caller of a verified token now. Errors: TokenRejected. */
  #current(
    known: VerifiedToken,
    use: Use | undefined,
    nowMs: number,
    { isVerified, changes } = this.#validityOf(known, nowMs),
  ): Awaitable<Caller> {
    return both(isVerified, changes, (isVerified, changes) => {
      checkPeriod(known.token.claims, nowMs);
      if (!isVerified) throw new TokenRejected("its key was revoked");
      const { outcome } = known;
      if (use?.exchange === undefined && outcome?.changes === changes && nowMs < outcome.untilMs)
        return settled(outcome);
      return this.#resolve(known, changes, use);
    });
  }

  /** Errors: TokenRejected. */
  async #resolve(known: VerifiedToken, changes: number, use: Use | undefined): Promise<Caller> {
    const provider = use?.exchange?.provider;
    const attempt: Attempt = {
      provider,
      place: use && placeOf(use),
      isExchange: use?.exchange !== undefined,
      isNew: known.isUsed !== true,
    };
    known.isUsed = true;
    const note = (result: Caller | TokenRejected, untilMs = Number.POSITIVE_INFINITY) => {
      if (provider === undefined) known.outcome = { result, changes, untilMs };
    };
    try {
      const { untilMs, isPartial, ...found } = await (known.verification === undefined
        ? this.#ownCaller(known.token, attempt)
        : this.#outsideCaller(known, known.verification, attempt));
      known.payer ??= createPayer(found.caller.key, this.#pause);
      const caller = { ...found.caller, payer: known.payer };
      if (!isPartial) note(caller, Math.min(untilMs, attempt.untilMs ?? Number.POSITIVE_INFINITY));
      return caller;
    } catch (error) {
      const isFinal = error instanceof TokenRejected && !(error instanceof NotFinal);
      if (isFinal && attempt.untilMs === undefined) note(error);
      throw error;
    }
  }

  async #outsideCaller(known: VerifiedToken, verification: Verification, attempt: Attempt): Promise<Found> {
    const { token } = known;
    const { claims, audiences } = token;
    const expecting = await this.#speakers.expecting(claims, audiences);
    let verifiedBy = verification;
    if (!verifiedBy.isPublished && (expecting.wantsPublished || attempt.isExchange)) {
      try {
        verifiedBy = await this.#verifier.verifyPublished(token, verification);
        known.verification = verifiedBy;
      } catch (error) {
        if (!(error instanceof TokenRejected)) throw error;
        if (expecting.wantsPublished) attempt.untilMs = this.#clock() + fetchIntervalMs; // the keys may be fetched then
      }
    }
    const { isPublished, tried } = verifiedBy;
    const trusts = (issuerKeys: string) => this.#verifier.hasVerified(token, verifiedBy, issuerKeys);
    const speaker = await this.#speakers.speaker({ claims, audiences, isPublished }, expecting, trusts, attempt);
    const keys = [...tried].flatMap(([thumbprint, hasVerified]) => (hasVerified ? [thumbprint] : []));
    return { ...speaker, caller: callerFor(token, { claims, audiences, isPublished, keys, signed: token }, speaker) };
  }

  /** The caller of a platform token. */
  async #ownCaller(token: Token, attempt: Attempt): Promise<Found> {
    const principal = principalIn(token.claims);
    if (principal === undefined) return this.#namedCaller(token);
    const { provider, place = organisationOf(narrowingOf(token.claims)?.scopes) } = attempt;
    const { claims, audiences } = principal;
    const expecting = await this.#speakers.expecting(claims, audiences);
    const trusts = (issuerKeys: string) => this.#verifier.hasSigned(principal, issuerKeys);
    const isUserOnly = token.claims.identity !== undefined || provider !== undefined;
    const speaker = await this.#speakers.speaker(principal, expecting, trusts, { provider, place, isUserOnly });
    return { ...speaker, caller: callerFor(token, principal, speaker) };
  }

  /** The caller of a platform token that names an identity, and maybe the provider that its user came through. */
  async #namedCaller({ claims }: Token): Promise<Found> {
    const { sub, idp, act, email, email_verified: isVerified, groups_exp: groupsExp } = claims;
    if (!(await this.#identities.isActive(sub))) throw new TokenRejected("identity does not exist");
    const outsideIssuer = (act as Partial<Claims> | undefined)?.iss;
    const narrowing = narrowingOf(claims);
    const caller: Caller = {
      subject: sub,
      key: sub,
      identities: [sub],
      issuer: claims.iss,
      ...(outsideIssuer !== undefined && { outsideIssuer }),
      ...(isVerified === true && isIdentifier(email) && { email }),
      claims,
      expireTimeMs: claims.exp * 1000,
      ...(narrowing && { narrowing }),
    };
    if (idp === undefined) return { caller, untilMs: Number.POSITIVE_INFINITY, isPartial: false };
    const groups = typeof idp === "string" ? await this.#providers.accepts(idp, sub) : undefined;
    if (groups === undefined) throw new TokenRejected("identity provider does not exist");
    const groupsUntilMs = typeof groupsExp === "number" ? groupsExp * 1000 : Number.POSITIVE_INFINITY;
    const hasGroups = this.#clock() < groupsUntilMs;
    const externalGroups = [...new Set([...(hasGroups ? externalGroupsOf(claims, "groups") : []), ...groups])];
    return {
      caller: { ...caller, providers: [{ uid: idp as string, externalGroups }] },
      untilMs: hasGroups ? groupsUntilMs : Number.POSITIVE_INFINITY,
      isPartial: false,
    };
  }
}

function placeOf(use: Use): string | undefined {
  return use.exchange === undefined ? use.placeOf(use.message) : use.place;
}

/** The caller of a token, where it is known without a wait; undefined otherwise, and for a token without a caller. */
function settledCaller(
  { token, outcome }: VerifiedToken,
  { isVerified, changes }: Validity,
  nowMs: number,
): Caller | undefined {
  if (isVerified !== true || outcome === undefined) return undefined;
  if (outcome.changes !== changes || nowMs >= outcome.untilMs || !isInPeriod(token.claims, nowMs)) return undefined;
  return outcome.result instanceof TokenRejected ? undefined : outcome.result;
}

/** Errors: TokenRejected. */
function settled({ result }: Outcome): Caller {
  if (result instanceof TokenRejected) throw result;
  return result;
}

/** The caller that a token of a principal stands for. */
function callerFor(token: Token, principal: Principal, { identities, providers }: Speaker): Caller {
  const { email, email_verified: isVerified, iss: outsideIssuer } = principal.claims;
  const { claims } = token;
  // Only platform tokens are narrowed: other issuers may use the same names for other claims.
  const isOurs = claims.iss !== outsideIssuer;
  const narrowing = isOurs ? narrowingOf(claims) : undefined;
  return {
    subject: userUidOf(principal),
    key: principalKey(principal),
    identities,
    issuer: claims.iss,
    outsideIssuer,
    ...(isVerified === true && isIdentifier(email) && { email }),
    claims,
    expireTimeMs: claims.exp * 1000,
    ...(providers && { providers }),
    ...(narrowing && { narrowing }),
    ...(!(isOurs && claims.identity !== undefined) && { principal }),
  };
}
