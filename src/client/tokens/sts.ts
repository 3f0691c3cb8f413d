/** The security token service of a server: `/sts/exchange` and its neighbours. */
import { type DescMessage, fromJson } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { detailSchemas, PlatformError } from "../errors.ts";
import { checkServer, unreachable } from "../network.ts";
import { claimsOf } from "../token-claims.ts";

/** A token of the platform. */
export interface ExchangedToken {
  readonly token: string;
  /** When it expires, in milliseconds since 1970 by the clock of this machine. */
  readonly expireTimeMs: number;
  /** Continues the session, once; undefined if the token began none. */
  readonly refreshToken: string | undefined;
}

/** What a token is exchanged for. */
export interface ExchangeRequest {
  /** uid of the identity to act as; by default the first one that the token matches. */
  readonly identity?: string | undefined;
  /** uid of the identity provider that the token came through. */
  readonly identityProvider?: string | undefined;
  /** uids of groups to which the token is narrowed. */
  readonly scopes?: readonly string[] | undefined;
  /** Names of capabilities to which the token is narrowed: `repo.list`. */
  readonly capabilities?: readonly string[] | undefined;
}

/** How a service is reached. */
export interface StsOptions {
  /** Base URL of the server. Errors: TypeError for anything else. */
  readonly server: string;
  /**
   * Where the refresh token of the session is; absent: with the caller. A page of the server itself can leave it in a
   * cookie, which no script reads.
   */
  readonly session?: "cookie" | undefined;
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
}

/** How long a request may take. */
export const timeoutMs = 30_000;
/** Header fields that errors have. */
const keptHeaders = ["x-request-id", "www-authenticate"];

/** Exchanges a token of another issuer, or narrows one of the platform. Errors: PlatformError. */
export async function exchangeToken(
  options: StsOptions,
  token: string,
  { identity, identityProvider, scopes = [], capabilities = [] }: ExchangeRequest = {},
): Promise<ExchangedToken> {
  const answer = await post(options, "/sts/exchange", [
    ["subject_token", token],
    ["identity", identity],
    ["identity_provider", identityProvider],
    ...scopes.map((scope) => ["scopes", scope] as const),
    ...capabilities.map((capability) => ["cap", capability] as const),
  ]);
  return tokenOf(answer, answer.refreshToken as string | undefined);
}

/** Continues the session of a refresh token, or of the cookie. The token is used up. Errors: PlatformError. */
export async function refreshToken(options: StsOptions, token?: string): Promise<ExchangedToken> {
  const answer = await post(options, "/sts/exchange_refresh_token", [["refresh_token", token]]);
  const next = answer.refreshToken as TokenAnswer | undefined;
  return tokenOf(Object(answer.token), next?.token);
}

/** Ends the session of a refresh token, or of the cookie. Errors: PlatformError. */
export async function revokeToken(options: StsOptions, token?: string): Promise<void> {
  await post(options, "/sts/revoke", [["token", token]]);
}

interface TokenAnswer {
  readonly token?: string;
  readonly expiry?: string;
}

function tokenOf({ token, expiry = "" }: TokenAnswer, refreshToken: string | undefined): ExchangedToken {
  if (typeof token !== "string") throw noService("without a token");
  const { iat, exp } = claimsOf(token);
  // The clock of the server may be another one.
  const isDated = typeof iat === "number" && typeof exp === "number";
  const expireTimeMs = isDated ? Date.now() + (exp - iat) * 1000 : Date.parse(expiry);
  if (!Number.isFinite(expireTimeMs)) throw noService("with a token whose expiry is unknown");
  return { token, expireTimeMs, refreshToken };
}

async function post(
  { server, session, signal }: StsOptions,
  path: string,
  parameters: readonly (readonly [name: string, value: string | undefined])[],
): Promise<Readonly<Record<string, unknown>>> {
  checkServer(server);
  const body = new URLSearchParams();
  for (const [name, value] of parameters) if (value !== undefined) body.append(name, value);
  const deadline = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${server.replace(/\/$/, "")}${path}`, {
      method: "POST",
      ...(session !== undefined && { headers: { "x-platform-session": session }, keepalive: true }),
      body,
      redirect: "error", // nobody else gets the token
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    text = await response.text();
  } catch (error) {
    if (deadline.aborted) throw new PlatformError(`the token service took longer than 30 s`, Code.DeadlineExceeded);
    if (signal?.aborted) throw new PlatformError("the request was cancelled", Code.Canceled);
    throw unreachable(server, error as Error);
  }
  if (response.ok) return membersOf(text);
  throw errorOf(response, text);
}

/** The error in a response: a `google.rpc.Status`, or an OAuth error (RFC 6749, section 5.2). */
function errorOf({ status, headers }: Response, text: string): PlatformError {
  const metadata = new Headers();
  for (const name of keptHeaders) if (headers.has(name)) metadata.set(name, headers.get(name)!);
  const { code, message, details, error, error_description: description } = membersOf(text);
  if (typeof code === "number" && typeof message === "string" && code in Code)
    return new PlatformError(message, code, metadata, detailsOf(details));
  if (typeof error === "string")
    return new PlatformError(typeof description === "string" ? description : error, codeOf(error), metadata);
  if (status === 429 || (status >= 500 && status !== 501))
    return new PlatformError(`the token service answers HTTP ${status}`, Code.Unavailable, metadata);
  return noService(`HTTP ${status}`, metadata);
}

function noService(answer: string, metadata?: Headers): PlatformError {
  return new PlatformError(`the server has no token service: it answers ${answer}`, Code.Unimplemented, metadata);
}

/** The code of an OAuth error. */
function codeOf(error: string): Code {
  switch (error) {
    case "invalid_grant":
      return Code.Unauthenticated;
    case "temporarily_unavailable":
      return Code.Unavailable;
    case "server_error":
      return Code.Internal;
    default:
      return Code.InvalidArgument;
  }
}

/** The details of a `google.rpc.Status` that a PlatformError reads. */
function detailsOf(details: unknown): OutgoingDetail[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail) => {
    const { "@type": type, ...value } = Object(detail);
    const desc = detailSchemas.find(({ typeName }) => type === `type.googleapis.com/${typeName}`);
    try {
      return desc === undefined ? [] : [{ desc, value: fromJson(desc, value, { ignoreUnknownFields: true }) }];
    } catch {
      return []; // as of those of Connect, what cannot be read is left out
    }
  });
}

type OutgoingDetail = Extract<ConnectError["details"][number], { desc: DescMessage }>;

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
