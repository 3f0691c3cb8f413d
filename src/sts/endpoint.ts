/**
 * The security token service: three endpoints that exchange, refresh and revoke tokens. They need no token of the
 * platform.
 *
 *     /sts/exchange                 GET, HEAD, POST   {token, refreshToken, expiry}
 *     /sts/exchange_refresh_token   POST              {token: {token, expiry}, refreshToken: {token, expiry}}
 *     /sts/revoke                   POST              empty
 *
 * The token is in the Authorization header or in the body, a form or JSON. A request with a `grant_type` is OAuth 2.0,
 * and so are its response and errors: token exchange (RFC 8693) and, also at the first path, `refresh_token` (RFC 6749,
 * section 6). Revocation is always OAuth (RFC 7009). It ends the session of a refresh token. Access tokens of the
 * platform are not stored and cannot be revoked; they expire within an hour, and revoking one fails with
 * `unsupported_token_type`. Refusals of HTTP itself (405, 413, 415) are a google.rpc.Status.
 *
 * Pages of this server can have their refresh token in a cookie: `browser-session.ts`.
 */

import type { Registry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Audit, type AuditRecord, emptyRecord } from "../audit/index.ts";
import { bearerIn, refusalOf } from "../auth/index.ts";
import { completeError, invalid, reasonOf, unauthenticated } from "../errors.ts";
import { type Endpoint, type Endpoints, type IncomingBodies, originOf } from "../http/index.ts";
import { type Logger, logRefusedToken, roundMs } from "../log.ts";
import { breakOff, headerOf, type PortRequest, type PortResponse, Refusal, send } from "../message/index.ts";
import { callersError, isDenial } from "../pipeline/index.ts";
import { writeStatus } from "../rest/index.ts";
import type { IssuedToken, NarrowingRequest, TokenExchange } from "../services/index.ts";
import { traceIdOf } from "../trace-context.ts";
import { type BrowserSession, browserSessionOf } from "./browser-session.ts";
import { OAuthError, oauthAnswerOf, type Presented } from "./oauth-errors.ts";
import { type Parameters, readParameters } from "./parameters.ts";

