/** Reads resources as clients send them: names in any case, values by the types of the schema. */
import { ScimError } from "./errors.ts";
import { limits } from "./limits.ts";
import type { Attribute, ResourceType } from "./schemas.ts";

const booleans: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** A JSON object. */
export type Json = Record<string, unknown>;

/** The place of an attribute: itself, or within the extension. */
export interface Place {
  readonly attribute: Attribute;
  /** The URN of the extension that holds it. */
  readonly extension: string | undefined;
}

/** Attributes that are in indexes. */
const indexed = ["userName", "externalId"];

/** The attribute with a name, in any case, perhaps after the URN of its schema. */
export function findAttribute({ schema, extension, attributes }: ResourceType, name: string): Place | undefined {
  const colon = name.lastIndexOf(":");
  if (colon < 0) return placeIn(attributes, name, undefined);
  const urn = name.slice(0, colon).toLowerCase();
  const inner = name.slice(colon + 1);
  if (urn === schema.id.toLowerCase()) return placeIn(attributes, inner, undefined);
  return urn === extension?.id.toLowerCase() ? placeIn(extension.attributes, inner, extension.id) : undefined;
}

function placeIn(attributes: readonly Attribute[], name: string, extension: string | undefined): Place | undefined {
  const attribute = named(attributes, name);
  return attribute && { attribute, extension };
}

/** `name.familyName`, also after a URN, which has dots and colons of its own. */
export function splitPath(path: string): { readonly attribute: string; readonly subAttribute: string | undefined } {
  const dot = path.indexOf(".", path.lastIndexOf(":") + 1);
  if (dot < 0) return { attribute: path, subAttribute: undefined };
  return { attribute: path.slice(0, dot), subAttribute: path.slice(dot + 1) };
}

/** Attributes by their names in lower case. */
const indexes = new WeakMap<readonly Attribute[], ReadonlyMap<string, Attribute>>();

/** The attribute with a name, in any case. */
export function named(attributes: readonly Attribute[] | undefined, name: string): Attribute | undefined {
  if (attributes === undefined) return undefined;
  let index = indexes.get(attributes);
  if (index === undefined) {
    index = new Map(attributes.map((attribute) => [attribute.name.toLowerCase(), attribute]));
    indexes.set(attributes, index);
  }
  return index.get(name.toLowerCase());
}

/**
 * The attributes of a resource that a client may write, without those that have no value. A name may have the URN of
 * its schema before it, and a sub-attribute behind it. Errors: ScimError for a value of another type.
 */
export function readResource(type: ResourceType, given: unknown): Json {
  checkSchemas(given);
  const read = readObject(type.attributes, given, "");
  const { extension } = type;
  for (const [name, item] of Object.entries(given as Json)) {
    if (!/[:.]/.test(name)) continue;
    if (extension !== undefined && name.toLowerCase() === extension.id.toLowerCase()) {
      if (item !== null) addTo(read, extension.id, readObject(extension.attributes, item, extension.id));
      continue;
    }
    const { attribute: path, subAttribute } = splitPath(name);
    const place = findAttribute(type, path);
    if (place === undefined || place.attribute.mutability === "readOnly") continue;
    const { attribute } = place;
    const value = readValue(attribute, subAttribute === undefined ? item : { [subAttribute]: item }, name);
    if (value === undefined) continue;
    if (place.extension !== undefined) addTo(read, place.extension, { [attribute.name]: value });
    else if (subAttribute !== undefined && attribute.multiValued !== true) addTo(read, attribute.name, value as Json);
    else read[attribute.name] = value;
  }
  return read;
}

function addTo(read: Json, name: string, parts: Json): void {
  if (Object.keys(parts).length > 0) read[name] = { ...(read[name] as Json | undefined), ...parts };
}

/** Errors: ScimError if `schemas` is not a list of names; which names they are does not matter. */
export function checkSchemas(given: unknown): void {
  const key = Object.keys(Object(given) as Json).find((name) => name.toLowerCase() === "schemas");
  const schemas = key === undefined ? undefined : (given as Json)[key];
  if (schemas === undefined || schemas === null) return;
  if (!Array.isArray(schemas) || !schemas.every((each) => typeof each === "string"))
    throw new ScimError(400, "schemas must be a list of strings", "invalidSyntax");
}

