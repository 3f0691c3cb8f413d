/**
 * openapi: OpenAPI 3.1 documents of services with `google.api.http` annotations, from the descriptors that the REST
 * transcoder routes by. It knows no domain.
 *
 * Standards: OpenAPI 3.1, JSON Schema 2020-12, ProtoJSON, google/api/http.proto, AIP-203 field behaviors, and the value
 * rules of protovalidate. Rules without a keyword are text in descriptions.
 */
export { createDocument, type DocumentOptions } from "./create.ts";
export type { Document, Json } from "./document.ts";
export type { Example, MethodNotes } from "./operations.ts";
export { addGrpcSamples, type GrpcAddress } from "./samples.ts";
export type { CommentOf } from "./schemas.ts";
