/** The calls of the service, by path and HTTP method. */
import type { Answer } from "../message/index.ts";
import { change, create, get, list, remove, search } from "./calls.ts";
import { nothingHere, resourceTypeDocuments, schemaDocuments, serviceProviderConfig } from "./discovery.ts";
import { jsonAnswer, ScimError } from "./errors.ts";
import type { ScimRequest } from "./request.ts";
import { type ResourceType, resourceTypes } from "./schemas.ts";

/** What requests of one method at one path do. */
interface Call {
  /** Its name in the log, the metrics and the audit log. */
  readonly name: string;
  readonly rateClass: "read" | "list" | "write";
  answer(request: ScimRequest): Answer | Promise<Answer>;
}

/** The calls at a path, by HTTP method. */
type Calls = Readonly<Record<string, Call>>;

/** By path below that of the service. */
const routes: ReadonlyMap<string, Calls> = new Map<string, Calls>([
  ["ServiceProviderConfig", describing(({ base }) => serviceProviderConfig(base))],
  ["ResourceTypes", describing(({ base }) => resourceTypeDocuments(base))],
  ["ResourceTypes/{id}", describing(({ base, id }) => resourceTypeDocuments(base, id))],
  ["Schemas", describing(({ base }) => schemaDocuments(base))],
  ["Schemas/{id}", describing(({ base, id }) => schemaDocuments(base, id))],
  [".search", { POST: callOf("search", "list", (request) => search(resourceTypes, request)) }],
  ...resourceTypes.flatMap(routesOf),
]);

/** Endpoints of RFC 7644 that are not supported. */
const unsupported: ReadonlySet<string> = new Set(["Me", "Bulk"]);

function routesOf(type: ResourceType): [string, Calls][] {
  const { id: name } = type;
  const path = type.endpoint.slice(1);
  const all = {
    GET: callOf(`list${name}s`, "list", (request) => list(type, request)),
    POST: callOf(`create${name}`, "write", (request) => create(type, request)),
  };
  const one = {
    GET: callOf(`get${name}`, "read", (request) => get(type, request)),
    PUT: callOf(`replace${name}`, "write", (request) => change("replace", type, request)),
    PATCH: callOf(`patch${name}`, "write", (request) => change("patch", type, request)),
    DELETE: callOf(`delete${name}`, "write", (request) => remove(type, request)),
  };
  return [
    [path, all],
    [`${path}/.search`, { POST: callOf(`search${name}s`, "list", (request) => search([type], request)) }],
    [`${path}/{id}`, one],
  ];
}

function callOf(name: string, rateClass: Call["rateClass"], answer: Call["answer"]): Call {
  return { name: `scim/${name}`, rateClass, answer };
}

/** The call that gets a document about the service. */
function describing(documentFor: (request: ScimRequest) => object): Calls {
  const get = callOf("describe", "read", (request) => {
    if (request.parameters("filter") !== null) throw new ScimError(403, "this document cannot be filtered");
    return jsonAnswer(200, documentFor(request));
  });
  return { GET: get };
}

/** The names of all calls. */
export const scimMethods: readonly string[] = [
  ...new Set([...routes.values()].flatMap((calls) => Object.values(calls).map(({ name }) => name))),
];

/** The call of a request, and the `{id}` in its path, which is below that of the service. */
export function routeOf(httpMethod: string, path: string): Call & { readonly id: string } {
  const segments = path.split("/", 4).map(decode);
  const [name = "", id = ""] = segments;
  const refused = (error: ScimError) => ({ ...callOf("describe", "read", () => Promise.reject(error)), id });
  const calls = segments.length > 2 || segments.includes(undefined) ? undefined : callsAt(name, id);
  if (calls === undefined)
    return refused(unsupported.has(name) ? new ScimError(501, `${name} is not supported`) : nothingHere());
  if (Object.hasOwn(calls, httpMethod)) return { ...calls[httpMethod]!, id };
  const allow = Object.keys(calls).join(", ");
  return refused(new ScimError(405, `this path takes ${allow}`, undefined, { allow }));
}

function callsAt(name: string, id: string): Calls | undefined {
  return id === "" ? routes.get(name) : (routes.get(`${name}/${id}`) ?? routes.get(`${name}/{id}`));
}

/** A segment of a path; undefined if it is malformed, or has a slash. */
function decode(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment);
    return text.includes("/") ? undefined : text;
  } catch {
    return undefined;
  }
}
