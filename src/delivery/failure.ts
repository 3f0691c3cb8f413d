/** Why an attempt had no answer, in words that an operator can act on. They are few, for metrics are labelled by them, and none comes from the sink. */
import { OutboundRefused } from "../outbound.ts";

/** By the code of a system, resolver, HTTP or TLS error. */
const words: Readonly<Record<string, string>> = {
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EAI_FAIL: "dns",
  ENODATA: "dns",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed",
  EPIPE: "connection closed",
  UND_ERR_SOCKET: "connection closed",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EADDRNOTAVAIL: "unreachable",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  UND_ERR_HEADERS_OVERFLOW: "no HTTP",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls: self-signed certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "tls: self-signed certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls: unknown certificate authority",
  UNABLE_TO_GET_ISSUER_CERT: "tls: unknown certificate authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls: unknown certificate authority",
  CERT_HAS_EXPIRED: "tls: expired certificate",
  CERT_NOT_YET_VALID: "tls: certificate not yet valid",
  CERT_REVOKED: "tls: revoked certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls: certificate of another host",
};

/** Codes of one family. */
const families: readonly (readonly [RegExp, string])[] = [
  [/^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/, "tls: handshake failed"],
  [/^(?:CERT_|UNABLE_TO_)/, "tls: invalid certificate"],
];

/** `timeout`, `dns`, `tls: …`, `connection refused`; `refused` where we do not speak to the address; `failed` for anything else. */
export function failureOf(error: unknown): string {
  if (error instanceof OutboundRefused) return "refused";
  for (let cause = error; cause instanceof Error; cause = firstOf(cause)) {
    if (cause.name === "TimeoutError") return "timeout";
    if (cause.name === "HTTPParserError") return "no HTTP";
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    const word = Object.hasOwn(words, code) ? words[code] : families.find(([family]) => family.test(code))?.[1];
    if (word !== undefined) return word;
  }
  return "failed";
}

/** What an error comes from; of several addresses that were tried, the first. */
function firstOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause;
}
