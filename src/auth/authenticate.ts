/**
 * `Authorization: Bearer <token>` (RFC 6750) → {@link Caller}.
 *
 * A token of our own names an identity by its uid. A token of another issuer speaks for every identity whose rule it matches, and for the user
 * of an identity provider that has its issuer and, as client, its audience. Rules and providers are compared before any signature is verified,
 * so that a token nobody expects costs no cryptography and, above all, no network traffic: the keys of an issuer are fetched only for a token
 * that some provider accepts or whose issuer, subject, audience and claims all match some identity.
 *
 * The result of the cryptography is remembered for ten minutes at most; identities and their rules are asked for on every call, so that a
 * deleted identity or a changed rule counts on the next one. Only verified tokens are remembered: bad ones cannot push them out.
 */
import { hash } from "node:crypto";
import { unauthenticated } from "../errors.ts";
import { defaultAudiences, type MatchRule, matches } from "./claim-match.ts";
import type { Issuer } from "./issuer.ts";
import { parseKeySet } from "./key-set.ts";
import { type KeySets, keySetLifetimeMs } from "./key-sets.ts";
import { LruMap } from "./lru-map.ts";
import { type Narrowing, narrowingOf } from "./narrowing.ts";
import { externalGroupsOf, type ProviderSignIn, type ProviderSource } from "./provider.ts";
import { type Claims, checkPeriod, isIdentifier, parseToken, type Token, TokenRejected } from "./token.ts";

/** Who is calling. */
export interface Caller {
  /** uid of the identity that acts, in events and audit: the one at root level, else the oldest. */
  readonly subject: string;
  /** uids of the identities whose grants unite; `subject` is among them. */
  readonly identities: readonly string[];
  /** `iss` of the token. */
  readonly issuer: string;
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

/** The identities, as authentication sees them. */
export interface IdentitySource {
  /**
   * Every identity whose rule might match a token of this issuer and subject: issuer literally equal or a pattern, and subject literally
   * equal or a pattern. More than match is harmless, fewer is not.
   */
  candidates(issuer: string, subject: string): Promise<readonly MatchableIdentity[]>;
  /** Whether there is such an identity that tokens may speak for now. */
  isActive(uid: string): Promise<boolean>;
  /** Told of every use of an external token for an identity. */
  seen?(uid: string): void;
}

/** Turns the header of a call into its caller. */
export interface Authenticator {
  /**
   * Errors: UNAUTHENTICATED `missing bearer token` or `invalid bearer token`, never more; why it is invalid is the error's `cause`, for the log.
   */
  authenticate(authorizationHeader: string | null): Promise<Caller>;
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
  readonly token: Token;
  /** The sources whose keys have verified it; a key set by its digest. */
  readonly verifiedBy: Set<KeySource>;
  readonly untilMs: number;
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
  const verifiedTokens = new LruMap<string, VerifiedToken>(maxVerifiedTokens);
  const defaults = defaultAudiences(issuer.url);

  async function callerOf(header: string): Promise<Caller> {
    const text = /^Bearer +([\w.-]+)$/i.exec(header)?.[1];
    if (text === undefined) throw new TokenRejected("not a bearer token");
    const digest = hash("sha256", text, "base64");
    const remembered = verifiedTokens.get(digest);
    const known = remembered !== undefined && clock() < remembered.untilMs ? remembered : unverified(text);
    checkPeriod(known.token.claims, clock());
    const isOurs = known.token.claims.iss === issuer.url;
    const speaker = isOurs ? await ownSpeaker(digest, known) : await outsideSpeaker(digest, known);
    const narrowing = isOurs ? narrowingOf(known.token.claims) : undefined;
    return { ...describe(speaker, known.token), ...(narrowing && { narrowing }) };
  }

  function unverified(text: string): VerifiedToken {
    return { token: parseToken(text), verifiedBy: new Set(), untilMs: clock() + keySetLifetimeMs };
  }

  async function ownSpeaker(digest: string, known: VerifiedToken): Promise<Speaker> {
    const { claims } = known.token;
    await verify(digest, known, publishedKeys, () => issuer.verify(known.token));
    if (!(await identities.isActive(claims.sub))) throw new TokenRejected("identity does not exist");
    if (claims.idp === undefined) return { identities: [claims.sub] };
    if (typeof claims.idp !== "string" || !(await providers.exists(claims.idp)))
      throw new TokenRejected("identity provider does not exist");
    const signIn = { uid: claims.idp, externalGroups: externalGroupsOf(claims, "groups") };
    return { identities: [claims.sub], providers: [signIn] };
  }

  async function outsideSpeaker(digest: string, known: VerifiedToken): Promise<Speaker> {
    const { claims, audiences } = known.token;
    const [candidates, accepting] = await Promise.all([
      identities.candidates(claims.iss, claims.sub),
      providers.accepting(claims.iss, audiences),
    ]);
    const expecting = candidates.filter(({ rule }) => matches(rule, known.token, defaults, clock()));
    const sources = new Set<KeySource>(expecting.map(({ rule }) => sourceOf(rule)));
    if (accepting.length > 0) sources.add(publishedKeys);
    const verified = await verifiedSources(digest, known, sources);
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

  /** Those of `sources` whose keys verify the token. Errors: TokenRejected when there is none. */
  async function verifiedSources(
    digest: string,
    known: VerifiedToken,
    sources: ReadonlySet<KeySource>,
  ): Promise<ReadonlySet<KeySource>> {
    const { token } = known;
    const verified = new Set<KeySource>();
    let rejection = new TokenRejected("nobody expects it");
    const verifying = [...sources].map(async (source) => {
      try {
        await verify(digest, known, source, async () =>
          (source === publishedKeys ? keySets : parseKeySet(source)).verify(token),
        );
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

  async function verify(
    digest: string,
    known: VerifiedToken,
    source: KeySource,
    check: () => Promise<unknown>,
  ): Promise<void> {
    const keys = source === publishedKeys ? source : hash("sha256", source, "base64");
    if (known.verifiedBy.has(keys)) return;
    await check();
    known.verifiedBy.add(keys);
    verifiedTokens.set(digest, known);
  }

  return {
    async authenticate(header) {
      if (header === null || header.trim() === "") throw unauthenticated("missing bearer token");
      try {
        return await callerOf(header);
      } catch (error) {
        if (error instanceof TokenRejected)
          throw Object.assign(unauthenticated("invalid bearer token"), { cause: error });
        throw error;
      }
    },
  };
}

function sourceOf(rule: MatchRule): KeySource {
  return rule.kind === "static_keys" ? rule.issuerKeys : publishedKeys;
}

function actorFirst(a: MatchableIdentity, b: MatchableIdentity): number {
  const depth = (identity: MatchableIdentity) => Number(identity.uid.includes("/"));
  return depth(a) - depth(b) || a.createTimeUs - b.createTimeUs || (a.uid < b.uid ? -1 : 1);
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
