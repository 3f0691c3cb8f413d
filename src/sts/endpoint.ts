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

import { Code, type ConnectError } from "@connectrpc/connect";
import { bearerIn, refusalOf } from "../auth/index.ts";
import type { Endpoint, Endpoints, IncomingBodies } from "../http/index.ts";
import { type Answer, headerOf, type PortRequest, Refusal } from "../message/index.ts";
import type { EndpointCall, EndpointCalls, RunningCall } from "../pipeline/index.ts";
import type { TokenExchange } from "../services/index.ts";
import { type BrowserSession, browserSessionOf } from "./browser-session.ts";
import { exchangeToken, refreshGrant, refreshToken, revokeToken, type TokenRequest } from "./grants.ts";
import { OAuthError, oauthAnswerOf, type Presented } from "./oauth-errors.ts";
import { readParameters } from "./parameters.ts";

/** What {@link createSts} needs. */
export interface StsOptions {
  readonly calls: EndpointCalls;
  readonly exchange: TokenExchange;
  /** Where clients reach the platform. */
  readonly baseUrl: string;
  readonly bodies: IncomingBodies;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Route {
  /** The name of its calls in the log, the metrics and the audit log. */
  readonly name: string;
  readonly methods: readonly string[];
  /** Whether requests are OAuth even without a `grant_type`. */
  readonly isOAuth?: boolean;
  answer(request: TokenRequest): Promise<object | undefined>;
}

const routes: readonly Route[] = [
  { name: "sts/exchange", methods: ["GET", "HEAD", "POST"], answer: exchangeToken },
  { name: "sts/exchange_refresh_token", methods: ["POST"], answer: refreshToken },
  { name: "sts/revoke", methods: ["POST"], isOAuth: true, answer: revokeToken },
];

/** The names of all calls. */
export const stsMethods: readonly string[] = routes.map(({ name }) => name);

/** Creates the endpoints of the token service. */
export function createSts(options: StsOptions): Endpoints {
  const endpointOf =
    (route: Route): Endpoint =>
    (request, response) => {
      options.calls.serve(request, response, new StsCall(route, options));
      return true;
    };
  return Object.fromEntries(routes.map((route) => [`/${route.name}`, endpointOf(route)]));
}

/** One request. */
class StsCall implements EndpointCall {
  readonly method: string;
  readonly #route: Route;
  readonly #options: StsOptions;
  #isOAuth: boolean;
  #presented: Presented = "subject token";
  #session: BrowserSession | undefined;

  constructor(route: Route, options: StsOptions) {
    this.method = route.name;
    this.#route = route;
    this.#options = options;
    this.#isOAuth = route.isOAuth === true;
  }

  async work(running: RunningCall): Promise<Answer> {
    const { request, response } = running;
    const { bodies, exchange, now } = this.#options;
    const { methods, answer } = this.#route;
    if (request.headers.authorization !== undefined) this.#presented = "token in the header";
    if (!methods.includes(request.method ?? "")) {
      const allow = methods.join(", ");
      throw new Refusal(405, Code.Unimplemented, `Method not allowed: this path takes ${allow}`, { allow });
    }
    const parameters = await readParameters(request, bodies.watch(request, response, "anybody"));
    const grants = parameters.all("grant_type");
    this.#isOAuth ||= grants.length > 0;
    if (grants.includes(refreshGrant)) this.#presented = "refresh token";
    const session = browserSessionOf(request, response, this.#options);
    this.#session = session;
    const identify: TokenRequest["identify"] = ({ subject, holder, upstreamIssuer = "", provider = "" }) =>
      running.identify({ caller: subject, issuer: upstreamIssuer, key: holder, scope: provider });
    const body = await answer({ exchange, parameters, bearer: bearerOf(request), session, now, identify });
    if (running.known !== undefined) running.report();
    if (body === undefined) return { httpStatus: 200, headers: {}, body: "" };
    return { httpStatus: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  }

  refuse(error: ConnectError, reason: unknown): Answer | undefined {
    if (error.code === Code.Unauthenticated) this.#session?.keep(undefined);
    const isOfHttp = reason instanceof Refusal && !(reason instanceof OAuthError);
    return this.#isOAuth && !isOfHttp ? oauthAnswerOf(error, reason, this.#presented) : undefined;
  }
}

function bearerOf(request: PortRequest): string | undefined {
  const header = headerOf(request, "authorization");
  if (header === undefined || header.trim() === "") return undefined;
  const token = bearerIn(header);
  if (token === undefined) throw refusalOf(header);
  return token;
}
