/**
 * `Authorization: Bearer <token>` (RFC 6750) → {@link Caller}.
 *
 * A platform token names an identity by its uid. A token of another issuer speaks for every identity whose rule it
 * matches, and for the user of an identity provider with its issuer and one of its audiences as client. Steps:
 *
 * 1. Find whose keys may verify it, by issuer and subject, in indexes. So an unexpected token costs a few index
 *    lookups, whatever tenants have stored, and no network traffic. No pattern is matched.
 * 2. Verify its signature with a key of each of these sources.
 * 3. Check its times.
 * 4. Match the rules of the identities of that issuer and the audiences of its providers.
 *
 * The result of the verification is cached for at most ten minutes. Identities and their rules are read on every call,
 * and so are the keys of the platform, so a deleted identity, a changed rule or a revoked key takes effect on the next
 * one. Only verified tokens are cached, so invalid ones cannot evict them.
 */

import { hash } from "node:crypto";
import { type Awaitable, both, chain, tryChain } from "../awaitable.ts";
import { unauthenticated } from "../errors.ts";
import { createPayer, type Pause, type Payer } from "../fairness/index.ts";
import { LruMap } from "../lru-map.ts";
import { bearerIn, refusalOf } from "./bearer.ts";
import type { Caller } from "./caller.ts";
import { defaultAudiences, type MatchRule, matches, missesAudience } from "./claim-match.ts";
import { type CertificateTokens, certificateIssuer } from "./client-certificates.ts";
import type { Issuer } from "./issuer.ts";
import { parseKeySet } from "./key-set.ts";
import { type KeySets, keySetLifetimeMs } from "./key-sets.ts";
import { narrowingOf } from "./narrowing.ts";
import { externalGroupsOf, type ProviderSource } from "./provider.ts";
import { type Claims, checkPeriod, isIdentifier, parseToken, type Token, TokenMisfit, TokenRejected } from "./token.ts";

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
  /** The static key sets of identities, as text, in the order in which to try them; at most a few. */
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
  /** Called for every use of a token of another issuer for an identity. */
  seen?(uid: string): void;
}

/** Authenticates the caller of a call. */
export interface Authenticator {
  /**
   * Errors: UNAUTHENTICATED `missing bearer token` or `invalid bearer token`. The challenge says what is wrong with a
   * token whose signature is valid. The `cause` of the error, for the log, says why any token is invalid.
   */
  authenticate(authorizationHeader: string | null): Awaitable<Caller>;
  /** Whether a header has a token that was verified before, and need not be verified again. */
  isKnown(authorizationHeader: string | undefined): boolean;
  /** Whom requests with a header count against; undefined unless it has a token that was known to have a caller. */
  payerOf(authorizationHeader: string): Payer | undefined;
  /** The caller that the platform token in a header named when it was last used. It may not be let in any more. */
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
  /** Absent: certificates of clients are no identities. */
  readonly certificates?: CertificateTokens | undefined;
  /** See {@link Payer.pause}; absent: nothing pauses. */
  readonly pause?: Pause | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Where keys come from: the issuer publishes them, or an identity has a static key set, as text. */
type KeySource = typeof publishedKeys | string;

interface VerifiedToken {
  readonly header: string;
  readonly token: Token;
  /** The sources whose keys have verified it; of a key set its digest. */
  readonly verifiedBy: Set<KeySource>;
  /** Whether a rule or provider names its issuer, not only its origin. */
  isNamed: boolean;
  readonly untilMs: number;
  /** Set once it has a caller. */
  payer?: Payer;
  /** The caller of a platform token. Whether its identity and provider exist is checked on every call. */
  caller?: Caller;
}

const maxVerifiedTokens = 10_000;
const publishedKeys = Symbol("published keys");

/** The client has a valid certificate and no token. It may know the name in its certificate. */
class CertificateUnknown extends TokenRejected {
  constructor(subject: string) {
    super(`missing bearer token, and no identity is that of the client certificate for ${subject}`);
  }
}

/** The identities that a token speaks for. */
type Speaker = Pick<Caller, "identities" | "providers">;

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
  const defaults = defaultAudiences(issuer.url);
  const tokenUses = { known: 0, unknown: 0 };

  function knownToken(header: string): VerifiedToken | undefined {
    const known = verifiedTokens.get(cacheKeyOf(header));
    return known?.header === header && clock() < known.untilMs ? known : undefined;
  }

