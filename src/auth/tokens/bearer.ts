/** The token in an `Authorization` header, and the error for one that is not accepted (RFC 6750). */
import type { ConnectError } from "@connectrpc/connect";
import { invalidToken, unauthenticated } from "../../errors.ts";
import { TokenMisfit, type TokenRejected } from "./token.ts";

/** The token in a header; undefined for any other header. */
export function bearerIn(header: string): string | undefined {
  return /^Bearer +([\w.-]+)$/i.exec(header)?.[1];
}

/**
 * The error for a header. Its text is the same for every fault of a token. Its challenge says what is wrong with a
 * token whose signature is valid. For credentials of another scheme the challenge only asks for a bearer token.
 */
export function refusalOf(header: string, cause?: TokenRejected): ConnectError {
  const text = "invalid bearer token";
  if (!/^Bearer(?: |$)/i.test(header)) return Object.assign(unauthenticated(text), { cause });
  const description = cause instanceof TokenMisfit ? `the token is ${cause.misfit}` : undefined;
  return Object.assign(invalidToken(text, description), { cause });
}
