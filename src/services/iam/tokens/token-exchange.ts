/**
 * Token exchange: exchanges a token of another issuer for a platform token, which names a single identity, is valid for
 * an hour, and may be narrowed to some groups and capabilities. Grants are evaluated on every call, so an exchange
 * fixes only the identity and the narrowing.
 *
 * - A platform token may be exchanged to narrow it further. The new one keeps all restrictions of the old one, expires
 *   no later, and begins no session. Otherwise a stolen token could be renewed forever.
 * - If roles are mapped to external groups in the token, the new token expires no later than the token that names the
 *   groups, and there is no refresh token.
 * - With `identity`, a well-formed token that does not match it is PERMISSION_DENIED. The text is the same whether the
 *   identity belongs to others, does not exist, or the signature is wrong.
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
} from "../../../auth/index.ts";
import { type FieldViolation, invalid, permissionDenied, unauthenticated } from "../../../errors.ts";
import type { Database } from "../../../store/index.ts";
import { isUid, outermost } from "../../../uid.ts";
import { externalGroupRoleMappings } from "../external-group-role-mappings.ts";
import { beginSession, continueSession, endSession, findSession, type RefreshToken } from "./sessions.ts";

/** The restrictions of an exchanged token. Empty lists restrict nothing. */
export interface NarrowingRequest {
  /** The audiences of the new token: only the platform itself. */
  readonly audiences: readonly string[];
  /** uids of groups. */
  readonly scopes: readonly string[];
  /** Names of capabilities, in either spelling. */
  readonly capabilities: readonly string[];
}

/** What to exchange a token for. */
interface ExchangeRequest extends NarrowingRequest {
  /** uid of the identity to act as, one of those that the token matches. */
  readonly identity?: string | undefined;
  /** uid of the identity provider that the token must have come through. */
  readonly identityProvider?: string | undefined;
  /** Called with whose token it is, even if it is then not exchanged. */
  onCaller?(caller: Caller): void;
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
  /** A new token of the session, and the refresh token that continues it. Errors: UNAUTHENTICATED, INVALID_ARGUMENT. */
  refresh(refreshToken: string, request: NarrowingRequest): Promise<IssuedToken>;
  /** Ends the session of a refresh token. Returns the uid of its identity; undefined when there was no session. */
  revoke(refreshToken: string): Promise<string | undefined>;
}

/** What {@link createTokenExchange} needs. */
interface TokenExchangeOptions {
  readonly database: Database;
  readonly issuer: Issuer;
  readonly authenticator: Authenticator;
  /** Where clients reach the platform. Like the issuer, it is accepted as the audience. */
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

  /** Whether a platform token is valid: its identity exists, and so does the provider that the caller came through. */
  async function accepts(token: string): Promise<boolean> {
    try {
      await authenticator.authenticate(`Bearer ${token}`);
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }

  /** Errors: INVALID_ARGUMENT, also when the result would allow nothing. */
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

  /** Whether roles are mapped to any group in the token. */
  async function isMapped(provider: Provider): Promise<boolean> {
    if (provider.externalGroups.length === 0) return false;
    const where = [{ column: "external_group_id", in: provider.externalGroups }];
    return database.read.exists(externalGroupRoleMappings.table, { parent: provider.uid, where });
  }

  return {
    async exchange(token, request) {
      const caller = await callerWith(token, request.identity);
      request.onCaller?.(caller);
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
      // Anyone may call this, so a token without a session must not cost a transaction.
      if ((await findSession(database.read, refreshToken, now())) === undefined) return undefined;
      return database.transact((session) => endSession(session, refreshToken));
    },
  };
}

function isRefusal(error: unknown): error is ConnectError {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

/** Claims about the given token; `act` as in RFC 8693, 4.1. */
interface Upstream {
  readonly act: { readonly iss: string; readonly sub: string; readonly aud: string | readonly string[] };
  readonly [name: string]: unknown;
}

type Provider = NonNullable<Caller["providers"]>[number];

/** The provider through which the token acts as `subject`: the requested one, else the first that accepts it. */
function providerOf({ identities, providers = [] }: Caller, subject: string, wanted: string | undefined) {
  if (subject !== identities[0]) return undefined; // the user of a provider comes first
  return wanted === undefined ? providers[0] : providers.find(({ uid }) => uid === wanted);
}

/** What the new token contains about the given one. For a token that was exchanged itself, about the first one. */
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