  function callerOf(header: string): Awaitable<Caller> {
    const cached = knownToken(header);
    if (cached === undefined) tokenUses.unknown++;
    else tokenUses.known++;
    const known = cached ?? unverified(header);
    const { claims } = known.token;
    const isOurs = claims.iss === issuer.url;
    return chain(cached !== undefined ? undefined : isOurs ? verifyOwn(known) : verifyOutside(known), () => {
      checkPeriod(claims, clock());
      if (isOurs) return ownCaller(known);
      return outsideSpeaker(known).then((speaker) => ({
        ...describe(speaker, known.token),
        outsideIssuer: claims.iss,
        payer: payerFor(known),
      }));
    });
  }

  function payerFor(known: VerifiedToken): Payer {
    known.payer ??= createPayer(known.token.claims.iss, known.token.claims.sub, pause);
    return known.payer;
  }

  function payerOf(header: string): Payer | undefined {
    const payer = knownToken(header)?.payer;
    return payer?.account === "" ? undefined : payer;
  }

  function unverified(header: string): VerifiedToken {
    const text = bearerIn(header);
    if (text === undefined) throw new TokenRejected("not a bearer token");
    const untilMs = clock() + keySetLifetimeMs;
    return { header, token: parseToken(text), verifiedBy: new Set(), isNamed: false, untilMs };
  }

  function verifyOwn(known: VerifiedToken): Promise<void> {
    return verify(known, publishedKeys, () => issuer.verify(known.token));
  }

  /**
   * Verifies a token with the first source whose keys verify it; sources without a fetch come first. Errors:
   * TokenRejected when none does.
   */
  async function verifyOutside(known: VerifiedToken): Promise<void> {
    const { algorithm, claims } = known.token;
    const { iss, sub } = claims;
    if (iss === certificateIssuer) {
      if (certificates === undefined) throw new TokenRejected("certificates of clients are no identities here");
      return verify(known, publishedKeys, async () => certificates.verify(known.token));
    }
    const [{ published, carried }, hasProvider] = await Promise.all([
      identities.keySources(iss, sub),
      providers.hasIssuer(iss),
    ]);
    known.isNamed = hasProvider || published === "named";
    const isPublished = hasProvider || published !== undefined;
    const tried = algorithm === "ES384" ? carried.slice(0, 1) : carried; // one of P-384 costs as much as seven others
    const sources: readonly KeySource[] = isPublished ? [...tried, publishedKeys] : tried;
    let rejection: TokenRejected | undefined;
    for (const source of sources) {
      try {
        return await verifyBy(known, source);
      } catch (error) {
        if (!(error instanceof TokenRejected)) throw error;
        rejection = error;
      }
    }
    throw rejection ?? new TokenRejected("nobody expects it");
  }

  function ownCaller(known: VerifiedToken): Awaitable<Caller> {
    const { token } = known;
    const { sub, idp } = token.claims;
    return both(issuer.stillVerifies(token), identities.isActive(sub), (isVerified, isActive) => {
      if (!isVerified) throw new TokenRejected("its key was revoked");
      if (!isActive) throw new TokenRejected("identity does not exist");
      known.caller ??= { ...ownCallerOf(token), payer: payerFor(known) };
      const { caller } = known;
      if (idp === undefined) return caller;
      if (typeof idp !== "string") throw new TokenRejected("identity provider does not exist");
      return chain(providers.accepts(idp, sub), (isAccepted) => {
        if (!isAccepted) throw new TokenRejected("identity provider does not exist");
        return caller;
      });
    });
  }

  async function outsideSpeaker(known: VerifiedToken): Promise<Speaker> {
    const { token } = known;
    const { claims, audiences } = token;
    const [candidates, accepting] = await Promise.all([
      identities.candidates(claims.iss, claims.sub),
      claims.iss === certificateIssuer ? [] : providers.accepting(claims.iss, audiences),
    ]);
    const expecting = candidates.filter(({ rule }) => matches(rule, token, defaults, clock()));
    if (expecting.length === 0 && accepting.length === 0) throw await unexpected(token, candidates);
    const sources = new Set<KeySource>(expecting.map(({ rule }) => sourceOf(rule)));
    if (accepting.length > 0) sources.add(publishedKeys);
    const verified = await verifiedSources(known, sources);
    const matched = expecting.filter(({ rule }) => verified.has(sourceOf(rule))).sort(actorFirst);
    const isSignIn = accepting.length > 0 && verified.has(publishedKeys);
    const user = isSignIn ? await providers.signIn(accepting, claims) : undefined;
    const uids = new Set([...(user === undefined ? [] : [user.identity]), ...matched.map(({ uid }) => uid)]);
    if (uids.size === 0) throw new TokenRejected("the user was deleted, or its identity provider does not let it in");
    for (const uid of uids) identities.seen?.(uid);
    if (user === undefined) return { identities: [...uids] };
    const signIns = user.providers.map(({ uid, groupsClaim, groups = [] }) => ({
      uid,
      externalGroups: [...new Set([...externalGroupsOf(claims, groupsClaim), ...groups])],
    }));
    return { identities: [...uids], providers: signIns };
  }

