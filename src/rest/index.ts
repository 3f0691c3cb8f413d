/**
 * rest: a transcoder from HTTP with JSON to RPCs, by their `google.api.http` annotations.
 *
 * It knows no domain. A request is routed on its raw path, made into the method's input message, and called on a
 * Connect `Transport`; the answer, or the error, goes back as JSON. Interceptors and services see an ordinary call.
 *
 * Standards: google/api/http.proto, ProtoJSON (through `codec`), google.rpc.Status (AIP-193), RFC 9110. Beyond
 * http.proto, segments may follow `**`: the longest tail wins.
 *
 * Refused when built, by method and column: templates that do not parse, variables nested or bound twice, fields that
 * do not exist or are no singular scalars, bodies that are not message fields, unknown response_body fields, client
 * streams, and two bindings for the same requests.
 *
 * Refused when called: whatever would have to be guessed. Unknown fields and parameters, duplicates, rounded integers,
 * damaged text. A request that its headers condemn is answered without waiting for its body.
 *
 * Promises: the handler never rejects and always answers or breaks off; every error is a google.rpc.Status; a call is
 * aborted when its client goes away; streams respect back-pressure; headers already set on a response stay.
 *
 * What it needs for that (bodies within limits, answers in the client's coding) it lends to a host that has other paths beside these.
 *
 * Not its business: CORS, request ids, logging, rate limits, authentication. The host does these before it calls the
 * handler, and answers its own refusals through `writeStatus`.
 */
export { listRoutes, type Route } from "./binding.ts";
export { type BodyWatch, checkBodyHeaders, readBody, toldLimit, watchPiece } from "./body.ts";
export { Deadline } from "./deadline.ts";
export type { FieldPath } from "./field-path.ts";
export { createRestHandler, type DirectCalls, type RestHandler, type RestMethod, type RestOptions } from "./handler.ts";
export {
  type Arrival,
  breakOff,
  declaredLength,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isWhole,
  type WholeRequest,
  type WholeResponse,
} from "./http.ts";
export type { SlashInMultiSegment } from "./path.ts";
export { type Answer, discardBody, isLongUnread, send } from "./send.ts";
export { formatStatus, httpStatusOf, Refusal, type StatusOptions, writeStatus } from "./status.ts";
