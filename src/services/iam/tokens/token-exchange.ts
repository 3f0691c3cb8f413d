/**
 * Token exchange: exchanges a token of another issuer for a platform token, which is valid for an hour, and may be
 * narrowed to some groups and capabilities. Grants are evaluated on every call, so an exchange fixes only whom the
 * token speaks for, and the narrowing.
 *
 * - An exchange that names nothing gives a token of the principal: identities are matched with it on every call, as
 *   they would be with the token given. So nothing that an organisation stores changes what the exchange gives.
 * - With `identity` the new token speaks for that identity alone, with `identityProvider` for the user who signs in
 *   there.
 * - A platform token may be exchanged to restrict it further. The new one keeps all restrictions of the old one,
 *   expires no later, and begins no session. Otherwise a stolen token could be renewed forever.
 * - Roles that follow from groups in the token given end with the life of that token.
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
  organisationOf,
  type ProviderSignIn,
  SignInAmbiguous,
  TokenTooLong,
  type UpstreamClaims,
  upstreamClaims,
} from "../../../auth/index.ts";
import {
  type FieldViolation,
  failedPrecondition,
  invalid,
  permissionDenied,
  unauthenticated,
} from "../../../errors.ts";
import type { Database } from "../../../store/index.ts";
import { isUid, outermost, parentOf } from "../../../uid.ts";
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
  /** uid of the identity, or of the user of the principal. */
  readonly subject: string;
  /** Whose it is. It differs between callers of one subject whose tokens other keys have verified. */
  readonly holder: string;
  /** uid of the provider that the token is restricted to; "" for any other. */
  readonly provider: string;
  /** `iss` of the token that it was exchanged for. */
  readonly upstreamIssuer: string;
  readonly narrowing: Narrowing;
  readonly refreshToken: RefreshToken | undefined;
}

/** What {@link TokenExchange} needs. */
interface TokenExchangeOptions {
  readonly database: Database;
  readonly issuer: Issuer;
  readonly authenticator: Authenticator;
  /** Called for each identity that a token of another issuer is exchanged for. */
  onUse(identity: string): void;
  /** Where clients reach the platform. Like the issuer, it is accepted as the audience. */
  readonly baseUrl: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const lifeSeconds = 3600;
const maxScopes = 100;

/** Exchanges, refreshes and revokes tokens. */
export class TokenExchange {
  readonly #options: TokenExchangeOptions;
  readonly #audiences: ReadonlySet<string>;

  constructor(options: TokenExchangeOptions) {
    this.#options = options;
    this.#audiences = new Set([...defaultAudiences(options.issuer.url), ...defaultAudiences(options.baseUrl)]);
  }

  /** Errors: UNAUTHENTICATED, PERMISSION_DENIED, INVALID_ARGUMENT; FAILED_PRECONDITION if a provider must be named. */
  async exchange(token: string, request: ExchangeRequest): Promise<IssuedToken> {
    const { database, issuer, now } = this.#options;
    const caller = await this.#callerWith(token, request);
    request.onCaller?.(caller);
    const narrowing = this.#narrowed(caller.narrowing ?? {}, request);
    const isOurs = caller.issuer === issuer.url;
    const { subject, claims, principal } = spokenFor(caller, request, isOurs);
    const issued = await this.#mint(subject, claims, narrowing, isOurs ? caller.expireTimeMs : undefined);
    if (caller.principal !== undefined && principal === undefined) this.#options.onUse(subject);
    const holder = caller.key;
    if (isOurs) return { ...issued, holder, refreshToken: undefined };
    const { groups, groups_exp: groupsExp, ...lasting } = claims; // groups end with the token given
    const facts = { subject, principal, claims: { ...lasting, ...narrowingClaims(narrowing) } };
    return { ...issued, holder, refreshToken: await beginSession(database, facts, now()) };
  }

  /** A new token of the session, and the refresh token that continues it. Errors: UNAUTHENTICATED, INVALID_ARGUMENT. */
  async refresh(refreshToken: string, request: NarrowingRequest): Promise<IssuedToken> {
    const { database, now } = this.#options;
    const found = await findSession(database.read, refreshToken, now());
    if (found === undefined) throw notRefreshable();
    const { subject, claims } = found.facts;
    const narrowing = this.#narrowed(narrowingOf(claims) ?? {}, request);
    const issued = await this.#mint(subject, claims as UpstreamClaims, narrowing);
    const isAccepted = await this.#accepts(issued.token);
    const next = await database.transact(async (session) => {
      if (isAccepted) return continueSession(session, refreshToken, now());
      await endSession(session, refreshToken);
      return undefined;
    });
    if (next === undefined) throw notRefreshable();
    return { ...issued, holder: parentOf(found.uid), refreshToken: next };
  }

  /** Ends the session of a refresh token. Returns whose tokens it gave; undefined when there was no session. */
  async revoke(refreshToken: string): Promise<Pick<IssuedToken, "subject" | "holder"> | undefined> {
    const { database, now } = this.#options;
    // Anyone may call this, so a token without a session must not cost a transaction.
    const found = await findSession(database.read, refreshToken, now());
    if (found === undefined) return undefined;
    const subject = await database.transact((session) => endSession(session, refreshToken));
    return subject === undefined ? undefined : { subject, holder: parentOf(found.uid) };
  }

