/** What a request is about, and the name of its call. */
import { type ResourceType, resourceTypes } from "./schemas.ts";

/** What a request is about. */
export interface Route {
  /** The segments of the path. */
  readonly name: string;
  readonly id: string | undefined;
  /** Whether the path has more segments, or malformed ones. */
  readonly isNowhere: boolean;
  readonly type: ResourceType | undefined;
  readonly isSearch: boolean;
  readonly query: URLSearchParams;
  /** The name of the call, one of {@link scimMethods}. */
  readonly method: string;
  readonly rateClass: "read" | "list" | "write";
}

const verbs: Readonly<Record<string, string>> = { POST: "create", PUT: "replace", PATCH: "patch", DELETE: "delete" };
/** Whatever is not a call of a resource: discovery, and paths that nothing is at. */
const other = "scim/describe";

/** The names of all calls, in the log, the metrics and the audit log. */
export const scimMethods: readonly string[] = [
  other,
  "scim/search",
  ...resourceTypes.flatMap(({ id }) =>
    [`list${id}s`, `search${id}s`, `get${id}`, ...Object.values(verbs).map((verb) => `${verb}${id}`)].map(
      (name) => `scim/${name}`,
    ),
  ),
];

/** The route of a request. */
export function routeOf(httpMethod: string, { pathname, searchParams }: URL, scimPath: string): Route {
  const segments = pathname
    .slice(scimPath.length + 1)
    .split("/", 4)
    .map(decode);
  const [name = "", id] = segments;
  const type = resourceTypes.find(({ endpoint }) => endpoint === `/${name}`);
  const isSearch = (name === ".search" && id === undefined) || (type !== undefined && id === ".search");
  const verb = isSearch ? "search" : (verbs[httpMethod] ?? (id === undefined || id === "" ? "list" : "get"));
  const isCall = type !== undefined || isSearch;
  const isList = isSearch || verb === "list";
  const about = type === undefined ? "" : isList ? `${type.id}s` : type.id;
  return {
    name,
    id,
    isNowhere: segments.length > 2 || segments.includes(undefined),
    type,
    isSearch,
    query: searchParams,
    method: isCall ? `scim/${verb}${about}` : other,
    rateClass: isList ? "list" : isCall && Object.hasOwn(verbs, httpMethod) ? "write" : "read",
  };
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
