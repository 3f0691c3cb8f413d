/** The parts of an OpenAPI 3.1 document that are generated (https://spec.openapis.org/oas/v3.1.1). */

/** A value of JSON. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** A JSON Schema of the dialect of OpenAPI 3.1. */
export type Schema = { [keyword: string]: Json | undefined };

/** A reference to a component. */
export interface Reference {
  readonly [keyword: string]: Json | undefined;
  readonly $ref: string;
}

/** A parameter of an operation. */
export interface Parameter {
  readonly [key: string]: Json | undefined;
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

/** A response or a request body. */
export interface Content {
  readonly [key: string]: Json | undefined;
  readonly description?: string;
}

/** An operation. */
export interface Operation {
  readonly [key: string]: Json | undefined;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: Content;
  readonly responses: { readonly [status: string]: Content | Reference };
}

/** A document. */
export interface Document {
  readonly [key: string]: Json | undefined;
  readonly openapi: "3.1.1";
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly [kind: string]: { readonly [name: string]: Json } };
}

/** A reference to a component. */
export function refTo(kind: "schemas" | "responses" | "parameters", name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` };
}
