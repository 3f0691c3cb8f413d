/** Where access tokens come from. */
import { Code } from "@connectrpc/connect";
import { PlatformError } from "./errors.ts";

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

/** Whether a text can be sent as a token: visible characters of ASCII, without blanks. */
export function isSendable(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/**
 * The tokens of a source, without blanks around them. Errors: UNAUTHENTICATED for one that cannot be sent; the text does
 * not have the token, as that of `fetch` would.
 */
export function sendableTokens(source: TokenSource): TokenSource {
  return {
    async token(signal) {
      const token = (await source.token(signal))?.trim();
      if (token === undefined || isSendable(token)) return token;
      throw new PlatformError(
        "the access token is empty, or has blanks or characters that are not of ASCII; nothing was sent",
        Code.Unauthenticated,
      );
    },
    refused: (token) => source.refused?.(token) ?? false,
  };
}