  async #callerWith(token: string, request: ExchangeRequest): Promise<Caller> {
    const { identity, identityProvider, scopes } = request;
    const place = organisationOf(identity !== undefined && parentOf(identity) !== "" ? [identity] : scopes);
    try {
      return await this.#options.authenticator.authenticate(`Bearer ${token}`, {
        exchange: { provider: identityProvider },
        place,
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.cause instanceof SignInAmbiguous && identity === undefined)
        throw Object.assign(providerNeeded(), { cause: error.cause });
      const isNamed = identity !== undefined || identityProvider !== undefined;
      if (isNamed && isReadableToken(token, this.#options.now()))
        throw Object.assign(notAssumable(), { cause: error.cause });
      throw error;
    }
  }

  /** Whether a platform token is valid: its identity exists, and so does the provider that the caller came through. */
  async #accepts(token: string): Promise<boolean> {
    try {
      await this.#options.authenticator.authenticate(`Bearer ${token}`);
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }

  /** Errors: INVALID_ARGUMENT, also when the result would allow nothing. */
  #narrowed(given: Narrowing, request: NarrowingRequest): Narrowing {
    const violations = violationsOf(request, this.#audiences);
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

  async #mint(
    subject: string,
    claims: UpstreamClaims,
    narrowing: Narrowing,
    latestMs = Number.POSITIVE_INFINITY,
  ): Promise<Omit<IssuedToken, "refreshToken" | "holder">> {
    const { issuer, now } = this.#options;
    const issuedAt = Math.floor(now() / 1000);
    const ttlSeconds = Math.min(lifeSeconds, Math.floor(latestMs / 1000) - issuedAt);
    try {
      const token = await issuer.mint({ subject, ttlSeconds, claims: { ...claims, ...narrowingClaims(narrowing) } });
      const expireTimeMs = (issuedAt + ttlSeconds) * 1000;
      const provider = typeof claims.idp === "string" ? claims.idp : "";
      return { token, expireTimeMs, subject, provider, upstreamIssuer: claims.act.iss, narrowing };
    } catch (error) {
      if (!(error instanceof TokenTooLong)) throw error;
      throw invalid(
        claims.upstream === undefined
          ? { field: "", description: "the token would be too long; narrow it to fewer groups and capabilities" }
          : { field: "identity", description: "is needed: the claims of the token do not fit into the new one" },
      );
    }
  }
}

function isRefusal(error: unknown): error is ConnectError {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

/** Whom a new token speaks for. */
interface SpokenFor {
  readonly subject: string;
  readonly claims: UpstreamClaims;
  /** Identifies the principal, if the token names no identity. */
  readonly principal?: string;
}

/** The subject of the new token of a caller. Errors: PERMISSION_DENIED if it is not the requested one. */
function spokenFor(caller: Caller, { identity, identityProvider }: ExchangeRequest, isOurs: boolean): SpokenFor {
  const { principal, subject } = caller;
  if (identity !== undefined && !caller.identities.includes(identity)) throw notAssumable();
  const email = caller.email !== undefined && { email: caller.email, email_verified: true };
  if (identityProvider !== undefined) {
    const provider = caller.providers?.find(({ uid }) => uid === identityProvider);
    if (provider === undefined || (identity !== undefined && identity !== subject)) throw notAssumable();
    return { subject, claims: { ...email, act: actOf(caller, isOurs), ...claimsOfProvider(caller, provider) } };
  }
  if (principal === undefined) return { subject, claims: restrictedClaims(caller) };
  if (identity === undefined) return { subject, claims: upstreamClaims(principal), principal: caller.key };
  if (identity !== subject) return { subject: identity, claims: { ...email, act: actOf(caller, isOurs) } };
  return { subject, claims: { ...upstreamClaims(principal), identity }, principal: caller.key };
}

/** The claims that a platform token has of the token that it was exchanged for, and its restrictions to it. */
const restrictions = ["act", "upstream", "identity", "idp", "groups", "groups_exp", "email", "email_verified"];

function restrictedClaims(caller: Caller): UpstreamClaims {
  const kept = Object.entries(caller.claims).filter(([name]) => restrictions.includes(name));
  return { ...Object.fromEntries(kept), act: actOf(caller, true) };
}

/** The token that was given first; that of a platform token without one is itself. */
function actOf({ claims }: Caller, isOurs: boolean): UpstreamClaims["act"] {
  const { iss, sub, aud, act } = claims;
  return isOurs && act !== undefined ? (act as UpstreamClaims["act"]) : { iss, sub, aud };
}

/** The claims of a token that is restricted to a provider. The groups count as long as those of the token given. */
function claimsOfProvider({ principal, claims }: Caller, { uid, externalGroups }: ProviderSignIn) {
  const until = principal === undefined ? claims.groups_exp : principal.claims.exp;
  return {
    idp: uid,
    ...(externalGroups.length > 0 && { groups: externalGroups, ...(until !== undefined && { groups_exp: until }) }),
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
    violations.push({ field: "cap", description: `${JSON.stringify(unknown.slice(0, 100))} is not a capability` });
  return violations;
}

function providerNeeded() {
  return failedPrecondition({
    type: "IDENTITY_PROVIDER_NEEDED",
    description: "several identity providers accept this token; name the one to sign in at: identity_provider",
  });
}

function notAssumable() {
  return permissionDenied("this token does not stand for that identity");
}

function notRefreshable() {
  return unauthenticated("invalid refresh token");
}