/** What {@link createSts} needs. */
export interface StsOptions {
  readonly exchange: TokenExchange;
  readonly registry: Registry;
  /** Host part of error domains. */
  readonly serviceHost: string;
  /** Where clients reach the platform. */
  readonly baseUrl: string;
  /** Takes an error that says that the database is unavailable; false for any other. */
  reportOutage(error: unknown): boolean;
  readonly log: Logger;
  readonly audit: Audit;
  readonly bodies: IncomingBodies;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A request that has been read. */
interface StsCall {
  readonly parameters: Parameters;
  /** The token in the Authorization header. */
  readonly bearer: string | undefined;
  /** undefined if the refresh token is not kept in a cookie. */
  readonly session: BrowserSession | undefined;
  /** Notes for the audit log whose token it is. */
  identify(issued: Pick<IssuedToken, "subject" | "holder"> & Partial<IssuedToken>): void;
}

interface StsRoute {
  readonly methods: readonly string[];
  /** Whether requests are OAuth even without a `grant_type`. */
  readonly isOAuth?: boolean;
  answer(call: StsCall): Promise<object | undefined>;
}

const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const refreshGrant = "refresh_token";
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
const jwtType = "urn:ietf:params:oauth:token-type:jwt";
const subjectTokenTypes = [accessTokenType, jwtType, "urn:ietf:params:oauth:token-type:id_token"];
const narrowingNames = ["aud", "audience", "resource", "scope", "scopes", "cap"];

/** Creates the endpoints of the token service. */
export function createSts({
  exchange,
  registry,
  serviceHost,
  baseUrl,
  reportOutage,
  log,
  audit,
  bodies,
  now,
}: StsOptions): Endpoints {
  const routes: Readonly<Record<string, StsRoute>> = {
    "/sts/exchange": { methods: ["GET", "HEAD", "POST"], answer: exchangeToken },
    "/sts/exchange_refresh_token": { methods: ["POST"], answer: refreshToken },
    "/sts/revoke": { methods: ["POST"], isOAuth: true, answer: revokeToken },
  };

  async function exchangeToken(call: StsCall): Promise<object> {
    const { parameters } = call;
    const grant = parameters.one("grant_type");
    if (grant === refreshGrant) return refreshToken(call);
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
    const issued = await exchange.exchange(tokenOf(call, "subject_token"), {
      ...narrowingOf(parameters),
      identity: parameters.one("identity"),
      identityProvider: parameters.one("identity_provider"),
      onCaller: ({ subject, key, issuer }) => call.identify({ subject, holder: key, upstreamIssuer: issuer }),
    });
    const shown = kept(call, issued);
    if (grant === undefined) return { ...plain(shown), refreshToken: shown.refreshToken?.token };
    return { ...oauth(shown), issued_token_type: accessTokenType };
  }

  async function refreshToken(call: StsCall): Promise<object> {
    const { parameters } = call;
    const grant = parameters.one("grant_type");
    if (grant === undefined) parameters.refuseOthers([...narrowingNames, "refresh_token"]);
    else if (grant !== refreshGrant)
      throw new OAuthError("unsupported_grant_type", `${refreshGrant} is supported here`);
    const issued = await exchange.refresh(tokenOf(call, "refresh_token"), narrowingOf(parameters));
    const shown = kept(call, issued);
    if (grant !== undefined) return oauth(shown);
    return { token: plain(shown), refreshToken: shown.refreshToken && plain(shown.refreshToken) };
  }

  /** Notes whose token it is, and moves its refresh token into the cookie of a browser's session. */
  function kept({ session, identify }: StsCall, issued: IssuedToken): IssuedToken {
    identify(issued);
    session?.keep(issued.refreshToken);
    return session === undefined ? issued : { ...issued, refreshToken: undefined };
  }

  async function revokeToken(call: StsCall): Promise<undefined> {
    const token = tokenOf(call, "token");
    if (token.split(".").length === 3)
      throw new OAuthError("unsupported_token_type", "access tokens are not kept; they expire within the hour");
    const revoked = await exchange.revoke(token);
    call.session?.keep(undefined);
    if (revoked !== undefined) call.identify(revoked);
  }

  function oauth({ token, expireTimeMs, refreshToken: next, narrowing }: IssuedToken): object {
    return {
      access_token: token,
      token_type: "Bearer",
      expires_in: Math.ceil((expireTimeMs - now()) / 1000),
      refresh_token: next?.token,
      scope: narrowing.scopes?.join(" "),
    };
  }

  async function serve(path: string, request: PortRequest, response: PortResponse): Promise<void> {
    const startMs = performance.now();
    const route = routes[path]!;
    let isOAuth = route.isOAuth === true;
    let presented: Presented = request.headers.authorization === undefined ? "subject token" : "token in the header";
    const record = {
      ...emptyRecord,
      ...originOf(request, response),
      method: path.slice(1),
      count: 1,
    };
    let who: Pick<AuditRecord, "caller" | "issuer" | "scope"> | undefined;
    let holder: string | undefined;
    let session: BrowserSession | undefined;
    let code = "OK";
    try {
      if (!route.methods.includes(request.method ?? "")) {
        const allow = route.methods.join(", ");
        throw new Refusal(405, Code.Unimplemented, `Method not allowed: this path takes ${allow}`, { allow });
      }
      const parameters = await readParameters(request, bodies.watch(request, response, "anybody"));
      const grants = parameters.all("grant_type");
      isOAuth ||= grants.length > 0;
      if (grants.includes(refreshGrant)) presented = "refresh token";
      const identify: StsCall["identify"] = ({ subject, holder: by, upstreamIssuer = "", provider = "" }) => {
        who = { caller: subject, issuer: upstreamIssuer, scope: provider };
        holder = by;
      };
      session = browserSessionOf(request, response, { baseUrl, now });
      const body = await route.answer({ parameters, bearer: bearerOf(request), session, identify });
      if (who !== undefined) audit.report({ ...record, ...who, code }, holder);
      await answer(response, 200, body);
    } catch (reason) {
      const failure = failureOf(reason);
      code = codeOf(failure);
      reportOutage(reason);
      if (code === "UNAUTHENTICATED") session?.keep(undefined);
      if (code === "INTERNAL") log.error({ err: reason, path, requestId: record.requestId }, "bug");
      if (failure instanceof ConnectError && isDenial(failure.code)) {
        audit.report({ ...record, ...who, code }, holder);
        if (failure.cause !== undefined) logRefusedToken(log, record.method, failure.cause, record.requestId);
      }
      if (failure instanceof Refusal) await answerStatus(response, failure.error, failure.httpStatus);
      else if (failure instanceof ConnectError && !isOAuth) await answerStatus(response, failure);
      else {
        const { httpStatus, body } = oauthAnswerOf(failure, presented);
        const challenge = failure instanceof ConnectError ? failure.metadata.get("www-authenticate") : null;
        if (httpStatus === 401) response.setHeader("www-authenticate", challenge ?? "Bearer");
        if (httpStatus === 503) response.setHeader("retry-after", "1");
        await answer(response, httpStatus, body);
      }
    } finally {
      const ms = roundMs(performance.now() - startMs);
      const { method, requestId } = record;
      log.info({ method, code, ms, caller: who?.caller, requestId, traceId: traceIdOf(request.headers) }, "call");
    }
  }

  async function answerStatus(response: PortResponse, error: ConnectError, httpStatus?: number): Promise<void> {
    await writeStatus(response, completeError(error, serviceHost, undefined), { registry, httpStatus });
  }

  const endpointOf =
    (path: string): Endpoint =>
    (request, response) => {
      serve(path, request, response).catch(() => breakOff(response));
      return true;
    };
  return Object.fromEntries(Object.keys(routes).map((path) => [path, endpointOf(path)]));
}

async function answer(response: PortResponse, httpStatus: number, content: object | undefined): Promise<void> {
  const headers = content === undefined ? {} : { "content-type": "application/json" };
  await send(response, { httpStatus, headers, body: content === undefined ? "" : JSON.stringify(content) });
}

function failureOf(reason: unknown): ConnectError | OAuthError | Refusal {
  if (reason instanceof ConnectError || reason instanceof OAuthError || reason instanceof Refusal) return reason;
  return callersError(reason);
}

function codeOf(failure: ConnectError | OAuthError | Refusal): string {
  if (failure instanceof OAuthError) return failure.code;
  return reasonOf(failure instanceof Refusal ? failure.error.code : failure.code);
}

function bearerOf(request: PortRequest): string | undefined {
  const header = headerOf(request, "authorization");
  if (header === undefined || header.trim() === "") return undefined;
  const token = bearerIn(header);
  if (token === undefined) throw refusalOf(header);
  return token;
}

/** The token of a call, from its header, from the named parameter, or a refresh token from the cookie. */
function tokenOf({ parameters, bearer, session }: StsCall, name: string): string {
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
