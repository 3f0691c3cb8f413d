/**
 * The OpenAPI documents of the REST API that `@platform-api/rest` serves. The package exports this file as
 * `@platform-api/rest/openapi`; docs/openapi.md describes it.
 */
import type { RestOptions } from "../rest/index.ts";
import { commentOf } from "./comments.ts";
import { createDocument, type DocumentOptions } from "./create.ts";
import type { Document, Json } from "./document.ts";
import type { RestForm } from "./rest-form.ts";

export type { Document as OpenApiDocument, Json } from "./document.ts";

/** What a document says besides what the services say. */
export interface OpenApiOptions extends Pick<DocumentOptions, "servers" | "security"> {
  /** Title, version, description, licence: an Info Object of OpenAPI. */
  readonly info: { readonly title: string; readonly version: string } & Readonly<Record<string, Json>>;
}

/** Options of `createRestHandler`, of which those that decide about requests and responses are read. */
export type ServedOptions = RestForm & Pick<RestOptions, "services">;

/**
 * Makes the OpenAPI 3.1 document of the API that `createRestHandler` serves with the same options. It lacks what
 * OpenAPI cannot express, which is custom HTTP methods, and what `rewriteAnswer` changes.
 *
 * Generated code has no comments of proto files, so that operations have no descriptions. Descriptors from a set with
 * source info (`buf build -o api.binpb`, `createFileRegistry`) have them.
 * Errors: as those of `createRestHandler`, for bindings that cannot be served.
 */
export function createOpenApi(served: ServedOptions, { info, servers, security }: OpenApiOptions): Document {
  return createDocument({
    ...served,
    services: [...served.services],
    errorDetails: [],
    commentOf,
    info,
    ...(servers !== undefined && { servers }),
    ...(security !== undefined && { security }),
  });
}
