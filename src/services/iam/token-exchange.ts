/**
 * Token exchange: a token from outside for one of the platform's own, which names a single identity, lives an hour, and may be narrowed to some
 * groups and capabilities. What a token is worth is decided anew on every call it makes, so all that an exchange fixes is who and how little.
 *
 * - A token of the platform's own may be exchanged too, to narrow it further: the new one keeps all restrictions of the old, ends no later
 *   than it, and begins no session. Otherwise one stolen token could be renewed for ever.
 * - Where roles mapped to external groups apply, the token ends no later than the one that names the groups, and there is no refresh token.
 * - With `identity`, a readable token that does not stand for it is PERMISSION_DENIED, in the same words whether the identity is foreign, does
 *   not exist, or the signature is wrong.
 *
 * Follows RFC 8693 (token exchange), RFC 6749, section 6 (refreshing), and RFC 7009 (revocation).
 */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Authenticator,
  type Caller,
  capabilities,
  capabilitiesByName,
  defaultAudiences,
  type Issuer,
  isReadableToken,
  type Narrowing,
  narrower,
  narrowingClaims,
  narrowingOf,
  TokenTooLong,
} from "../../auth/index.ts";
import { type FieldViolation, invalid, permissionDenied, unauthenticated } from "../../errors.ts";
import type { Database } from "../../store/index.ts";
import { isUid, outermost } from "../../uid.ts";
import { externalGroupRoleMappings } from "./external-group-role-mappings.ts";
import { beginSession, continueSession, endSession, findSession, type RefreshToken } from "./sessions.ts";

/** How an exchanged token is to be less than the one given. Empty lists ask for nothing. */
export interface NarrowingRequest {
  /** Whom the new token is for: only the platform itself. */
  readonly audiences: readonly string[];
  /** uids of groups. */
  readonly scopes: readonly string[];
  /** Names of capabilities, in either spelling. */
  readonly capabilities: readonly string[];
}

/** What to exchange a token for. */
export interface ExchangeRequest extends NarrowingRequest {
  /** uid of the identity to act as, among those that the token matches. */
  readonly identity?: string | undefined;
  /** uid of the identity provider that the token must have come through. */
  readonly identityProvider?: string | undefined;
}

/** The answer to an exchange. */
export interface IssuedToken {
  readonly token: string;
  readonly expireTimeMs: number;
  /** uid of the identity. */
  readonly subject: string;
  /** `iss` of the token that it was exchanged for. */
  readonly upstreamIssuer: string;
  readonly narrowing: Narrowing;
  readonly refreshToken: RefreshToken | undefined;
}

/** Exchanges, refreshes and revokes tokens. */
export interface TokenExchange {
  /** Errors: UNAUTHENTICATED, PERMISSION_DENIED, INVALID_ARGUMENT. */
  exchange(token: string, request: ExchangeRequest): Promise<IssuedToken>;
  /** A token of the session, and the refresh token that continues it. Errors: UNAUTHENTICATED, INVALID_ARGUMENT. */
  refresh(refreshToken: string, request: NarrowingRequest): Promise<IssuedToken>;
  /** Ends the session of a refresh token; the uid of its identity, undefined where there was nothing to end. */
  revoke(refreshToken: string): Promise<string | undefined>;
}

