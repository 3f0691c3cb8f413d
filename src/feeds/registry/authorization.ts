/**
 * How a registry is told who asks: not at all, by basic credentials, or by bearer tokens, one for each repository, from the issuer that the
 * registry names. A token is asked for what this client does, never for what an answer suggests.
 */
import { type Challenge, parseChallenge } from "./challenge.ts";
import { RegistryFailure, RegistryRefusal } from "./errors.ts";
import type { HttpAnswer, HttpRequest, RegistryHttp } from "./http.ts";

/** Who asks. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Sends requests with the authorization that the registry wants; `scope` is what a token must be for: `repository:a/b:pull`. */
export type AuthorizedSend = (scope: string, request: HttpRequest) => Promise<HttpAnswer>;

interface Token {
  readonly value: string;
  readonly expireTimeMs: number;
}

const maxTokenBytes = 64 * 1024;
/** The life of a token that does not say. */
const defaultLifeSeconds = 60;
const clockMarginMs = 10_000;
const maxTokens = 1000;

/** Errors of what it gives: as `http`; RegistryFailure for credentials that the registry does not take. */
export function authorizedSend(http: RegistryHttp, credentials: Credentials | undefined): AuthorizedSend {
  const tokens = new Map<string, Promise<Token>>();
  let known: Challenge | undefined;

  const basic =
    credentials === undefined
      ? undefined
      : `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;

  async function requestToken(challenge: Challenge & { scheme: "bearer" }, scope: string): Promise<Token> {
    const url = URL.parse(challenge.realm);
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "")
      throw new RegistryRefusal("names a token issuer that is no address");
    if (challenge.service !== undefined) url.searchParams.set("service", challenge.service);
    url.searchParams.set("scope", scope);
    const headers = basic === undefined ? {} : { authorization: basic };
    const { status, body } = await http.send({ url, method: "GET", headers, maxBytes: maxTokenBytes });
    if (status !== 200) throw new RegistryFailure(`${url.host} gives no token for ${scope}: ${status}`);
    return tokenOf(body);
  }

  /** The token of a scope; requests that come at once share one. */
  function tokenFor(challenge: Challenge & { scheme: "bearer" }, scope: string, isStale: boolean): Promise<Token> {
    const held = tokens.get(scope);
    if (held !== undefined && !isStale) return held;
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
    const sent = await headerFor(known, scope, false);
    const first = await http.send(withAuthorization(request, sent));
    if (first.status !== 401) return first;
    const challenge = parseChallenge(first.headers["www-authenticate"]);
    if (challenge === undefined)
      throw new RegistryFailure("the registry asks for an authorization that is not known here");
    known = challenge;
    const header = await headerFor(challenge, scope, sent !== undefined);
    if (header === undefined) throw new RegistryFailure("the registry asks for credentials");
    const second = header === sent ? first : await http.send(withAuthorization(request, header));
    if (second.status === 401) throw new RegistryFailure("the registry does not take the credentials");
    return second;
  };
}

function withAuthorization(request: HttpRequest, authorization: string | undefined): HttpRequest {
  return authorization === undefined ? request : { ...request, headers: { ...request.headers, authorization } };
}

function tokenOf(body: Uint8Array): Token {
  let answer: unknown;
  try {
    answer = JSON.parse(Buffer.from(body).toString());
  } catch {
    throw new RegistryRefusal("a token's issuer answers with what is no JSON");
  }
  const { token, access_token: accessToken, expires_in: lifeSeconds } = Object(answer) as Record<string, unknown>;
  const value = token ?? accessToken;
  if (typeof value !== "string" || !/^[!-~]+$/.test(value))
    throw new RegistryRefusal("a token's issuer gives no token");
  const life = typeof lifeSeconds === "number" && lifeSeconds > 0 ? lifeSeconds : defaultLifeSeconds;
  return { value, expireTimeMs: Date.now() + life * 1000 - Math.min(clockMarginMs, life * 500) };
}
