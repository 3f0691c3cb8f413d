/**
 * rest: a transcoder from HTTP with JSON to RPCs, by their `google.api.http` annotations. What others may use of it is
 * the package's entry `platform-api/rest`, `package.ts`; docs/rest.md describes it.
 *
 * It knows no domain. A request is routed on its raw path, made into the method's input message, and called on a
 * Connect `Transport`; the response or the error is sent as JSON. Interceptors and services see an ordinary call.
 *
 * Standards: google/api/http.proto, ProtoJSON (through `codec`), google.rpc.Status (AIP-193), RFC 9110. Beyond
 * http.proto, segments may follow `**`: the longest tail wins.
 *
 * Refused when built, by method and column: templates that do not parse, variables nested or bound twice, fields that
 * do not exist or are no singular scalars, unknown body and response_body fields, and two bindings for the same
 * requests. Methods with streams in both directions are left out with a warning.
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
export { type Binding, readBindings } from "./binding.ts";
export type { FieldPath } from "./field-path.ts";
export * from "./package.ts";
export { formatStatus } from "./status.ts";
