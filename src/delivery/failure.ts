/**
 * Why an attempt had no response, in words for operators. The set is small because metrics are labelled with them, and
 * contains no text from the sink.
 */
import { OutboundRefused } from "../outbound.ts";

/** Words by code of a system, resolver, HTTP or TLS error. */
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

/** Words by pattern, for codes not listed above. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/, "tls: handshake failed"],
  [/^(?:CERT_|UNABLE_TO_)/, "tls: invalid certificate"],
];

/**
 * `timeout`, `dns`, `tls: …`, `connection refused` and others; `refused` if the address may not be connected to;
 * `failed` for any other error.
 */
export function failureOf(error: unknown): string {
  if (error instanceof OutboundRefused) return "refused";
  for (let cause = error; cause instanceof Error; cause = causeOf(cause)) {
    if (cause.name === "TimeoutError") return "timeout";
    if (cause.name === "HTTPParserError") return "no HTTP";
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    const word = Object.hasOwn(words, code) ? words[code] : patterns.find(([pattern]) => pattern.test(code))?.[1];
    if (word !== undefined) return word;
  }
  return "failed";
}

/** The cause of an error; the error of the first address if several were tried. */
function causeOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause;
}
