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

import { type Awaitable, both, chain, tryChain } from "../awaitable.ts";
import { unauthenticated } from "../errors.ts";
import { createPayer, type Pause, type Payer } from "../fairness/index.ts";
import { LruMap } from "../lru-map.ts";
import type { Caller } from "./caller.ts";
import type { IdentitySource } from "./identity-source.ts";
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
  leewaySeconds,
  parseToken,
  type Token,
  TokenRejected,
} from "./tokens/token.ts";
import { type Verification, Verifier } from "./verification.ts";

/** What a token is presented for. */
interface Use {
  /** An exchange. With a `provider`, by its uid, the token speaks for the user who signs in there alone. */
  readonly exchange?: { readonly provider?: string | undefined };
  /** The uid that a call is about; undefined if it is about no organisation or several. */
  placeOf?(): string | undefined;
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

/** Whom a token speaks for, or why for nobody, while `changes` has the same value. */
interface Outcome {
  readonly result: Caller | TokenRejected;
  readonly changes: number;
  readonly untilMs: number;
}

/** A token whose signature is valid. */
interface VerifiedToken {
  readonly header: string;
  readonly token: Token;
  /** What has verified a token of another issuer. */
  verification?: Verification;
  readonly untilMs: number;
  outcome?: Outcome | undefined;
  /** Whether it has been found out before whom it speaks for. */
  isUsed?: boolean;
  /** Its caller when it was last used; undefined if it was refused. */
  caller?: Caller | undefined;
  /** Set once it has a caller. */
  payer?: Payer;
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

/** By {@link cacheKeyOf}. */
type Tokens = LruMap<string, VerifiedToken>;

const maxVerifiedTokens = 10_000;
const maxRefusedTokens = 1000;

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
  readonly #verifiedTokens: Tokens = new LruMap(maxVerifiedTokens);
  readonly #refusedTokens: Tokens = new LruMap(maxRefusedTokens);
  /** The verified token that was looked up last: that of a call is looked up twice. */
  #lastToken: VerifiedToken | undefined;

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
    return tryChain(
      () => this.#callerOf(header, use),
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

  #knownToken(header: string, nowMs = this.#clock()): VerifiedToken | undefined {
    const last = this.#lastToken;
    const known = last?.header === header ? last : tokenIn(this.#verifiedTokens, header);
    this.#lastToken = known;
    return known !== undefined && nowMs < known.untilMs ? known : undefined;
  }

  #callerOf(header: string, use: Use | undefined): Awaitable<Caller> {
    const nowMs = this.#clock();
    const cached = this.#knownToken(header, nowMs);
    const refused = cached === undefined ? this.#refusedToken(header, nowMs) : undefined;
    if (cached === undefined && refused === undefined) this.tokenUses.unknown++;
    else this.tokenUses.known++;
    return chain(cached ?? refused ?? this.#verified(header), (known) =>
      tryChain(
        () => this.#current(known, use, nowMs),
        (caller) => {
          if (cached === undefined) this.#keep(known, this.#verifiedTokens, this.#refusedTokens);
          known.caller = caller;
          return caller;
        },
        (error) => {
          if (error instanceof TokenRejected && use?.exchange?.provider === undefined) {
            this.#keep(known, this.#refusedTokens, this.#verifiedTokens);
            known.caller = undefined;
            if (known.payer !== undefined) known.payer.account = ""; // connections remember it
          }
          throw error;
        },
      ),
    );
  }

  #refusedToken(header: string, nowMs: number): VerifiedToken | undefined {
    const refused = tokenIn(this.#refusedTokens, header);
    return refused !== undefined && nowMs < refused.untilMs ? refused : undefined;
  }

  #keep(known: VerifiedToken, into: Tokens, from: Tokens): void {
    this.#lastToken = undefined;
    const key = cacheKeyOf(known.header);
    if (from.get(key) === known) from.delete(key);
    into.set(key, known);
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

  /** The caller of a verified token now. Errors: TokenRejected. */
  #current(known: VerifiedToken, use: Use | undefined, nowMs: number): Awaitable<Caller> {
    const { token, verification } = known;
    checkPeriod(token.claims, nowMs);
    const stillVerifies = verification !== undefined || this.#issuer.stillVerifies(token);
    return both(stillVerifies, this.#identities.changes(), (isVerified, changes) => {
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
      place: use?.placeOf?.(),
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

/** Errors: TokenRejected. */
function settled({ result }: Outcome): Caller {
  if (result instanceof TokenRejected) throw result;
  return result;
}

function tokenIn(tokens: Tokens, header: string): VerifiedToken | undefined {
  const known = tokens.get(cacheKeyOf(header));
  return known?.header === header ? known : undefined;
}

/**
 * The cache key of a verified token: the end of its signature. The lookup of a long text would cost more than the rest
 * of authentication.
 */
function cacheKeyOf(header: string): string {
  return header.slice(-32);
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
