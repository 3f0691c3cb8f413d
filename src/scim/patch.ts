/** PATCH (RFC 7644, section 3.5.2), on a copy of the resource. */
import { ScimError } from "./errors.ts";
import { meets, type PatchPath, parsePath } from "./filter.ts";
import { lookupIn } from "./lookup.ts";
import { findAttribute, type Json, named, type Place, readValue } from "./resource.ts";
import type { Attribute, ResourceType } from "./schemas.ts";

const maxOperations = 1000;

/** Applies a PATCH request. Errors: ScimError; then the resource is as it was. */
export function applyPatch(type: ResourceType, before: Json, request: unknown): Json {
  const operations = operationsOf(request);
  const resource = structuredClone(before);
  const extension = type.extension?.id;
  for (const { op, path, value } of operations) {
    if (path === undefined) applyWhole(type, resource, op, value);
    else if (extension !== undefined && path.toLowerCase() === extension.toLowerCase()) {
      if (op !== "add") delete resource[extension];
      if (op !== "remove") applyWhole(type, resource, "add", { [extension]: value });
    } else applyAt(type, resource, op, parsePath(path), value);
  }
  return resource;
}

interface Operation {
  readonly op: "add" | "replace" | "remove";
  readonly path: string | undefined;
  readonly value: unknown;
}

function operationsOf(request: unknown): Operation[] {
  const { Operations: given = undefined, operations = given } = Object(request) as Record<string, unknown>;
  if (!Array.isArray(operations) || operations.length === 0)
    throw new ScimError(400, "Operations must be a list with an operation", "invalidSyntax");
  if (operations.length > maxOperations) throw new ScimError(400, `more than ${maxOperations} operations`, "tooMany");
  return operations.map((operation) => {
    const { op, path, value } = Object(operation) as Record<string, unknown>;
    const name = String(op).toLowerCase();
    if (name !== "add" && name !== "replace" && name !== "remove")
      throw new ScimError(400, "op must be add, replace or remove", "invalidSyntax");
    if (path !== undefined && path !== null && typeof path !== "string")
      throw new ScimError(400, "path must be a string", "invalidPath");
    return { op: name, path: path ?? undefined, value };
  });
}

/** An operation without a path: its value names the attributes. */
function applyWhole(type: ResourceType, resource: Json, op: Operation["op"], value: unknown): void {
  if (op === "remove") throw new ScimError(400, "remove needs a path", "noTarget");
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ScimError(400, "the value must be an object where there is no path", "invalidValue");
  for (const [name, item] of Object.entries(value)) {
    if (name.toLowerCase() === "schemas") continue;
    if (name.toLowerCase() === type.extension?.id.toLowerCase()) {
      for (const [inner, each] of Object.entries(Object(item) as Json).filter(([key]) => key !== "schemas"))
        applyAt(type, resource, op, parsePath(`${type.extension.id}:${inner}`), each);
    } else if (findAttribute(type, parsePath(name).attribute)?.attribute.mutability !== "readOnly")
      applyAt(type, resource, op, parsePath(name), item);
  }
}

function applyAt(type: ResourceType, resource: Json, op: Operation["op"], path: PatchPath, value: unknown): void {
  const place = placeOf(type, path.attribute);
  const { attribute, extension } = place;
  const sub = path.subAttribute === undefined ? undefined : named(attribute.subAttributes, path.subAttribute);
  if (path.subAttribute !== undefined && sub === undefined)
    throw new ScimError(400, `${path.attribute} has no ${path.subAttribute}`, "invalidPath");
  if (attribute.mutability === "readOnly" || sub?.mutability === "readOnly")
    throw new ScimError(400, `${sub?.name ?? attribute.name} cannot be changed`, "mutability");
  const holder = holderOf(resource, extension);
  if (path.filter !== undefined) applyFiltered(type, holder, op, { ...path, filter: path.filter }, place, sub, value);
  else if (sub !== undefined) applySub(holder, op, attribute, sub, value);
  else applyAttribute(holder, op, attribute, value);
  if (extension !== undefined && Object.keys(holder).length === 0) delete resource[extension];
  else if (extension !== undefined) resource[extension] = holder;
}

function placeOf(type: ResourceType, name: string): Place {
  const place = findAttribute(type, name);
  if (place === undefined) throw new ScimError(400, `there is no attribute ${JSON.stringify(name)}`, "invalidPath");
  return place;
}

function holderOf(resource: Json, extension: string | undefined): Json {
  return extension === undefined ? resource : { ...(resource[extension] as Json | undefined) };
}