/** What {@link createTokenExchange} needs. */
export interface TokenExchangeOptions {
  readonly database: Database;
  readonly issuer: Issuer;
  readonly authenticator: Authenticator;
  /** Where clients reach the platform: it may be named as the audience, as the issuer may. */
  readonly baseUrl: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const lifeSeconds = 3600;
const maxScopes = 100;

/** The exchange of an installation. */
export function createTokenExchange(options: TokenExchangeOptions): TokenExchange {
  const { database, issuer, authenticator, now } = options;
  const audiences = new Set([...defaultAudiences(issuer.url), ...defaultAudiences(options.baseUrl)]);

  async function callerWith(token: string, identity: string | undefined): Promise<Caller> {
    try {
      return await authenticator.authenticate(`Bearer ${token}`);
    } catch (error) {
      if (isRefusal(error) && identity !== undefined && isReadableToken(token, now()))
        throw Object.assign(notAssumable(), { cause: error.cause });
      throw error;
    }
  }

  /** Whether a token of ours works at all: its identity is there, and so is the provider through which it came. */
  async function accepts(token: string): Promise<boolean> {
    try {
      await authenticator.authenticate(`Bearer ${token}`);
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }

  /** Errors: INVALID_ARGUMENT, also when nothing is left of what the token given could do. */
  function narrowed(given: Narrowing, request: NarrowingRequest): Narrowing {
    const violations = violationsOf(request, audiences);
    if (violations.length > 0) throw invalid(violations);
    const wanted = new Set(request.capabilities.map((name) => capabilitiesByName.get(name)));
    const narrowing = narrower(given, {
      ...(request.scopes.length > 0 && { scopes: outermost(request.scopes) }),
      ...(wanted.size > 0 && { capabilities: [...capabilities.keys()].filter((capability) => wanted.has(capability)) }),
    });
    if (request.scopes.length > 0 && narrowing.scopes?.length === 0)
      throw invalid({ field: "scopes", description: "the token given is narrowed to other groups" });
    if (wanted.size > 0 && narrowing.capabilities?.length === 0)
      throw invalid({ field: "cap", description: "the token given is narrowed to other capabilities" });
    return narrowing;
  }

  async function mint(
    subject: string,
    claims: Upstream,
    narrowing: Narrowing,
    latestMs = Number.POSITIVE_INFINITY,
  ): Promise<Omit<IssuedToken, "refreshToken">> {
    const issuedAt = Math.floor(now() / 1000);
    const ttlSeconds = Math.min(lifeSeconds, Math.floor(latestMs / 1000) - issuedAt);
    try {
      const token = await issuer.mint({ subject, ttlSeconds, claims: { ...claims, ...narrowingClaims(narrowing) } });
      const expireTimeMs = (issuedAt + ttlSeconds) * 1000;
      return { token, expireTimeMs, subject, upstreamIssuer: claims.act.iss, narrowing };
    } catch (error) {
      if (!(error instanceof TokenTooLong)) throw error;
      throw invalid({
        field: "",
        description: "the token would be too long; narrow it to fewer groups and capabilities",
      });
    }
  }

  /** Whether roles are mapped to any of the groups that the token names. */
  async function isMapped(provider: Provider): Promise<boolean> {
    if (provider.externalGroups.length === 0) return false;
    const where = [{ column: "external_group_id", in: provider.externalGroups }];
    return database.read.exists(externalGroupRoleMappings.table, { parent: provider.uid, where });
  }

  return {
    async exchange(token, request) {
      const caller = await callerWith(token, request.identity);
      const subject = request.identity ?? caller.subject;
      const provider = providerOf(caller, subject, request.identityProvider);
      if (!caller.identities.includes(subject) || (request.identityProvider !== undefined && provider === undefined))
        throw notAssumable();
      const narrowing = narrowed(caller.narrowing ?? {}, request);
      const isOurs = caller.issuer === issuer.url;
      const claims = { ...upstreamClaims(caller, isOurs), ...(provider && { idp: provider.uid }) };
      const groups = provider?.externalGroups ?? [];
      const latestMs = isOurs || groups.length > 0 ? caller.expireTimeMs : undefined;
      const issued = await mint(subject, { ...claims, ...(groups.length > 0 && { groups }) }, narrowing, latestMs);
      if (isOurs || (provider !== undefined && (await isMapped(provider))))
        return { ...issued, refreshToken: undefined };
      const facts = { subject, claims: { ...claims, ...narrowingClaims(narrowing) } };
      return { ...issued, refreshToken: await beginSession(database, facts, now()) };
    },

    async refresh(refreshToken, request) {
      const found = await findSession(database.read, refreshToken, now());
      if (found === undefined) throw notRefreshable();
      const { subject, claims } = found.facts;
      const narrowing = narrowed(narrowingOf(claims) ?? {}, request);
      const issued = await mint(subject, claims as Upstream, narrowing);
      const isAccepted = await accepts(issued.token);
      const next = await database.transact(async (session) => {
        if (isAccepted) return continueSession(session, refreshToken, now());
        await endSession(session, refreshToken);
        return undefined;
      });
      if (next === undefined) throw notRefreshable();
      return { ...issued, refreshToken: next };
    },

    async revoke(refreshToken) {
      if ((await findSession(database.read, refreshToken, now())) === undefined) return undefined; // anybody may ask: no transaction
      return database.transact((session) => endSession(session, refreshToken));
    },
  };
}

function isRefusal(error: unknown): error is ConnectError {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

/** Claims about the token given; `act` as RFC 8693, 4.1, has it. */
interface Upstream {
  readonly act: { readonly iss: string; readonly sub: string; readonly aud: string | readonly string[] };
  readonly [name: string]: unknown;
}

type Provider = NonNullable<Caller["providers"]>[number];

/** The provider through which the token stands for `subject`: the one asked for, or else the first that accepts it. */
function providerOf({ identities, providers = [] }: Caller, subject: string, wanted: string | undefined) {
  if (subject !== identities[0]) return undefined; // the user of a provider comes first; others match by their own rule
  return wanted === undefined ? providers[0] : providers.find(({ uid }) => uid === wanted);
}

/** What the new token says about the one it was exchanged for; of a token that was itself exchanged, about the first. */
function upstreamClaims({ email, claims }: Caller, isOurs: boolean): Upstream {
  const { iss, sub, aud, act } = claims;
  return {
    ...(email !== undefined && { email, email_verified: true }),
    act: isOurs && act !== undefined ? (act as Upstream["act"]) : { iss, sub, aud },
  };
}

function violationsOf(request: NarrowingRequest, audiences: ReadonlySet<string>): FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (!request.audiences.every((audience) => audiences.has(audience)))
    violations.push({ field: "aud", description: "tokens are issued for this platform only" });
  if (request.scopes.length > maxScopes)
    violations.push({ field: "scopes", description: `at most ${maxScopes} can be named` });
  else if (!request.scopes.every(isUid)) violations.push({ field: "scopes", description: "must be uids of groups" });
  const unknown = request.capabilities.find((name) => !capabilitiesByName.has(name));
  if (unknown !== undefined)
    violations.push({ field: "cap", description: `${JSON.stringify(unknown.slice(0, 100))} is no capability` });
  return violations;
}

function notAssumable() {
  return permissionDenied("this token does not stand for that identity");
}

function notRefreshable() {
  return unauthenticated("invalid refresh token");
}
