/**
 * `Authorization: Bearer <token>` (RFC 6750) → {@link Caller}.
 *
 * A token of our own names an identity by its uid. A token of another issuer speaks for every identity whose rule it matches, and for the user
 * of an identity provider that has its issuer and, as client, its audience. In this order:
 *
 * 1. Whose keys may verify it: found by issuer and subject in indexes, so that a token that nobody expects costs a few look-ups, whatever tenants have
 *    stored, and no network traffic. No pattern runs.
 * 2. Its signature, by one key of each of these.
 * 3. Its times.
 * 4. The rules of the identities of that issuer, and the audiences of its providers.
 *
 * The result of the cryptography is remembered for ten minutes at most; identities and their rules are asked for on every call, so that a
 * deleted identity or a changed rule counts on the next one. Only verified tokens are remembered: bad ones cannot push them out.
 */
import { hash } from "node:crypto";
import { unauthenticated } from "../errors.ts";
import { andThen, type Eventually, settle } from "../eventually.ts";
import { RecentMap } from "../recent-map.ts";
import { bearerIn, refusalOf } from "./bearer.ts";
import { defaultAudiences, type MatchRule, matches, missesAudience } from "./claim-match.ts";
import type { Issuer } from "./issuer.ts";
import { parseKeySet } from "./key-set.ts";
import { type KeySets, keySetLifetimeMs } from "./key-sets.ts";
import { type Narrowing, narrowingOf } from "./narrowing.ts";
import { externalGroupsOf, type ProviderSignIn, type ProviderSource } from "./provider.ts";
import { type Claims, checkPeriod, isIdentifier, parseToken, type Token, TokenMisfit, TokenRejected } from "./token.ts";

/** Who is calling. */
export interface Caller {
  /** uid of the identity that acts, in events and audit: the one at root level, else the oldest. */
  readonly subject: string;
  /** uids of the identities whose grants unite; `subject` is among them. */
  readonly identities: readonly string[];
  /** `iss` of the token. */
  readonly issuer: string;
  /** `iss` of the token from outside that the caller has come with, at first where it was exchanged since; absent for a token that we made without one. */
  readonly outsideIssuer?: string;
  /** Only when the issuer says that it verified it. The issuer may be anyone's: compare {@link issuer} before trusting it with more. */
  readonly email?: string;
  readonly claims: Readonly<Claims>;
  readonly expireTimeMs: number;
  /**
   * The identity providers that the caller came through; absent for who came otherwise. A token of our own says it in two claims, so that one
   * exchanged for a provider's token is worth no more: `idp`, the provider's uid, and `groups`, the names of the user's groups there.
   */
  readonly providers?: readonly ProviderSignIn[];
  /** What a token of our own restricts the grants to. */
  readonly narrowing?: Narrowing;
}

/** An identity that a token may match. */
export interface MatchableIdentity {
  readonly uid: string;
  readonly createTimeUs: number;
  readonly rule: MatchRule;
}

/** Whose keys may verify a token of some issuer and subject. */
export interface KeySources {
  /** Whether the keys that the issuer publishes may: of an issuer that a rule names, or of one at an origin that a rule's pattern is about. */
  readonly published: "named" | "at origin" | undefined;
  /** Key sets that identities carry, as text, in the order in which to try them: a few at most. */
  readonly carried: readonly string[];
}

/** The identities, as authentication sees them. */
export interface IdentitySource {
  /** Asked for every token that is not verified: as much work however many identities there are. */
  keySources(issuer: string, subject: string): Promise<KeySources>;
  /**
   * Every identity whose rule might match a verified token of this issuer and subject: issuer literally equal or a pattern about its origin, and
   * subject literally equal or a pattern. More than match is harmless, fewer is not.
   */
  candidates(issuer: string, subject: string): Eventually<readonly MatchableIdentity[]>;
  /** Whether there is such an identity that tokens may speak for now. */
  isActive(uid: string): Eventually<boolean>;
  /** Told of every use of an external token for an identity. */
  seen?(uid: string): void;
}

/** Turns the header of a call into its caller. */
export interface Authenticator {
  /**
   * Errors: UNAUTHENTICATED `missing bearer token` or `invalid bearer token`; the challenge of one that is genuine says what it misses. Why any is
   * invalid is the error's `cause`, for the log.
   */
  authenticate(authorizationHeader: string | null): Eventually<Caller>;
}