/** An operation on a whole attribute. */
function applyAttribute(holder: Json, op: Operation["op"], attribute: Attribute, given: unknown): void {
  const { name, multiValued = false, required = false, type } = attribute;
  const before = holder[name];
  if (op === "remove") {
    if (required) throw new ScimError(400, `${name} is required`, "mutability");
    // Entra ID names the members to remove by the value.
    const gone = multiValued && given !== undefined && given !== null ? readValue(attribute, given, name) : undefined;
    setValue(holder, name, gone === undefined ? undefined : without(before, gone as Json[]));
    return;
  }
  const value = readValue(attribute, given, name);
  if (op === "add" && value === undefined) return;
  if (required && value === undefined) throw new ScimError(400, `${name} is required`, "invalidValue");
  if (multiValued && op === "add") setValue(holder, name, joined(before, value as Json[]));
  else if (type === "complex" && !multiValued && value !== undefined)
    setValue(holder, name, { ...(before as Json | undefined), ...(value as Json) });
  else setValue(holder, name, value);
}

/** An operation on a part of an attribute: of each of its values. */
function applySub(holder: Json, op: Operation["op"], attribute: Attribute, sub: Attribute, given: unknown): void {
  const { name, multiValued = false } = attribute;
  const value = op === "remove" ? undefined : readValue(sub, given, `${name}.${sub.name}`);
  const before = holder[name];
  if (!multiValued) {
    setValue(holder, name, withSub(before as Json | undefined, sub.name, value));
    return;
  }
  const items = (before as Json[] | undefined) ?? (value === undefined ? [] : [{}]);
  setValue(
    holder,
    name,
    items.map((item) => withSub(item, sub.name, value)).filter((item) => item !== undefined),
  );
}

/** An operation on the values that meet a filter. */
function applyFiltered(
  type: ResourceType,
  holder: Json,
  op: Operation["op"],
  { attribute: path, filter }: PatchPath & { readonly filter: NonNullable<PatchPath["filter"]> },
  { attribute }: Place,
  sub: Attribute | undefined,
  given: unknown,
): void {
  const { name } = attribute;
  if (attribute.multiValued !== true) throw new ScimError(400, `${name} has one value only`, "invalidPath");
  const lookup = lookupIn(type);
  const items = (holder[name] as Json[] | undefined) ?? [];
  const isMeant = (item: Json) =>
    meets(
      { value: item },
      { kind: "value", path: "value", filter },
      {
        attributeAt: (inner) => lookup.attributeAt(inner.replace(/^value(?=\.|$)/, path)),
        valuesAt: (resource, inner) => [(resource as Json)[inner]].flat(),
      },
    );
  const hasAny = items.some(isMeant);
  if (op === "remove") {
    const kept = items.flatMap((item) =>
      isMeant(item) ? (sub === undefined ? [] : (withSub(item, sub.name, undefined) ?? [])) : [item],
    );
    setValue(holder, name, kept);
    return;
  }
  const change = (item: Json): Json => {
    if (sub !== undefined) return { ...item, [sub.name]: readValue(sub, given, `${name}.${sub.name}`) };
    const [value] = (readValue(attribute, given, name) as Json[] | undefined) ?? [{}];
    return { ...item, ...value };
  };
  if (hasAny) {
    const changed = items.map((item) => (isMeant(item) ? change(item) : item));
    setValue(holder, name, readValue(attribute, changed, name));
    return;
  }
  // What the filter says of a value that is added, as clients expect of `emails[type eq "work"].value`.
  const base = filter.kind === "compare" && filter.operator === "eq" ? { [filter.path]: filter.value } : undefined;
  if (base === undefined || (op === "replace" && sub === undefined))
    throw new ScimError(400, `no value of ${name} meets the filter`, "noTarget");
  setValue(holder, name, joined(items, readValue(attribute, [change(base)], name) as Json[]));
}

function setValue(holder: Json, name: string, value: unknown): void {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) delete holder[name];
  else holder[name] = value;
}

function withSub(item: Json | undefined, name: string, value: unknown): Json | undefined {
  const { [name]: _, ...others } = item ?? {};
  const changed = value === undefined ? others : { ...others, [name]: value };
  return Object.keys(changed).length === 0 ? undefined : changed;
}

/** The values with those that are new; a value is known by its `value`, or as a whole. */
function joined(before: unknown, added: readonly Json[]): Json[] {
  const items = [...((before as Json[] | undefined) ?? [])];
  for (const item of added) {
    if (item.primary === true) for (const other of items) if (other.primary === true) other.primary = false;
    const same = items.findIndex((other) => isSame(other, item));
    if (same < 0) items.push(item);
    else items[same] = { ...items[same], ...item };
  }
  return items;
}

function without(before: unknown, gone: readonly Json[]): Json[] {
  return ((before as Json[] | undefined) ?? []).filter((item) => !gone.some((each) => isSame(item, each)));
}

function isSame(a: Json, b: Json): boolean {
  if (a.value === undefined || b.value === undefined) return JSON.stringify(a) === JSON.stringify(b);
  return a.value === b.value && (a.type === undefined || b.type === undefined || a.type === b.type);
}
