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
import { CertificateUnknown, createSpeakers, NotFinal, type Speaker } from "./speaker.ts";
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
import { createVerifier, type Verification } from "./verification.ts";

/** What a token is presented for. */
interface Use {
  /** An exchange. With a `provider`, by its uid, the token speaks for the user who signs in there alone. */
  readonly exchange?: { readonly provider?: string | undefined };
  /** The uid that a call is about; undefined if it is about no organisation or several. */
  placeOf?(): string | undefined;
}

/** Authenticates the caller of a call. */
export interface Authenticator {
  /**
   * Errors: UNAUTHENTICATED `missing bearer token` or `invalid bearer token`. The challenge says what is wrong with a
   * token whose signature is valid. The `cause` of the error, for the log, says why any token is invalid.
   */
  authenticate(authorizationHeader: string | null, use?: Use): Awaitable<Caller>;
  /** Whether a header has a token that was verified before and has a caller. */
  isKnown(authorizationHeader: string | undefined): boolean;
  /** Whom requests with a header count against; undefined unless it has a token that was known to have a caller. */
  payerOf(authorizationHeader: string): Payer | undefined;
  /** The caller of the token in a header when it was last used. It may not be let in any more. */
  lastCaller(authorizationHeader: string | null): Caller | undefined;
  /** How many calls had a token that was verified before, and how many had another. */
  readonly tokenUses: { readonly known: number; readonly unknown: number };
}

/** What {@link createAuthenticator} needs. */
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

const maxVerifiedTokens = 10_000;
const maxRefusedTokens = 1000;

