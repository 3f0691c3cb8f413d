/** What the endpoints do with tokens: exchange, refresh and revoke them. */
import { invalid, unauthenticated } from "../errors.ts";
import type { IssuedToken, NarrowingRequest, TokenExchange } from "../services/index.ts";
import type { BrowserSession } from "./browser-session.ts";
import { OAuthError } from "./oauth-errors.ts";
import type { Parameters } from "./parameters.ts";

/** A request that has been read. */
export interface TokenRequest {
  readonly exchange: TokenExchange;
  readonly parameters: Parameters;
  /** The token in the Authorization header. */
  readonly bearer: string | undefined;
  /** undefined if the refresh token is not kept in a cookie. */
  readonly session: BrowserSession | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Notes for the audit log whose token it is. */
  identify(issued: Pick<IssuedToken, "subject" | "holder"> & Partial<IssuedToken>): void;
}

const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
export const refreshGrant = "refresh_token";
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
const jwtType = "urn:ietf:params:oauth:token-type:jwt";
const subjectTokenTypes = [accessTokenType, jwtType, "urn:ietf:params:oauth:token-type:id_token"];
const narrowingNames = ["aud", "audience", "resource", "scope", "scopes", "cap"];

export async function exchangeToken(request: TokenRequest): Promise<object> {
  const { exchange, parameters, now } = request;
  const grant = parameters.one("grant_type");
  if (grant === refreshGrant) return refreshToken(request);
  if (grant === undefined) {
    parameters.refuseOthers([
      ...narrowingNames,
      "identity",
      "identity_provider",
      "subject_token",
      "subject_token_type",
    ]);
  } else if (grant !== exchangeGrant) {
    throw new OAuthError("unsupported_grant_type", `${exchangeGrant} and ${refreshGrant} are supported here`);
  }
  checkTypes(parameters);
  const issued = await exchange.exchange(tokenOf(request, "subject_token"), {
    ...narrowingOf(parameters),
    identity: parameters.one("identity"),
    identityProvider: parameters.one("identity_provider"),
    onCaller: ({ subject, key, issuer }) => request.identify({ subject, holder: key, upstreamIssuer: issuer }),
  });
  const shown = kept(request, issued);
  if (grant === undefined) return { ...plain(shown), refreshToken: shown.refreshToken?.token };
  return { ...oauth(shown, now()), issued_token_type: accessTokenType };
}

export async function refreshToken(request: TokenRequest): Promise<object> {
  const { exchange, parameters, now } = request;
  const grant = parameters.one("grant_type");
  if (grant === undefined) parameters.refuseOthers([...narrowingNames, "refresh_token"]);
  else if (grant !== refreshGrant) throw new OAuthError("unsupported_grant_type", `${refreshGrant} is supported here`);
  const issued = await exchange.refresh(tokenOf(request, "refresh_token"), narrowingOf(parameters));
  const shown = kept(request, issued);
  if (grant !== undefined) return oauth(shown, now());
  return { token: plain(shown), refreshToken: shown.refreshToken && plain(shown.refreshToken) };
}

export async function revokeToken(request: TokenRequest): Promise<undefined> {
  const token = tokenOf(request, "token");
  if (token.split(".").length === 3)
    throw new OAuthError("unsupported_token_type", "access tokens are not kept; they expire within the hour");
  const revoked = await request.exchange.revoke(token);
  request.session?.keep(undefined);
  if (revoked !== undefined) request.identify(revoked);
}

/** Notes whose token it is, and moves its refresh token into the cookie of a browser's session. */
function kept({ session, identify }: TokenRequest, issued: IssuedToken): IssuedToken {
  identify(issued);
  session?.keep(issued.refreshToken);
  return session === undefined ? issued : { ...issued, refreshToken: undefined };
}

/** The token of a request, from its header, from the named parameter, or a refresh token from the cookie. */
function tokenOf({ parameters, bearer, session }: TokenRequest, name: string): string {
  const given = parameters.one(name) ?? (name === "subject_token" ? undefined : session?.refreshToken);
  if (given !== undefined && bearer !== undefined && given !== bearer)
    throw invalid({ field: name, description: "the Authorization header has another token" });
  const token = given ?? bearer;
  if (token !== undefined) return token;
  if (parameters.one("grant_type") === undefined && name !== "token") throw unauthenticated("missing bearer token");
  throw invalid({ field: name, description: "is required" });
}

function checkTypes(parameters: Parameters): void {
  const given = parameters.one("subject_token_type");
  if (given !== undefined && !subjectTokenTypes.includes(given))
    throw invalid({ field: "subject_token_type", description: `must be one of ${subjectTokenTypes.join(", ")}` });
  const wanted = parameters.one("requested_token_type");
  if (wanted !== undefined && wanted !== accessTokenType && wanted !== jwtType)
    throw invalid({ field: "requested_token_type", description: `must be ${accessTokenType} or ${jwtType}` });
  if (parameters.one("actor_token") !== undefined)
    throw invalid({ field: "actor_token", description: "acting for another user is not supported" });
}

function narrowingOf(parameters: Parameters): NarrowingRequest {
  return {
    audiences: parameters.all("aud", "audience", "resource"),
    scopes: parameters.all("scope", "scopes").flatMap((list) => list.split(/[ ,]+/)),
    capabilities: parameters.all("cap").flatMap((list) => list.split(/[ ,]+/)),
  };
}

/** A token with its expiry, RFC 3339 with three fractional digits. */
function plain({ token, expireTimeMs }: { readonly token: string; readonly expireTimeMs: number }): object {
  return { token, expiry: new Date(expireTimeMs).toISOString() };
}

/** The response of OAuth (RFC 6749, 5.1). */
function oauth({ token, expireTimeMs, refreshToken: next, narrowing }: IssuedToken, nowMs: number): object {
  return {
    access_token: token,
    token_type: "Bearer",
    expires_in: Math.ceil((expireTimeMs - nowMs) / 1000),
    refresh_token: next?.token,
    scope: narrowing.scopes?.join(" "),
  };
}
