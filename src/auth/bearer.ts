/** The token in an `Authorization` header, and what is answered to one that is refused (RFC 6750). */
import type { ConnectError } from "@connectrpc/connect";
import { invalidToken, unauthenticated } from "../errors.ts";
import { TokenMisfit, type TokenRejected } from "./token.ts";

/** The token that a header holds; undefined for any other header. */
export function bearerIn(header: string): string | undefined {
  return /^Bearer +([\w.-]+)$/i.exec(header)?.[1];
}

/**
 * The refusal of a header, in one text for whatever is wrong with its token. Its challenge says what a genuine token misses; to credentials of another
 * scheme, which are none, it says only what is asked for.
 */
export function refusalOf(header: string, cause?: TokenRejected): ConnectError {
  const text = "invalid bearer token";
  if (!/^Bearer(?: |$)/i.test(header)) return Object.assign(unauthenticated(text), { cause });
  const description = cause instanceof TokenMisfit ? `the token is ${cause.misfit}` : undefined;
  return Object.assign(invalidToken(text, description), { cause });
}
