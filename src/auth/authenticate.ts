/**
 * `Authorization: Bearer <token>` (RFC 6750) → {@link Caller}.
 *
 * A token of our own names an identity by its uid. A token of another issuer speaks for every identity whose rule it matches. Rules are
 * compared before any signature is verified, so that a token nobody expects costs no cryptography and, above all, no network traffic:
 * the keys of an issuer are fetched only for a token whose issuer, subject, audience and claims all match some identity.
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
  exists(uid: string): Promise<boolean>;
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

/** An authenticator with an empty memory. */
export function createAuthenticator({ issuer, identities, keySets, clock }: AuthenticatorOptions): Authenticator {
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
    const uids = isOurs ? await ownIdentity(digest, known) : await matchedIdentities(digest, known);
    return describe(uids, known.token);
  }

  function unverified(text: string): VerifiedToken {
    return { token: parseToken(text), verifiedBy: new Set(), untilMs: clock() + keySetLifetimeMs };
  }

  async function ownIdentity(digest: string, known: VerifiedToken): Promise<string[]> {
    const uid = known.token.claims.sub;
    await verify(digest, known, publishedKeys, () => issuer.verify(known.token));
    if (!(await identities.exists(uid))) throw new TokenRejected("identity does not exist");
    return [uid];
  }

  async function matchedIdentities(digest: string, known: VerifiedToken): Promise<string[]> {
    const { token } = known;
    const candidates = await identities.candidates(token.claims.iss, token.claims.sub);
    const expecting = candidates.filter(({ rule }) => matches(rule, token, defaults, clock()));
    const bySource = Map.groupBy(
      expecting,
      ({ rule }): KeySource => (rule.kind === "static_keys" ? rule.issuerKeys : publishedKeys),
    );
    let rejection = new TokenRejected("no identity expects it");
    const verifying = [...bySource].map(async ([source, matched]) => {
      try {
        await verify(digest, known, source, async () =>
          (source === publishedKeys ? keySets : parseKeySet(source)).verify(token),
        );
        return matched;
      } catch (error) {
        if (!(error instanceof TokenRejected)) throw error;
        rejection = error;
        return [];
      }
    });
    const accepted = (await Promise.all(verifying)).flat();
    if (accepted.length === 0) throw rejection;
    const uids = accepted.sort(actorFirst).map(({ uid }) => uid);
    for (const uid of uids) identities.seen?.(uid);
    return uids;
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

function actorFirst(a: MatchableIdentity, b: MatchableIdentity): number {
  const depth = (identity: MatchableIdentity) => Number(identity.uid.includes("/"));
  return depth(a) - depth(b) || a.createTimeUs - b.createTimeUs || (a.uid < b.uid ? -1 : 1);
}

function describe(uids: readonly string[], { claims }: Token): Caller {
  const { iss, email, email_verified: isVerified, exp } = claims;
  return {
    subject: uids[0]!,
    identities: uids,
    issuer: iss,
    ...(isVerified === true && isIdentifier(email) && { email }),
    claims,
    expireTimeMs: exp * 1000,
  };
}
