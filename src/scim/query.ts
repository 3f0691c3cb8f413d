/** What a list asks for (RFC 7644, section 3.4.2), and which attributes of a resource a request wants (section 3.9). */
import { ScimError } from "./errors.ts";
import { type Filter, parseFilter } from "./filter.ts";
import { limits } from "./limits.ts";
import { isObject } from "./operations.ts";
import { type Json, splitPath } from "./resource.ts";
import type { ResourceType } from "./schemas.ts";

/** What to list. */
export interface ListQuery {
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
  readonly filter: Filter | undefined;
}

/** The parameters of a request by name: texts of a query, or values of a body. */
export type Parameters = (name: string) => unknown;

/** The parameters of a search, as in the query of a GET (RFC 7644, section 3.4.3). Errors: ScimError. */
export function parametersOf(body: unknown): Parameters {
  if (!isObject(body)) throw new ScimError(400, "the body must be an object", "invalidSyntax");
  return (name) => (Object.hasOwn(body, name) ? body[name] : undefined);
}

/** Errors: ScimError. */
export function readQuery(parameters: Parameters): ListQuery {
  const number = (name: string, otherwise: number) => {
    const given = parameters(name) ?? "";
    if (given === "") return otherwise;
    const isNumber = Number.isInteger(given) || (typeof given === "string" && /^-?\d{1,9}$/.test(given));
    if (!isNumber) throw new ScimError(400, `${name} must be a number`, "invalidValue");
    return Number(given);
  };
  const filter = parameters("filter") ?? "";
  if (typeof filter !== "string") throw new ScimError(400, "filter must be a string", "invalidFilter");
  return {
    startIndex: Math.max(1, number("startIndex", 1)),
    count: Math.min(limits.count, Math.max(0, number("count", 100))),
    filter: filter === "" ? undefined : parseFilter(filter),
  };
}

/** Attributes by their names in lower case, each with the sub-attributes that are named; all of them if none is. */
type Names = ReadonlyMap<string, ReadonlySet<string>>;

/** Which attributes of a resource a request wants. */
export interface Projection {
  /** Whether an attribute is shown: some are by default, others only on request. */
  shows(name: string, byDefault: boolean): boolean;
  /** The resource with the attributes that are wanted. */
  of(resource: Json): Json;
}

const always: ReadonlySet<string> = new Set(["schemas", "id"]);

/** Errors: ScimError. */
export function readProjection(parameters: Parameters, type: ResourceType): Projection {
  const wanted = namesOf(parameters, "attributes", type);
  const unwanted = namesOf(parameters, "excludedAttributes", type);
  const extension = type.extension?.id;
  const shows = (name: string, byDefault: boolean) => {
    const key = name.toLowerCase();
    if (always.has(key)) return true;
    return wanted.size > 0 ? wanted.has(key) : byDefault && unwanted.get(key)?.size !== 0;
  };
  const partOf = (name: string, value: unknown) => {
    const names = (wanted.size > 0 ? wanted : unwanted).get(name.toLowerCase());
    if (names === undefined || names.size === 0 || always.has(name.toLowerCase())) return value;
    const isShown = (key: string) => names.has(key.toLowerCase()) === wanted.size > 0;
    const part = (item: unknown) =>
      isObject(item) ? Object.fromEntries(Object.entries(item).filter(([key]) => isShown(key))) : item;
    return Array.isArray(value) ? value.map(part) : part(value);
  };
  return {
    shows,
    of(resource) {
      if (wanted.size === 0 && unwanted.size === 0) return resource;
      const shown = Object.entries(resource).filter(([name]) => shows(name, true));
      const parts = shown.map(([name, value]) => [name, partOf(name, value)] as const);
      return Object.fromEntries(
        parts.filter(([name, value]) => name !== extension || Object.keys(value as Json).length > 0),
      );
    },
  };
}

function namesOf(parameters: Parameters, parameter: string, { schema, extension }: ResourceType): Names {
  const given = parameters(parameter) ?? "";
  const isList = Array.isArray(given) && given.every((name) => typeof name === "string");
  if (typeof given !== "string" && !isList)
    throw new ScimError(400, `${parameter} must be a list of names`, "invalidSyntax");
  const list = typeof given === "string" ? given.split(",", limits.attributes + 1) : given;
  if (list.length > limits.attributes)
    throw new ScimError(400, `${parameter} has more than ${limits.attributes} names`, "tooMany");
  const names = new Map<string, Set<string>>();
  for (const each of list) {
    const name = each.trim().toLowerCase();
    if (name === "") continue;
    const { attribute, sub } = placeOf(name, schema.id.toLowerCase(), extension?.id.toLowerCase());
    const subs = names.get(attribute);
    if (subs === undefined) names.set(attribute, new Set(sub === undefined ? [] : [sub]));
    else if (sub === undefined) subs.clear();
    else if (subs.size > 0) subs.add(sub);
  }
  return names;
}

/** Where a name in lower case points to: an attribute of an extension is a part of it. */
function placeOf(name: string, schema: string, extension: string | undefined) {
  if (name === extension) return { attribute: name, sub: undefined };
  const isExtension = extension !== undefined && name.startsWith(`${extension}:`);
  if (isExtension) return { attribute: extension, sub: splitPath(name.slice(extension.length + 1)).attribute };
  const { attribute, subAttribute: sub } = splitPath(
    name.startsWith(`${schema}:`) ? name.slice(schema.length + 1) : name,
  );
  return { attribute, sub };
}
