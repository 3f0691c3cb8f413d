/**
 * http: one port that speaks HTTP/1.1 and HTTP/2, cleartext (prior knowledge) or TLS (ALPN).
 *
 * It knows no RPC and no domain. A request arrives in one of two forms: streamed, as Node's own request and response,
 * or buffered, if it is simple and all of it has been received. A request is simple if it is in the strict subset that
 * `http1/` and `http2/` parse themselves. Both forms have the same fields, so that most code need not distinguish them.
 *
 * Standards: RFC 9110, RFC 9112, RFC 9113, RFC 7541.
 *
 * Promises: whatever a peer sends or fails to send, its connection is closed within the limits of {@link PortLimits};
 * the bytes that wait to be read or sent are bounded, for each connection and in total; those whom requests count
 * against take turns, then callers, then connections; nothing
 * that a peer does ends the process.
 */

export type { Payer } from "./accounts.ts";
export { networkOf } from "./addresses/networks.ts";
export type { ProxySettings } from "./addresses/trusted-proxies.ts";
export { type Endpoint, type Endpoints, readEndpoint } from "./endpoint.ts";
export { emptyBuffer } from "./http2/frames.ts";
export type { FieldList } from "./http2/hpack/hpack.ts";
export type { RequestHead } from "./http2/simple-fields.ts";
export { fieldList, type Http2Stream, type ServeBuffered } from "./http2/stream.ts";
export { IncomingBodies, type IncomingBody, type SenderCheck, unverifiedBytes } from "./incoming-bodies.ts";
export { type Origin, originOf } from "./origin.ts";
export type { PayerSource } from "./payers.ts";
export { addressOf, clientCertificateOf, closeConnection } from "./peer.ts";
export { type ConnectionLimit, createOnePort, type OnePort, type OnePortOptions, type PortStats } from "./port.ts";
export { certificatesIn, type TlsFiles } from "./tls.ts";
