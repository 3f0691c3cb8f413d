/** Where access tokens come from. */
import { Code, ConnectError } from "@connectrpc/connect";
import { PlatformError } from "./errors.ts";

/** What a token is for. */
export interface TokenRequest {
  /** Base URL of the server that will get it. */
  readonly server: string;
  /** Of the call. */
  readonly signal?: AbortSignal | undefined;
}

/** A source of access tokens. It is asked before every call. */
export interface TokenSource {
  /** The token to send; undefined to call without one. */
  token(request: TokenRequest): Promise<string | undefined>;
  /** Reports that the server refused `token` as unauthenticated. Returns whether another token may be accepted. */
  refused?(token: string): boolean;
}

/** One token. */
export function staticToken(token: string): TokenSource {
  return { token: async () => token };
}

/** Whether a text can be sent as a token: visible characters of ASCII, without blanks. */
export function isSendable(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/** A source whose tokens can be sent, and whose errors are PlatformErrors. */
export function sendableTokens(source: TokenSource): TokenSource {
  return { token: (request) => tokenOf(source, request), refused: (token) => source.refused?.(token) ?? false };
}

/**
 * Calls `use` with a token of the source, and once more if the server refuses the token and the source has another one.
 * Errors: those of `use` and PlatformErrors of the source; its other errors are UNAUTHENTICATED; the reason of the
 * signal.
 */
export async function withToken<Result>(
  source: TokenSource,
  request: TokenRequest,
  use: (token: string | undefined) => Promise<Result>,
): Promise<Result> {
  const token = await tokenOf(source, request);
  try {
    return await use(token);
  } catch (error) {
    const isRefused = ConnectError.from(error).code === Code.Unauthenticated;
    if (token === undefined || !isRefused || !source.refused?.(token)) throw error;
    const other = await tokenOf(source, request);
    if (other === undefined || other === token) throw error;
    return use(other);
  }
}

/**
 * A token of a source, without blanks around it. Errors: UNAUTHENTICATED for one that cannot be sent; the text does not
 * have the token, as that of `fetch` would.
 */
async function tokenOf(source: TokenSource, request: TokenRequest): Promise<string | undefined> {
  try {
    const token = (await untilAborted(request.signal, source.token(request)))?.trim();
    if (token === undefined || isSendable(token)) return token;
    throw new PlatformError(
      "the access token is empty, or has blanks or characters that are not of ASCII; nothing was sent",
      Code.Unauthenticated,
    );
  } catch (reason) {
    if (reason instanceof ConnectError || request.signal?.aborted) throw reason;
    const message = `there is no token for the call: ${reason instanceof Error ? reason.message : reason}`;
    throw new PlatformError(message, Code.Unauthenticated, undefined, undefined, reason);
  }
}

/** The result of a promise. Errors: also the reason of the signal, once it is aborted. */
function untilAborted<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal!.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
  });
}
