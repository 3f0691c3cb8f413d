/**
 * Authenticates requests to a registry: not at all, with basic credentials, or with bearer tokens, one for each
 * repository, from the issuer named by the registry. The scope of a token is decided here, not taken from a response.
 */

import { parseUnambiguous } from "../../../codec/index.ts";
import { type Challenge, parseChallenge } from "./challenge.ts";
import { RegistryFailure, RegistryRefusal } from "./errors.ts";
import type { HttpAnswer, HttpRequest, RegistryHttp } from "./http.ts";

/** Credentials for a registry. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/**
 * Sends a request with the authorization that the registry requires. `scope` is that of a token: `repository:a/b:pull`.
 */
type AuthorizedSend = (scope: string, request: HttpRequest) => Promise<HttpAnswer>;

interface Token {
  readonly value: string;
  readonly expireTimeMs: number;
}

const maxTokenBytes = 64 * 1024;
/** Lifetime of a token without `expires_in`. */
const defaultLifeSeconds = 60;
const clockMarginMs = 10_000;
const maxTokens = 1000;

/** Errors of the returned function: those of `http`; RegistryFailure if the credentials are not accepted. */
export function authorizedSend(http: RegistryHttp, credentials: Credentials | undefined): AuthorizedSend {
  const tokens = new Map<string, Promise<Token>>();
  let lastChallenge: Challenge | undefined;

  const basic =
    credentials === undefined
      ? undefined
      : `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;

  async function requestToken(challenge: Challenge & { scheme: "bearer" }, scope: string): Promise<Token> {
    const url = URL.parse(challenge.realm);
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "")
      throw new RegistryRefusal("the token issuer is not a valid URL");
    if (challenge.service !== undefined) url.searchParams.set("service", challenge.service);
    url.searchParams.set("scope", scope);
    const headers = basic === undefined ? {} : { authorization: basic };
    const { status, body } = await http.send({ url, method: "GET", headers, maxBytes: maxTokenBytes });
    if (status !== 200) throw new RegistryFailure(`${url.host} issues no token for ${scope}: ${status}`);
    return tokenOf(body);
  }

  /** The token of a scope. Concurrent requests share one. */
  function tokenFor(challenge: Challenge & { scheme: "bearer" }, scope: string, isStale: boolean): Promise<Token> {
    const cached = tokens.get(scope);
    if (cached !== undefined && !isStale) return cached;
    const token = requestToken(challenge, scope);
    tokens.delete(scope);
    if (tokens.size >= maxTokens) tokens.delete(tokens.keys().next().value!);
    tokens.set(scope, token);
    token.catch(() => tokens.get(scope) === token && tokens.delete(scope));
    return token;
  }

  async function headerFor(challenge: Challenge | undefined, scope: string, isStale: boolean) {
    if (challenge === undefined) return undefined;
    if (challenge.scheme === "basic") return basic;
    const token = await tokenFor(challenge, scope, isStale);
    if (token.expireTimeMs > Date.now()) return `Bearer ${token.value}`;
    return `Bearer ${(await tokenFor(challenge, scope, true)).value}`;
  }

  return async (scope, request) => {
    const sent = await headerFor(lastChallenge, scope, false);
    const first = await http.send(withAuthorization(request, sent));
    if (first.status !== 401) return first;
    const challenge = parseChallenge(first.headers["www-authenticate"]);
    if (challenge === undefined)
      throw new RegistryFailure("the registry requires an unsupported authentication scheme");
    lastChallenge = challenge;
    const header = await headerFor(challenge, scope, sent !== undefined);
    if (header === undefined) throw new RegistryFailure("the registry requires credentials");
    const second = header === sent ? first : await http.send(withAuthorization(request, header));
    if (second.status === 401) throw new RegistryFailure("the registry rejects the credentials");
    return second;
  };
}

function withAuthorization(request: HttpRequest, authorization: string | undefined): HttpRequest {
  return authorization === undefined ? request : { ...request, headers: { ...request.headers, authorization } };
}

function tokenOf(body: Uint8Array): Token {
  let answer: unknown;
  try {
    answer = parseUnambiguous(Buffer.from(body).toString());
  } catch {
    throw new RegistryRefusal("the response of the token issuer is not JSON");
  }
  const { token, access_token: accessToken, expires_in: lifeSeconds } = Object(answer) as Record<string, unknown>;
  const value = token ?? accessToken;
  if (typeof value !== "string" || !/^[!-~]+$/.test(value))
    throw new RegistryRefusal("the response of the token issuer has no token");
  const life = typeof lifeSeconds === "number" && lifeSeconds > 0 ? lifeSeconds : defaultLifeSeconds;
  return { value, expireTimeMs: Date.now() + life * 1000 - Math.min(clockMarginMs, life * 500) };
}
