/** The document of services, from their descriptors. */
import type { DescMessage, DescService } from "@bufbuild/protobuf";
import { type ErrorShape, readBindings } from "../rest/index.ts";
import type { Document, Json, Operation } from "./document.ts";
import { errorSchema } from "./errors.ts";
import { type Example, errorName, type MethodNotes, operationIds, operationOf, tagOf } from "./operations.ts";
import { pathsOf } from "./paths.ts";
import type { TargetLimits } from "./query.ts";
import type { RestForm } from "./rest-form.ts";
import { type CommentOf, type FieldNotes, Schemas } from "./schemas.ts";

/** What a document is made from. */
export interface DocumentOptions extends RestForm, FieldNotes {
  readonly services: readonly DescService[];
  /** The types of error details that the server sends, all of `google.rpc`; none: any. */
  readonly errorDetails: readonly DescMessage[];
  readonly commentOf: CommentOf;
  /** Title, version, description, licence. */
  readonly info: Readonly<Record<string, Json>>;
  readonly servers?: Json;
  /** Schemes by name, and the requirement of every method whose notes have none. */
  readonly security?: { readonly schemes: Readonly<Record<string, Json>>; readonly required: Json };
  /** Limits of targets; default: none. */
  readonly targetLimits?: TargetLimits;
  /** Parameters that notes refer to, by name. */
  readonly parameters?: Readonly<Record<string, Json>>;
  /** Members of the document besides: `tags` is merged by name, others are added. */
  readonly more?: Readonly<Record<string, Json>>;
  notesOf?(service: DescService["methods"][number]): MethodNotes;
  readonly examples?: Readonly<Record<string, Example>>;
}

/** Makes the document. Errors: as those of the REST handler, for bindings that cannot be served. */
export function createDocument(options: DocumentOptions): Document {
  const { services, commentOf, errorDetails, security, basePath = "", notesOf = () => ({}), examples = {} } = options;
  const { httpRules, invalidBindings } = options;
  const bindings = readBindings(services, { httpRules, invalidBindings });
  const inputs = bindings.map(({ method }) => method.input);
  const outputs = bindings.map(({ method }) => method.output);
  const { json, isAlwaysSet, patternOf } = options;
  const schemas = new Schemas({ inputs, outputs, errorDetails, commentOf, json, isAlwaysSet, patternOf });
  const ids = operationIds(bindings);
  const unknown = Object.keys(examples).filter((id) => ![...ids.values()].includes(id));
  if (unknown.length > 0) throw new Error(`examples of no operation: ${unknown.join(", ")}`);

  const paths: Record<string, Record<string, Operation>> = {};
  for (const bound of pathsOf(bindings)) {
    const { binding } = bound;
    const key = keyOf(binding.httpMethod);
    if (key === undefined) continue;
    const path = basePath + bound.path;
    paths[path] ??= {};
    paths[path][key] = operationOf(ids.get(binding)!, bound, {
      schemas,
      commentOf,
      form: options,
      targetLimits: options.targetLimits,
      notesOf,
      examples,
    });
  }
  const routed = services.filter((service) => bindings.some(({ method }) => method.parent === service));
  const responses = errorResponses(schemas, errorDetails, options.errors);
  return {
    openapi: "3.1.1",
    info: options.info,
    servers: options.servers ?? [{ url: "/" }],
    security: security?.required ?? [],
    tags: tagsOf(routed, commentOf),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      ...usedComponents(paths, { schemas: schemas.components, responses, parameters: options.parameters ?? {} }),
      ...(security && { securitySchemes: security.schemes }),
    },
    ...options.more,
  };
}

/** The tags, once each: services of several packages may have one name. */
function tagsOf(services: readonly DescService[], commentOf: (service: DescService) => string) {
  const describe = (service: DescService) => commentOf(service) || `The service \`${service.typeName}\`.`;
  return [...new Set(services.map(tagOf))].map((name) => {
    const same = services.filter((service) => tagOf(service) === name);
    return { name, description: same.map(describe).join("\n\n") };
  });
}

/** Components by kind and name. */
type Components = Readonly<Record<string, Readonly<Record<string, Json>>>>;

/** The components that the paths refer to, directly or by other components. */
function usedComponents(paths: Json, all: Components): Record<string, Record<string, Json>> {
  const used = new Set<string>();
  const visit = (value: Json | undefined) => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key !== "$ref" || typeof inner !== "string") visit(inner);
      else if (!used.has(inner)) {
        used.add(inner);
        const [kind = "", name = ""] = inner.split("/").slice(2);
        visit(all[kind]?.[name]);
      }
    }
  };
  visit(paths);
  const entries = Object.entries(all).map(([kind, members]): [string, Record<string, Json>] => [
    kind,
    Object.fromEntries(Object.entries(members).filter(([name]) => used.has(`#/components/${kind}/${name}`))),
  ]);
  return Object.fromEntries(entries.filter(([, members]) => Object.keys(members).length > 0));
}

/** The HTTP methods that OpenAPI knows. */
const knownMethods = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"]);

/** The key of an operation in its path; undefined if there is none. A binding for any method is documented as POST. */
function keyOf(httpMethod: string): string | undefined {
  const key = httpMethod === "*" ? "post" : httpMethod.toLowerCase();
  return knownMethods.has(key) ? key : undefined;
}

const statusTexts: Readonly<Record<number, string>> = {
  400: "The request is invalid, or the state of the resource forbids it: `INVALID_ARGUMENT`, `FAILED_PRECONDITION`, `OUT_OF_RANGE`.",
  401: "The token is missing or not accepted: `UNAUTHENTICATED`.",
  403: "The caller lacks a capability: `PERMISSION_DENIED`.",
  404: "No such resource, or no such path: `NOT_FOUND`.",
  409: "The name is taken, or the resource has changed: `ALREADY_EXISTS`, `ABORTED`.",
  429: "A limit is reached: `RESOURCE_EXHAUSTED`.",
  503: "The server cannot answer now: `UNAVAILABLE`. See `Retry-After`.",
};

function errorResponses(
  schemas: Schemas,
  details: readonly DescMessage[],
  shape: ErrorShape = "flat",
): Record<string, Json> {
  const content = { "application/json": { schema: errorSchema(schemas, details, shape) } };
  const named = Object.entries(statusTexts).map(([code, description]): [string, Json] => [
    errorName(Number(code)),
    { description, content },
  ]);
  return { Error: { description: "Any other error.", content }, ...Object.fromEntries(named) };
}
