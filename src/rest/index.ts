/**
 * rest: a transcoder from HTTP with JSON to RPCs, by their `google.api.http` annotations. The package exports this file
 * as `@platform-api/rest`; docs/rest.md describes it.
 *
 * It knows no domain. A request is routed on its raw path, made into the method's input message, and called on a
 * Connect `Transport`; the response or the error is sent as JSON. Interceptors and services see an ordinary call.
 *
 * Standards: google/api/http.proto, ProtoJSON (through `codec`), google.rpc.Status (AIP-193), RFC 9110. Beyond
 * http.proto, segments may follow `**`: the longest tail wins.
 *
 * Refused when built, by method and column: templates that do not parse, variables nested or bound twice, two members
 * of a oneof, fields that do not exist or are not singular scalars, unknown body and response_body fields, and two
 * bindings for the same requests. Methods with streams in both directions are left out with a warning.
 *
 * Refused when called: everything ambiguous, such as unknown fields and parameters, duplicates, rounded integers and
 * damaged text. A request with unacceptable headers is refused without waiting for its body.
 *
 * Guarantees: the handler never rejects, and always responds or aborts the connection; every error has the form that
 * the options say; a call is aborted when its client disconnects; streams respect back-pressure; headers already set
 * on a response stay.
 *
 * Not included: request ids, logging, rate limits, authentication. The host does these before it calls the handler, and
 * writes its own errors with `writeStatus`.
 */
export type { EventOptions } from "./answer/events.ts";
export {
  type Binding,
  type BindingOptions,
  listRoutes,
  type RestMethod,
  type Route,
  readBindings,
} from "./binding.ts";
export type { CorsOptions } from "./cors.ts";
export type { FieldPath } from "./field-path.ts";
export { createRestHandler, type RestHandler } from "./handler.ts";
export type { HeaderMatcher } from "./headers.ts";
export { restPlugin } from "./hosts/fastify.ts";
export { createFetchHandler, type FetchHandler } from "./hosts/fetch.ts";
export { restMiddleware } from "./hosts/koa.ts";
export type { AnsweredCall, RestAnswer, RestMatch, RestOptions } from "./options.ts";
export { fromRouter, type RouterOptions } from "./router-transport.ts";
export { type ErrorShape, formatStatus, type StatusOptions, writeStatus } from "./status.ts";