/** What {@link createAuthenticator} needs. */
export interface AuthenticatorOptions {
  readonly issuer: Issuer;
  readonly identities: IdentitySource;
  readonly providers: ProviderSource;
  readonly keySets: KeySets;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Where the keys to verify with come from: the issuer, or the key set, as text, that an identity carries. */
type KeySource = typeof publishedKeys | string;

interface VerifiedToken {
  readonly header: string;
  readonly token: Token;
  /** The sources whose keys have verified it; a key set by its digest. */
  readonly verifiedBy: Set<KeySource>;
  /** Whether its issuer is one that somebody names, not only one at an origin. */
  isNamed: boolean;
  readonly untilMs: number;
  /** Whom a token of our own names; whether the identity and its provider exist is asked on every call. */
  caller?: Caller;
}

const maxVerifiedTokens = 10_000;
const publishedKeys = Symbol("published keys");

/** For whom a token speaks. */
type Speaker = Pick<Caller, "identities" | "providers">;

/** An authenticator with an empty memory. */
export function createAuthenticator({
  issuer,
  identities,
  providers,
  keySets,
  clock,
}: AuthenticatorOptions): Authenticator {
  const verifiedTokens = new RecentMap<string, VerifiedToken>(maxVerifiedTokens);
  const defaults = defaultAudiences(issuer.url);

  function callerOf(header: string): Eventually<Caller> {
    const remembered = verifiedTokens.get(endOf(header));
    const isKnown = remembered?.header === header && clock() < remembered.untilMs;
    const known = isKnown ? remembered : unverified(header);
    const { claims } = known.token;
    const isOurs = claims.iss === issuer.url;
    return andThen(isKnown ? undefined : isOurs ? verifyOwn(known) : verifyOutside(known), () => {
      checkPeriod(claims, clock());
      if (isOurs) return ownCaller(known);
      return outsideSpeaker(known).then((speaker) => ({
        ...describe(speaker, known.token),
        outsideIssuer: claims.iss,
      }));
    });
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

  /** Verifies a token by the first source whose keys do; those that need no fetch come first. Errors: TokenRejected when there is none. */
  async function verifyOutside(known: VerifiedToken): Promise<void> {
    const { algorithm, claims } = known.token;
    const { iss, sub } = claims;
    const [{ published, carried }, hasProvider] = await Promise.all([
      identities.keySources(iss, sub),
      providers.hasIssuer(iss),
    ]);
    known.isNamed = hasProvider || published === "named";
    const isPublished = hasProvider || published !== undefined;
    const tried = algorithm === "ES384" ? carried.slice(0, 1) : carried; // a signature of P-384 costs as much as seven others
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

  function ownCaller(known: VerifiedToken): Eventually<Caller> {
    const { token } = known;
    const { sub, idp } = token.claims;
    return andThen(identities.isActive(sub), (isActive) => {
      if (!isActive) throw new TokenRejected("identity does not exist");
      known.caller ??= ownCallerOf(token);
      const { caller } = known;
      if (idp === undefined) return caller;
      if (typeof idp !== "string") throw new TokenRejected("identity provider does not exist");
      return andThen(providers.exists(idp), (exists) => {
        if (!exists) throw new TokenRejected("identity provider does not exist");
        return caller;
      });
    });
  }

  async function outsideSpeaker(known: VerifiedToken): Promise<Speaker> {
    const { token } = known;
    const { claims, audiences } = token;
    const [candidates, accepting] = await Promise.all([
      identities.candidates(claims.iss, claims.sub),
      providers.accepting(claims.iss, audiences),
    ]);
    const expecting = candidates.filter(({ rule }) => matches(rule, token, defaults, clock()));
    if (expecting.length === 0 && accepting.length === 0) throw await unexpected(token, candidates);
    const sources = new Set<KeySource>(expecting.map(({ rule }) => sourceOf(rule)));
    if (accepting.length > 0) sources.add(publishedKeys);
    const verified = await verifiedSources(known, sources);
    const matched = expecting.filter(({ rule }) => verified.has(sourceOf(rule))).sort(actorFirst);
    const isSignIn = accepting.length > 0 && verified.has(publishedKeys);
    const user = isSignIn ? await providers.signIn(accepting, claims) : undefined;
    const uids = new Set([...(user === undefined ? [] : [user]), ...matched.map(({ uid }) => uid)]);
    if (uids.size === 0) throw new TokenRejected("the user identity was deleted");
    for (const uid of uids) identities.seen?.(uid);
    if (user === undefined) return { identities: [...uids] };
    const signIns = accepting.map(({ uid, groupsClaim }) => ({
      uid,
      externalGroups: externalGroupsOf(claims, groupsClaim),
    }));
    return { identities: [...uids], providers: signIns };
  }

  /** Why nobody takes a token that is genuine. */
  async function unexpected(token: Token, candidates: readonly MatchableIdentity[]): Promise<TokenRejected> {
    const isForOthers =
      candidates.some(({ rule }) => missesAudience(rule, token, defaults, clock())) ||
      (await providers.hasIssuer(token.claims.iss));
    return isForOthers ? new TokenMisfit("for another audience") : new TokenRejected("nobody expects it");
  }

  /** Those of `sources` whose keys verify the token. Errors: TokenRejected when there is none. */
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
    verifiedTokens.set(endOf(known.header), known);
  }

  return {
    authenticate(header) {
      if (header === null || header.trim() === "") throw unauthenticated("missing bearer token");
      return settle(
        () => callerOf(header),
        (caller) => caller,
        (error) => {
          if (!(error instanceof TokenRejected)) throw error;
          throw refusalOf(header, error);
        },
      );
    },
  };
}

/** By what a verified token is found again: the end of its signature. All of a long text costs more to look up than all else that is done for a caller. */
function endOf(header: string): string {
  return header.slice(-32);
}

function sourceOf(rule: MatchRule): KeySource {
  return rule.kind === "static_keys" ? rule.issuerKeys : publishedKeys;
}

function actorFirst(a: MatchableIdentity, b: MatchableIdentity): number {
  const depth = (identity: MatchableIdentity) => Number(identity.uid.includes("/"));
  return depth(a) - depth(b) || a.createTimeUs - b.createTimeUs || (a.uid < b.uid ? -1 : 1);
}

/** Whom a token of our own names. */
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
