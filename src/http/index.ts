/**
 * http: one port that speaks HTTP/1.1 and HTTP/2, cleartext (prior knowledge) or TLS (ALPN), and the messages that pass
 * through it.
 *
 * It knows no RPC and no domain. A request arrives in one of two forms: streamed, as Node's own request and response,
 * or buffered, if it is simple and all of it has been received. A request is simple if it is in the strict subset that
 * `http1/` and `http2/` parse themselves. Both forms have the same fields, so that most code need not tell them apart.
 *
 * Standards: RFC 9110, RFC 9112, RFC 9113, RFC 7541.
 *
 * Promises: whatever a peer sends or fails to send, its connection is closed within the limits of {@link PortLimits};
 * the bytes that wait to be read or sent are bounded, for each connection and in total; connections take turns; nothing
 * that a peer does ends the process.
 */
export { emptyBuffer } from "./http2/frames.ts";
export type { RequestHead } from "./http2/simple-fields.ts";
export type { Http2Stream, ServeBuffered } from "./http2/stream.ts";
export { IncomingBodies, type IncomingBody, type SenderCheck, unverifiedBytes } from "./incoming-bodies.ts";
export { type BodyKind, type BodyWatch, checkBodyHeaders, formatLimit, readBody, watchPiece } from "./message/body.ts";
export { Deadline } from "./message/deadline.ts";
export type { Endpoint, Endpoints } from "./message/endpoint.ts";
export {
  addressOf,
  type BufferedRequest,
  type BufferedResponse,
  breakOff,
  clientCertificateOf,
  declaredLength,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isBuffered,
  isGone,
  isOver,
  type PortRequest,
  type PortResponse,
} from "./message/message.ts";
export { type Coding, chooseCoding, chooseMediaType } from "./message/negotiation.ts";
export { httpStatuses, httpStatusOf, invalidArgument, Refusal } from "./message/refusal.ts";
export { type Answer, discardBody, isLongUnread, send } from "./message/send.ts";
export { createOnePort, type OnePort, type OnePortOptions, type PortStats } from "./port.ts";
export { certificatesIn, type TlsFiles } from "./tls.ts";
