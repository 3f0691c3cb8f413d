/** Reads resources as clients send them: names in any case, values by the types of the schema. */
import { ScimError } from "./errors.ts";
import { type Attribute, commonAttributes, type ResourceType } from "./schemas.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

/** The place of an attribute: itself, or within the extension. */
export interface Place {
  readonly attribute: Attribute;
  /** The URN of the extension that holds it. */
  readonly extension: string | undefined;
}

const maxTextLength = 64 * 1024;
const maxItems = 10_000;

/** The attribute with a name, in any case, perhaps after the URN of its schema. */
export function findAttribute(type: ResourceType, name: string): Place | undefined {
  const { schema, extension } = type;
  for (const each of extension === undefined ? [schema] : [schema, extension]) {
    const prefix = `${each.id}:`.toLowerCase();
    if (!name.toLowerCase().startsWith(prefix)) continue;
    const attribute = named(
      [...each.attributes, ...(each === schema ? commonAttributes : [])],
      name.slice(prefix.length),
    );
    return attribute && { attribute, extension: each === schema ? undefined : each.id };
  }
  const attribute = named([...schema.attributes, ...commonAttributes], name);
  return attribute && { attribute, extension: undefined };
}

/** The attribute with a name, in any case. */
export function named(attributes: readonly Attribute[] | undefined, name: string): Attribute | undefined {
  return attributes?.find((attribute) => attribute.name.toLowerCase() === name.toLowerCase());
}

/**
 * The attributes of a resource that a client may write, without those that have no value. Errors: ScimError for a value
 * of another type.
 */
export function readResource(type: ResourceType, given: unknown): Json {
  const read = readObject([...type.schema.attributes, ...commonAttributes], given, "");
  const { extension } = type;
  if (extension !== undefined) {
    const key = Object.keys(given as Json).find((name) => name.toLowerCase() === extension.id.toLowerCase());
    const within =
      key === undefined
        ? undefined
        : readValue({ ...wholeOf(extension.attributes) }, (given as Json)[key], extension.id);
    if (within !== undefined) read[extension.id] = within;
  }
  return read;
}

function wholeOf(subAttributes: readonly Attribute[]): Attribute {
  return { name: "", type: "complex", description: "", subAttributes };
}

/** Errors: ScimError for a required attribute without a value. */
export function requireAttributes({ schema }: ResourceType, resource: Json): void {
  for (const { name, required } of schema.attributes) {
    if (required === true && (resource[name] === undefined || resource[name] === ""))
      throw new ScimError(400, `${name} is required`, "invalidValue");
  }
}

/** A value of an attribute; undefined for none. Errors: ScimError. */
export function readValue(attribute: Attribute, given: unknown, path: string): unknown {
  if (given === null || given === undefined) return undefined;
  if (attribute.multiValued !== true) return readSingle(attribute, given, path);
  const items = Array.isArray(given) ? given : [given];
  if (items.length > maxItems) throw new ScimError(400, `${path} has more than ${maxItems} values`, "invalidValue");
  const values = items.flatMap((item) => readSingle(attribute, item, path) ?? []);
  const primary = values.findLastIndex((item) => (item as Json).primary === true);
  values.forEach((item, i) => {
    if (i !== primary && (item as Json).primary === true) (item as Json).primary = false;
  });
  return values.length === 0 ? undefined : values;
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
      const flag = typeof given === "string" ? { true: true, false: false }[given.toLowerCase()] : given;
      if (typeof flag !== "boolean") throw new ScimError(400, `${path} must be true or false`, "invalidValue");
      return flag;
    }
    default:
      if (typeof given !== "string") throw new ScimError(400, `${path} must be a string`, "invalidValue");
      if (given.length > maxTextLength || given.includes("\0") || !given.isWellFormed())
        throw new ScimError(400, `${path} is longer than ${maxTextLength} characters, or malformed`, "invalidValue");
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