  /** The reason why no identity accepts a verified token. */
  async function unexpected(token: Token, candidates: readonly MatchableIdentity[]): Promise<TokenRejected> {
    const { iss, sub } = token.claims;
    if (iss === certificateIssuer) return new CertificateUnknown(sub);
    const isForOthers =
      candidates.some(({ rule }) => missesAudience(rule, token, defaults, clock())) ||
      (await providers.hasIssuer(token.claims.iss));
    return isForOthers ? new TokenMisfit("for another audience") : new TokenRejected("nobody expects it");
  }

  /** The sources whose keys verify the token. Errors: TokenRejected when there is none. */
  async function verifiedSources(
    known: VerifiedToken,
    sources: ReadonlySet<KeySource>,
  ): Promise<ReadonlySet<KeySource>> {
    const verified = new Set<KeySource>();
    let rejection = new TokenRejected("nobody expects it");
    const verifying = [...sources].map(async (source) => {
      try {
        await verifyBy(known, source);
        verified.add(source);
      } catch (error) {
        if (!(error instanceof TokenRejected)) throw error;
        rejection = error;
      }
    });
    await Promise.all(verifying);
    if (verified.size === 0) throw rejection;
    return verified;
  }

  function verifyBy(known: VerifiedToken, source: KeySource): Promise<void> {
    const { token, isNamed } = known;
    return verify(known, source, async () =>
      source === publishedKeys ? keySets.verify(token, isNamed) : parseKeySet(source).verify(token),
    );
  }

  async function verify(known: VerifiedToken, source: KeySource, check: () => Promise<unknown>): Promise<void> {
    const keys = source === publishedKeys ? source : hash("sha256", source, "base64");
    if (known.verifiedBy.has(keys)) return;
    await check();
    known.verifiedBy.add(keys);
    verifiedTokens.set(cacheKeyOf(known.header), known);
  }

  return {
    tokenUses,
    authenticate(header) {
      if (header === null || header.trim() === "") throw unauthenticated("missing bearer token");
      return tryChain(
        () => callerOf(header),
        (caller) => caller,
        (error) => {
          if (!(error instanceof TokenRejected)) throw error;
          const payer = payerOf(header);
          if (payer !== undefined) payer.account = "";
          if (error instanceof CertificateUnknown)
            throw Object.assign(unauthenticated(error.message), { cause: error });
          throw refusalOf(header, error);
        },
      );
    },
    payerOf,
    isKnown: (header) => header !== undefined && knownToken(header) !== undefined,
    lastCaller: (header) => (header === null ? undefined : knownToken(header)?.caller),
  };
}

/**
 * The cache key of a verified token: the end of its signature. The lookup of a long text would cost more than the rest
 * of authentication.
 */
function cacheKeyOf(header: string): string {
  return header.slice(-32);
}

function sourceOf(rule: MatchRule): KeySource {
  return rule.kind === "static_keys" ? rule.issuerKeys : publishedKeys;
}

function actorFirst(a: MatchableIdentity, b: MatchableIdentity): number {
  const depth = (identity: MatchableIdentity) => Number(identity.uid.includes("/"));
  return depth(a) - depth(b) || a.createTimeUs - b.createTimeUs || (a.uid < b.uid ? -1 : 1);
}

/** The caller that a platform token names. */
function ownCallerOf(token: Token): Caller {
  const { sub, idp, act } = token.claims;
  const signIns = () => [{ uid: String(idp), externalGroups: externalGroupsOf(token.claims, "groups") }];
  const speaker = { identities: [sub], ...(idp !== undefined && { providers: signIns() }) };
  const narrowing = narrowingOf(token.claims);
  const outsideIssuer = (act as Partial<Claims> | undefined)?.iss;
  return {
    ...describe(speaker, token),
    ...(outsideIssuer !== undefined && { outsideIssuer }),
    ...(narrowing && { narrowing }),
  };
}

function describe(speaker: Speaker, { claims }: Token): Caller {
  const { iss, email, email_verified: isVerified, exp } = claims;
  return {
    subject: speaker.identities[0]!,
    ...speaker,
    issuer: iss,
    ...(isVerified === true && isIdentifier(email) && { email }),
    claims,
    expireTimeMs: exp * 1000,
  };
}
