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
  /** Whether it is about the resource with the `{id}` of the path. */
  readonly hasResource?: boolean;
  answer(request: ScimRequest): Answer | Promise<Answer>;
}

/** The calls at a path, by HTTP method. */
type Calls = Readonly<Record<string, Call>>;

/** By path below that of the service. */
const routes: ReadonlyMap<string, Calls> = new Map<string, Calls>([
  ["ServiceProviderConfig", { GET: describe(({ base }) => serviceProviderConfig(base)) }],
  ["ResourceTypes", { GET: describe(({ base }) => resourceTypeDocuments(base)) }],
  ["ResourceTypes/{id}", { GET: describe(({ base, id }) => resourceTypeDocuments(base, id)) }],
  ["Schemas", { GET: describe(({ base }) => schemaDocuments(base)) }],
  ["Schemas/{id}", { GET: describe(({ base, id }) => schemaDocuments(base, id)) }],
  [".search", { POST: callOf("search", "list", (request) => search(resourceTypes, request)) }],
  ...resourceTypes.flatMap(routesOf),
]);

/** What RFC 7644 has and this service has not. */
const unsupported: ReadonlySet<string> = new Set(["Me", "Bulk"]);

function routesOf(type: ResourceType): [string, Calls][] {
  const { id: name } = type;
  const path = type.endpoint.slice(1);
  return [
    [
      path,
      {
        GET: callOf(`list${name}s`, "list", (request) => list(type, request)),
        POST: callOf(`create${name}`, "write", (request) => create(type, request)),
      },
    ],
    [`${path}/.search`, { POST: callOf(`search${name}s`, "list", (request) => search([type], request)) }],
    [
      `${path}/{id}`,
      {
        GET: resourceCall(`get${name}`, "read", (request) => get(type, request)),
        PUT: resourceCall(`replace${name}`, "write", (request) => change("replace", type, request)),
        PATCH: resourceCall(`patch${name}`, "write", (request) => change("patch", type, request)),
        DELETE: resourceCall(`delete${name}`, "write", (request) => remove(type, request)),
      },
    ],
  ];
}

function callOf(name: string, rateClass: Call["rateClass"], answer: Call["answer"]): Call {
  return { name: `scim/${name}`, rateClass, answer };
}

function resourceCall(name: string, rateClass: Call["rateClass"], answer: Call["answer"]): Call {
  return { ...callOf(name, rateClass, answer), hasResource: true };
}

/** A call that gets a document about the service, or that is none. */
function describe(documentFor: (request: ScimRequest) => object): Call {
  return callOf("describe", "read", (request) => {
    if (request.query.has("filter")) throw new ScimError(403, "this document cannot be filtered");
    return jsonAnswer(200, documentFor(request));
  });
}

function failing(error: () => ScimError): Call {
  return callOf("describe", "read", () => {
    throw error();
  });
}

/** The names of all calls. */
export const scimMethods: readonly string[] = [
  ...new Set([...routes.values()].flatMap((calls) => Object.values(calls).map(({ name }) => name))),
];

/** The call of a request, and the `{id}` in its path, which is below that of the service. */
export function routeOf(httpMethod: string, path: string): { readonly call: Call; readonly id: string } {
  const segments = path.split("/", 4).map(decode);
  const [name = "", id = ""] = segments;
  const calls =
    segments.length > 2 || segments.some((segment) => segment === undefined) ? undefined : callsAt(name, id);
  if (calls === undefined)
    return {
      call: failing(() => (unsupported.has(name) ? new ScimError(501, `${name} is not supported`) : nothingHere())),
      id,
    };
  const methods = Object.keys(calls).join(", ");
  const refused = () => new ScimError(405, `this path takes ${methods}`, undefined, { allow: methods });
  return { call: Object.hasOwn(calls, httpMethod) ? calls[httpMethod]! : failing(refused), id };
}

function callsAt(name: string, id: string): Calls | undefined {
  return routes.get(id === "" ? name : `${name}/${id}`) ?? (id === "" ? undefined : routes.get(`${name}/{id}`));
}

/** A segment; undefined if it is malformed. */
function decode(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment);
    return text.includes("/") ? undefined : text;
  } catch {
    return undefined;
  }
}
