/** Attributes and values by the paths of filters. */
import { type Lookup, splitPath } from "./filter.ts";
import { findAttribute, type Json, named } from "./resource.ts";
import type { ResourceType } from "./schemas.ts";

/** The lookup in resources of a type. */
export function lookupIn(type: ResourceType): Lookup {
  return {
    attributeAt(path) {
      const { attribute, subAttribute } = splitPath(path);
      const place = findAttribute(type, attribute);
      return subAttribute === undefined ? place?.attribute : named(place?.attribute.subAttributes, subAttribute);
    },
    valuesAt(resource, path) {
      const { attribute, subAttribute } = splitPath(path);
      const place = findAttribute(type, attribute);
      if (place === undefined) return [];
      const holder = place.extension === undefined ? resource : (resource[place.extension] as Json | undefined);
      const values = listOf(holder?.[place.attribute.name]);
      if (subAttribute === undefined) return values;
      const sub = named(place.attribute.subAttributes, subAttribute);
      return sub === undefined ? [] : values.flatMap((value) => listOf((value as Json)[sub.name]));
    },
  };
}

function listOf(value: unknown): unknown[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}