/** An authenticator with an empty cache. */
export function createAuthenticator({
  issuer,
  identities,
  providers,
  keySets,
  certificates,
  pause = () => undefined,
  clock,
}: AuthenticatorOptions): Authenticator {
  const verifiedTokens = new LruMap<string, VerifiedToken>(maxVerifiedTokens);
  const refusedTokens = new LruMap<string, VerifiedToken>(maxRefusedTokens);
  const verifier = createVerifier({ identities, providers, keySets, certificates });
  const speakers = createSpeakers({ identities, providers, defaults: defaultAudiences(issuer.url), clock });
  const tokenUses = { known: 0, unknown: 0 };

  function knownToken(header: string, tokens = verifiedTokens): VerifiedToken | undefined {
    const known = tokens.get(cacheKeyOf(header));
    return known?.header === header && clock() < known.untilMs ? known : undefined;
  }

  function callerOf(header: string, use: Use | undefined): Awaitable<Caller> {
    const cached = knownToken(header);
    const refused = cached === undefined ? knownToken(header, refusedTokens) : undefined;
    if (cached === undefined && refused === undefined) tokenUses.unknown++;
    else tokenUses.known++;
    return chain(cached ?? refused ?? verified(header), (known) =>
      tryChain(
        () => current(known, use),
        (caller) => {
          if (cached === undefined) keep(known, verifiedTokens, refusedTokens);
          known.caller = caller;
          return caller;
        },
        (error) => {
          if (error instanceof TokenRejected && use?.exchange?.provider === undefined) {
            keep(known, refusedTokens, verifiedTokens);
            known.caller = undefined;
            if (known.payer !== undefined) known.payer.account = ""; // connections remember it
          }
          throw error;
        },
      ),
    );
  }

  function keep(known: VerifiedToken, into: typeof verifiedTokens, from: typeof verifiedTokens): void {
    const key = cacheKeyOf(known.header);
    if (from.get(key) === known) from.delete(key);
    into.set(key, known);
  }

  /** Errors: TokenRejected. */
  async function verified(header: string): Promise<VerifiedToken> {
    const text = bearerIn(header);
    if (text === undefined) throw new TokenRejected("not a bearer token");
    const token = parseToken(text);
    const untilMs = Math.min(clock() + keySetLifetimeMs, (token.claims.exp + leewaySeconds) * 1000);
    if (token.claims.iss !== issuer.url) return { header, token, untilMs, verification: await verifier.verify(token) };
    await issuer.verify(token);
    return { header, token, untilMs };
  }

  /** The caller of a verified token now. Errors: TokenRejected. */
  function current(known: VerifiedToken, use: Use | undefined): Awaitable<Caller> {
    const { token, verification } = known;
    checkPeriod(token.claims, clock());
    const stillVerifies = verification !== undefined || issuer.stillVerifies(token);
    return both(stillVerifies, identities.changes(), (isVerified, changes) => {
      if (!isVerified) throw new TokenRejected("its key was revoked");
      const { outcome } = known;
      if (use?.exchange === undefined && outcome?.changes === changes && clock() < outcome.untilMs)
        return settled(outcome);
      return resolve(known, changes, use);
    });
  }

  /** Errors: TokenRejected. */
  async function resolve(known: VerifiedToken, changes: number, use: Use | undefined): Promise<Caller> {
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
        ? ownCaller(known.token, attempt)
        : outsideCaller(known, known.verification, attempt));
      known.payer ??= createPayer(found.caller.key, pause);
      const caller = { ...found.caller, payer: known.payer };
      if (!isPartial) note(caller, Math.min(untilMs, attempt.untilMs ?? Number.POSITIVE_INFINITY));
      return caller;
    } catch (error) {
      const isFinal = error instanceof TokenRejected && !(error instanceof NotFinal);
      if (isFinal && attempt.untilMs === undefined) note(error);
      throw error;
    }
  }

  async function outsideCaller(known: VerifiedToken, verification: Verification, attempt: Attempt): Promise<Found> {
    const { token } = known;
    const { claims, audiences } = token;
    const expecting = await speakers.expecting(claims, audiences);
    let verifiedBy = verification;
    if (!verifiedBy.isPublished && (expecting.wantsPublished || attempt.isExchange)) {
      try {
        verifiedBy = await verifier.verifyPublished(token, verification);
        known.verification = verifiedBy;
      } catch (error) {
        if (!(error instanceof TokenRejected)) throw error;
        if (expecting.wantsPublished) attempt.untilMs = clock() + fetchIntervalMs; // the keys may be fetched then
      }
    }
    const { isPublished, tried } = verifiedBy;
    const trusts = (issuerKeys: string) => verifier.hasVerified(token, verifiedBy, issuerKeys);
    const speaker = await speakers.speaker({ claims, audiences, isPublished }, expecting, trusts, attempt);
    const keys = [...tried].flatMap(([thumbprint, hasVerified]) => (hasVerified ? [thumbprint] : []));
    return { ...speaker, caller: callerFor(token, { claims, audiences, isPublished, keys, signed: token }, speaker) };
  }

  /** The caller of a platform token. */
  async function ownCaller(token: Token, attempt: Attempt): Promise<Found> {
    const principal = principalIn(token.claims);
    if (principal === undefined) return namedCaller(token);
    const { provider, place = organisationOf(narrowingOf(token.claims)?.scopes) } = attempt;
    const { claims, audiences } = principal;
    const expecting = await speakers.expecting(claims, audiences);
    const trusts = (issuerKeys: string) => verifier.hasSigned(principal, issuerKeys);
    const isUserOnly = token.claims.identity !== undefined || provider !== undefined;
    const speaker = await speakers.speaker(principal, expecting, trusts, { provider, place, isUserOnly });
    return { ...speaker, caller: callerFor(token, principal, speaker) };
  }

  /** The caller of a platform token that names an identity, and maybe the provider that its user came through. */
  async function namedCaller({ claims }: Token): Promise<Found> {
    const { sub, idp, act, email, email_verified: isVerified, groups_exp: groupsExp } = claims;
    if (!(await identities.isActive(sub))) throw new TokenRejected("identity does not exist");
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
    const groups = typeof idp === "string" ? await providers.accepts(idp, sub) : undefined;
    if (groups === undefined) throw new TokenRejected("identity provider does not exist");
    const groupsUntilMs = typeof groupsExp === "number" ? groupsExp * 1000 : Number.POSITIVE_INFINITY;
    const hasGroups = clock() < groupsUntilMs;
    const externalGroups = [...new Set([...(hasGroups ? externalGroupsOf(claims, "groups") : []), ...groups])];
    return {
      caller: { ...caller, providers: [{ uid: idp as string, externalGroups }] },
      untilMs: hasGroups ? groupsUntilMs : Number.POSITIVE_INFINITY,
      isPartial: false,
    };
  }

  return {
    tokenUses,
    authenticate(header, use) {
      if (header === null || header.trim() === "") throw unauthenticated("missing bearer token");
      return tryChain(
        () => callerOf(header, use),
        (caller) => caller,
        (error) => {
          if (!(error instanceof TokenRejected)) throw error;
          if (error instanceof CertificateUnknown)
            throw Object.assign(unauthenticated(error.message), { cause: error });
          throw refusalOf(header, error);
        },
      );
    },
    isKnown: (header) => header !== undefined && knownToken(header)?.caller !== undefined,
    payerOf(header) {
      const payer = knownToken(header)?.payer;
      return payer?.account === "" ? undefined : payer;
    },
    lastCaller: (header) => (header === null ? undefined : knownToken(header)?.caller),
  };
}

/** Errors: TokenRejected. */
function settled({ result }: Outcome): Caller {
  if (result instanceof TokenRejected) throw result;
  return result;
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