/**
 * Checks a resource before it is stored. Errors: ScimError for a required attribute without a value, or for its size.
 */
export function checkResource({ schema }: ResourceType, resource: Json): void {
  for (const { name, required } of schema.attributes) {
    if (required === true && (resource[name] === undefined || resource[name] === ""))
      throw new ScimError(400, `${name} is required`, "invalidValue");
  }
  for (const name of indexed) {
    if (Buffer.byteLength(String(resource[name] ?? "").toLowerCase()) > limits.nameBytes)
      throw new ScimError(400, `${name} is longer than ${limits.nameBytes} bytes`, "invalidValue");
  }
  const { members: _, ...stored } = resource;
  if (leftOf(stored, limits.storedBytes) < 0)
    throw new ScimError(413, `the resource is larger than ${limits.storedBytes / 1024} KiB`);
}

/** What is left of so many bytes after a value. It stops when nothing is, because values may share their texts. */
function leftOf(value: unknown, bytes: number): number {
  if (bytes < 0) return bytes;
  if (typeof value === "string") return bytes - Buffer.byteLength(value) - 3;
  if (typeof value !== "object" || value === null) return bytes - 6;
  let left = bytes - 3;
  for (const [name, item] of Object.entries(value)) {
    if (left < 0) break;
    left = leftOf(item, Array.isArray(value) ? left : left - name.length - 3);
  }
  return left;
}

/** A value of an attribute; undefined for none. Errors: ScimError. */
export function readValue(attribute: Attribute, given: unknown, path: string): unknown {
  if (given === null || given === undefined) return undefined;
  if (attribute.multiValued !== true) return readSingle(attribute, given, path);
  const items = Array.isArray(given) ? given : [given];
  checkCount(attribute, items.length, path);
  const values = items.flatMap((item) => readSingle(attribute, item, path) ?? []);
  const primary = values.findLastIndex((item) => (item as Json).primary === true);
  values.forEach((item, i) => {
    if (i !== primary && (item as Json).primary === true) (item as Json).primary = false;
  });
  return values.length === 0 ? undefined : values;
}

/** Errors: ScimError if an attribute cannot have so many values. */
export function checkCount({ name }: Attribute, count: number, path: string): void {
  const max = name === "members" ? limits.members : limits.values;
  if (count > max) throw new ScimError(400, `${path} has more than ${max} values`, "tooMany");
}

function readSingle(attribute: Attribute, given: unknown, path: string): unknown {
  switch (attribute.type) {
    case "complex": {
      // Some clients send the value alone.
      const isBare = typeof given === "string" && named(attribute.subAttributes, "value") !== undefined;
      const read = readObject(attribute.subAttributes ?? [], isBare ? { value: given } : given, path);
      return Object.keys(read).length === 0 ? undefined : read;
    }
    case "boolean": {
      // Entra ID sends "True" and "False".
      const flag = typeof given === "string" ? booleans.get(given.toLowerCase()) : given;
      if (typeof flag !== "boolean") throw new ScimError(400, `${path} must be true or false`, "invalidValue");
      return flag;
    }
    default:
      if (typeof given !== "string") throw new ScimError(400, `${path} must be a string`, "invalidValue");
      if (given.includes("\0") || !given.isWellFormed())
        throw new ScimError(400, `${path} is malformed`, "invalidValue");
      return given;
  }
}

function readObject(attributes: readonly Attribute[], given: unknown, path: string): Json {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new ScimError(400, path === "" ? "the body must be an object" : `${path} must be an object`, "invalidSyntax");
  const read: Json = {};
  for (const [name, item] of Object.entries(given)) {
    const attribute = named(attributes, name);
    if (attribute === undefined || attribute.mutability === "readOnly") continue;
    const value = readValue(attribute, item, path === "" ? attribute.name : `${path}.${attribute.name}`);
    if (value !== undefined) read[attribute.name] = value;
  }
  return read;
}
