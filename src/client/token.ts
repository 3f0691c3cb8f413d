/** Where access tokens come from. */

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
  /** Tells that the server refused `token` as unauthenticated. Returns whether another token may be accepted. */
  refused?(token: string): boolean;
}

/** One token. */
export function staticToken(token: string): TokenSource {
  return { token: async () => token };
}
