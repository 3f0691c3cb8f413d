/** Servers that are not reached, and connections that are lost. */
import { Code, type ConnectError } from "@connectrpc/connect";
import { PlatformError } from "./errors.ts";

/** Errors: TypeError if `server` is not the base URL of a server. */
export function checkServer(server: string): void {
  if (/^https?:\/\/[^/]/i.test(server)) return;
  throw new TypeError(`the server must be an http or https URL, not ${JSON.stringify(server)}`);
}

/** UNAVAILABLE, for a failure of the network. @param cause it, with its own causes. */
export function unreachable(server: string, cause: Error): PlatformError {
  const message = `cannot reach ${server}: ${reasonOf(cause)}`;
  return new PlatformError(message, Code.Unavailable, undefined, undefined, cause);
}

/** What the codes of OpenSSL mean where TLS is spoken to a port that does not. */
const cleartextCodes = ["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"];

/** What codes of Node's TLS say about the certificate of a server. */
const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
  CERT_REVOKED: "is revoked",
  INVALID_PURPOSE: "is not one for servers",
};
/** Those of a certificate whose authority is not known. */
const untrustedCodes = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
];

/** Whether a server was not reached because its certificate is of an authority that is not trusted here. */
export function isUntrusted(error: Error): boolean {
  const { cause, code } = error as Error & NodeError;
  return cause instanceof Error ? isUntrusted(cause) : untrustedCodes.includes(code ?? "");
}

/** What is wrong with the certificate of a server; undefined for any other error. */
function certificateFault({ code = "", host, cert }: NodeError): string | undefined {
  if (untrustedCodes.includes(code)) return "its certificate is of an authority that is not trusted here";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const names = cert?.subjectaltname?.replace(/(^|, )(?:DNS|IP Address):/g, "$1") || "no host";
    return `its certificate is for ${names}, not for ${host}`;
  }
  const fault = certificateFaults[code];
  return fault && `its certificate ${fault}`;
}

/** Why the network failed, of the innermost cause, for people: `connect ECONNREFUSED 127.0.0.1:8080`. */
export function reasonOf(error: Error): string {
  const { cause, errors, message, code, reason } = error as Error & Partial<AggregateError> & NodeError;
  if (cause instanceof Error) return reasonOf(cause);
  // A host with several addresses fails once for each; the aggregate has no message.
  if (errors?.[0] instanceof Error) return reasonOf(errors[0]);
  if (cleartextCodes.includes(code ?? "")) return "the port does not speak TLS; is it http:// instead of https://?";
  if (message === "bad port") return "HTTP clients do not use this port, which belongs to another protocol";
  return certificateFault(error as NodeError) ?? (typeof reason === "string" ? `TLS: ${reason}` : message);
}

/** Why a server was not reached; undefined if it answered. @param error of `fetch`, or with that as its cause. */
export function networkReason(error: Error): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof TypeError) return reasonOf(cause);
  return undefined;
}

/** What errors of Node's network and of OpenSSL have. */
interface NodeError {
  readonly code?: string;
  readonly reason?: unknown;
  /** Of a certificate that is for other hosts: the host meant, and the certificate. */
  readonly host?: string;
  readonly cert?: { readonly subjectaltname?: string };
}

/** What connect-node makes of an HTTP/2 connection that is closed during a call. */
const lostConnection = /^http\/2 stream closed with error code CANCEL |^protocol error: incomplete envelope$/;
/** Codes of Node's errors that are not about the network. */
const otherFailures = /INVALID_(?!STREAM|SESSION)|WRITE_AFTER_END/;

/**
 * Whether the error of a transport is a failure of the network, and not what a server answered. Transports of
 * connect-node report it as CANCELED, ABORTED, INTERNAL or INVALID_ARGUMENT, with Node's error as the cause or none.
 */
export function isNetworkFailure({ code, rawMessage, cause }: ConnectError): boolean {
  if (lostConnection.test(rawMessage)) return true;
  if (!(cause instanceof Error) || code === Code.Unknown) return false;
  if (code === Code.Unavailable) return true;
  const { code: name, message } = cause as Error & { code?: unknown };
  if (name === "ERR_HTTP2_STREAM_ERROR") return message.endsWith("REFUSED_STREAM");
  return typeof name === "string" && !otherFailures.test(name);
}
