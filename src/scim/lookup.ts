/** Attributes and values by the paths of filters. */
import type { Lookup } from "./filter.ts";
import { findAttribute, type Json, named, type Place, splitPath } from "./resource.ts";
import type { Attribute, ResourceType } from "./schemas.ts";

/** Where the values of a path are. */
interface Target extends Place {
  readonly sub: Attribute | undefined;
}

/** The lookup in resources of a type. It remembers paths, so it is made for each request. */
export function lookupIn(type: ResourceType): Lookup {
  const targets = new Map<string, Target | undefined>();
  const find = (path: string): Target | undefined => {
    const { attribute: name, subAttribute } = splitPath(path);
    const place = findAttribute(type, name);
    if (place === undefined || subAttribute === undefined) return place && { ...place, sub: undefined };
    const sub = named(place.attribute.subAttributes, subAttribute);
    return sub && { ...place, sub };
  };
  const targetOf = (path: string): Target | undefined => {
    if (!targets.has(path)) targets.set(path, find(path));
    return targets.get(path);
  };
  return {
    attributeAt(path) {
      const target = targetOf(path);
      return target?.sub ?? target?.attribute;
    },
    valuesAt(resource, path) {
      const target = targetOf(path);
      if (target === undefined) return [];
      const { attribute, extension, sub } = target;
      const holder = extension === undefined ? resource : (resource[extension] as Json | undefined);
      const values = listOf(holder?.[attribute.name]);
      return sub === undefined ? values : values.flatMap((value) => listOf((value as Json)[sub.name]));
    },
  };
}

function listOf(value: unknown): unknown[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}
