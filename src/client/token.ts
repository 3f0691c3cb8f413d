/** Where access tokens come from. */

/** A source of access tokens. It is asked before every call. */
export interface TokenSource {
  /** The token to send; undefined to call without one. `signal`: of the call. */
  token(signal?: AbortSignal): Promise<string | undefined>;
  /** Tells that the server refused `token` as unauthenticated. Returns whether another token may be accepted. */
  refused?(token: string): boolean;
}

/** One token. */
export function staticToken(token: string): TokenSource {
  return { token: async () => token };
}
