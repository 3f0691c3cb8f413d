/**
 * rest: a transcoder from HTTP with JSON to RPCs, by their `google.api.http` annotations.
 *
 * It knows no domain. A request is routed on its raw path, made into the method's input message, and called on a
 * Connect `Transport`; the response or the error is sent as JSON. Interceptors and services see an ordinary call.
 *
 * Standards: google/api/http.proto, ProtoJSON (through `codec`), google.rpc.Status (AIP-193), RFC 9110. Beyond
 * http.proto, segments may follow `**`: the longest tail wins.
 *
 * Refused when built, by method and column: templates that do not parse, variables nested or bound twice, fields that
 * do not exist or are no singular scalars, bodies that are not message fields, unknown response_body fields, client
 * streams, and two bindings for the same requests.
 *
 * Refused when called: everything ambiguous, such as unknown fields and parameters, duplicates, rounded integers and
 * damaged text. A request with unacceptable headers is refused without waiting for its body.
 *
 * Guarantees: the handler never rejects, and always responds or aborts the connection; every error is a
 * google.rpc.Status; a call is aborted when its client disconnects; streams respect back-pressure; headers already set
 * on a response stay.
 *
 * Not included: CORS, request ids, logging, rate limits, authentication. The host does these before it calls the
 * handler, and writes its own errors with `writeStatus`.
 */
export { type Binding, listRoutes, type Route, readBindings } from "./binding.ts";
export type { FieldPath } from "./field-path.ts";
export { createRestHandler, type RestHandler } from "./handler.ts";
export type { RestOptions } from "./options.ts";
export { formatStatus, writeStatus } from "./status.ts";
