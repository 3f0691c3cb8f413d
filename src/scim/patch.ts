/** PATCH (RFC 7644, section 3.5.2), on a copy of the resource. */
import { ScimError } from "./errors.ts";
import { type Filter, type Lookup, meets, nodesOf, type PatchPath, within } from "./filter.ts";
import { lookupIn } from "./lookup.ts";
import { isObject, type Operation, Paths, Work } from "./operations.ts";
import { checkCount, findAttribute, type Json, named, type Place, readValue } from "./resource.ts";
import type { Attribute, ResourceType } from "./schemas.ts";

/** Applies operations. Errors: ScimError; then the resource is as it was. */
export function applyOperations(type: ResourceType, before: Json, operations: readonly Operation[]): Json {
  const resource = structuredClone(before);
  const patch = new Patch(type, resource);
  for (const operation of operations) patch.apply(operation);
  return resource;
}

/** One request, at work on the copy. */
class Patch {
  readonly #type: ResourceType;
  readonly #resource: Json;
  readonly #lookup: Lookup;
  readonly #paths = new Paths();
  readonly #work = new Work();

  constructor(type: ResourceType, resource: Json) {
    this.#type = type;
    this.#resource = resource;
    this.#lookup = lookupIn(type);
  }

  apply({ op, path, value }: Operation): void {
    this.#work.spend(1);
    const extension = this.#type.extension?.id;
    if (path === undefined) this.#applyWhole(op, value);
    else if (extension !== undefined && path.toLowerCase() === extension.toLowerCase()) {
      if (op !== "add") delete this.#resource[extension];
      if (op !== "remove") this.#applyWhole("add", { [extension]: value });
    } else this.#applyAt(op, this.#paths.parse(path), value);
  }

  /**
   * An operation without a path: its value names the attributes. Those that do not exist are left out, as in a POST.
   */
  #applyWhole(op: Operation["op"], value: unknown): void {
    if (op === "remove") throw new ScimError(400, "remove needs a path", "noTarget");
    if (!isObject(value))
      throw new ScimError(400, "the value must be an object where there is no path", "invalidValue");
    const extension = this.#type.extension?.id;
    for (const [name, item] of Object.entries(value)) {
      if (name.toLowerCase() === extension?.toLowerCase()) {
        if (!isObject(item)) throw new ScimError(400, `${extension} must be an object`, "invalidValue");
        for (const [inner, each] of Object.entries(item)) this.#applyNamed(op, `${extension}:${inner}`, each);
      } else this.#applyNamed(op, name, item);
    }
  }

  #applyNamed(op: Operation["op"], name: string, value: unknown): void {
    this.#work.spend(1);
    if (name.toLowerCase() === "schemas") return;
    const path = this.#paths.parse(name);
    const attribute = findAttribute(this.#type, path.attribute)?.attribute;
    if (attribute !== undefined && attribute.mutability !== "readOnly") this.#applyAt(op, path, value);
  }

  #applyAt(op: Operation["op"], path: PatchPath, value: unknown): void {
    const place = placeOf(this.#type, path.attribute);
    const { attribute, extension } = place;
    const sub = path.subAttribute === undefined ? undefined : named(attribute.subAttributes, path.subAttribute);
    if (path.subAttribute !== undefined && sub === undefined)
      throw new ScimError(400, `${path.attribute} has no ${path.subAttribute}`, "invalidPath");
    if (attribute.mutability === "readOnly" || sub?.mutability === "readOnly")
      throw new ScimError(400, `${sub?.name ?? attribute.name} cannot be changed`, "mutability");
    const resource = this.#resource;
    const holder = extension === undefined ? resource : { ...(resource[extension] as Json | undefined) };
    if (attribute.multiValued === true)
      this.#work.spend(listOf(holder, attribute).length * (1 + (path.filter === undefined ? 0 : nodesOf(path.filter))));
    if (path.filter !== undefined) {
      const lookup = within(path.attribute, this.#lookup);
      applyFiltered(holder, op, attribute, sub, { filter: path.filter, lookup }, value);
    } else if (sub !== undefined) applySub(holder, op, attribute, sub, value);
    else applyAttribute(holder, op, attribute, value);
    if (extension !== undefined && Object.keys(holder).length === 0) delete resource[extension];
    else if (extension !== undefined) resource[extension] = holder;
  }
}

function placeOf(type: ResourceType, name: string): Place {
  const place = findAttribute(type, name);
  if (place === undefined) throw new ScimError(400, `there is no attribute ${JSON.stringify(name)}`, "invalidPath");
  return place;
}

/** The values of an attribute. */
function listOf(holder: Json, { name }: Attribute): readonly Json[] {
  return (holder[name] as readonly Json[] | undefined) ?? [];
}

/** An operation on a whole attribute. */
function applyAttribute(holder: Json, op: Operation["op"], attribute: Attribute, given: unknown): void {
  const { name, multiValued = false, required = false, type } = attribute;
  if (op === "remove") {
    if (required) throw new ScimError(400, `${name} is required`, "mutability");
    // Entra ID names the members to remove by the value.
    const isPart = multiValued && given !== undefined && given !== null;
    const gone = isPart ? ((readValue(attribute, given, name) ?? []) as Json[]) : undefined;
    setValue(holder, name, gone && without(listOf(holder, attribute), gone));
    return;
  }
  const value = readValue(attribute, given, name);
  if (op === "add" && value === undefined) return;
  if (required && value === undefined) throw new ScimError(400, `${name} is required`, "invalidValue");
  if (multiValued && op === "add") setList(holder, attribute, joined(listOf(holder, attribute), value as Json[]));
  else if (type === "complex" && !multiValued && value !== undefined)
    setValue(holder, name, { ...(holder[name] as Json | undefined), ...(value as Json) });
  else setValue(holder, name, value);
}

/** An operation on a part of an attribute: of each of its values. */
function applySub(holder: Json, op: Operation["op"], attribute: Attribute, sub: Attribute, given: unknown): void {
  const { name, multiValued = false } = attribute;
  const value = op === "remove" ? undefined : readValue(sub, given, `${name}.${sub.name}`);
  if (!multiValued) {
    setValue(holder, name, withSub(holder[name] as Json | undefined, sub.name, value));
    return;
  }
  const before = listOf(holder, attribute);
  const items = before.length === 0 && value !== undefined ? [{}] : before;
  setValue(
    holder,
    name,
    items.map((item) => withSub(item, sub.name, value)).filter((item) => item !== undefined),
  );
}

/** An operation on the values that meet a filter, or on a part of them. */
function applyFiltered(
  holder: Json,
  op: Operation["op"],
  attribute: Attribute,
  sub: Attribute | undefined,
  { filter, lookup }: { readonly filter: Filter; readonly lookup: Lookup },
  given: unknown,
): void {
  const { name } = attribute;
  if (attribute.multiValued !== true) throw new ScimError(400, `${name} has one value only`, "invalidPath");
  const items = listOf(holder, attribute);
  const isMeant = items.map((item) => meets(item, filter, lookup));
  const read = () =>
    sub === undefined ? readValue(attribute, given, name) : readValue(sub, given, `${name}.${sub.name}`);
  const value = op === "remove" ? undefined : read();
  if (sub === undefined && Array.isArray(value) && value.length > 1)
    throw new ScimError(400, `${name} with a filter takes one value`, "invalidValue");
  const change = (item: Json): Json | undefined => {
    if (sub !== undefined) return withSub(item, sub.name, value);
    return op === "remove" ? undefined : { ...item, ...(value as Json[] | undefined)?.[0] };
  };
  if (op === "remove" || isMeant.includes(true)) {
    const changed = items.flatMap((item, i) => (isMeant[i] ? (change(item) ?? []) : [item]));
    setValue(holder, name, op === "remove" ? changed : readValue(attribute, changed, name));
    return;
  }
  // What the filter says about a value that is added: Entra ID adds, and replaces, `emails[type eq "work"].value` so.
  const described = descriptionOf(filter);
  if (described === undefined || (op === "replace" && sub === undefined))
    throw new ScimError(400, `no value of ${name} meets the filter`, "noTarget");
  if (value === undefined) return;
  setList(holder, attribute, joined(items, readValue(attribute, [change(described) ?? {}], name) as Json[]));
}

/** The value that a filter describes by equalities alone. */
function descriptionOf(filter: Filter): Json | undefined {
  if (filter.kind === "compare" && filter.operator === "eq") return { [filter.path]: filter.value };
  if (filter.kind !== "and") return undefined;
  const [left, right] = [descriptionOf(filter.left), descriptionOf(filter.right)];
  return left && right && { ...left, ...right };
}

function setValue(holder: Json, name: string, value: unknown): void {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) delete holder[name];
  else holder[name] = value;
}

/** Sets values that have become more. Errors: ScimError for too many. */
function setList(holder: Json, attribute: Attribute, values: readonly Json[]): void {
  checkCount(attribute, values.length, attribute.name);
  setValue(holder, attribute.name, values);
}

function withSub(item: Json | undefined, name: string, value: unknown): Json | undefined {
  const { [name]: _, ...others } = item ?? {};
  const changed = value === undefined ? others : { ...others, [name]: value };
  return Object.keys(changed).length === 0 ? undefined : changed;
}

/**
 * Values by what they are known by: `value` and `type`, or `value` alone where one of two has no type, or the whole
 * where they have no value.
 */
class Values {
  readonly #indexes = new Map<string, number>();

  constructor(items: readonly Json[]) {
    for (const [i, item] of items.entries()) this.note(item, i);
  }

  /** Notes a value, unless one that is the same is known. */
  note({ value, type, ...others }: Json, index: number): void {
    const any = JSON.stringify([value]);
    const keys =
      value === undefined ? [JSON.stringify({ type, ...others })] : [any, JSON.stringify([value, type ?? 0])];
    for (const key of keys) if (!this.#indexes.has(key)) this.#indexes.set(key, index);
  }

  /** The index of the value that is the same. */
  find({ value, type, ...others }: Json): number | undefined {
    if (value === undefined) return this.#indexes.get(JSON.stringify({ type, ...others }));
    if (type === undefined) return this.#indexes.get(JSON.stringify([value]));
    return this.#indexes.get(JSON.stringify([value, type])) ?? this.#indexes.get(JSON.stringify([value, 0]));
  }
}

/** The values with those that are new. */
function joined(before: readonly Json[], added: readonly Json[]): Json[] {
  const hasPrimary = added.some(({ primary }) => primary === true);
  const items = before.map((item) => (hasPrimary && item.primary === true ? { ...item, primary: false } : item));
  const known = new Values(items);
  for (const item of added) {
    const same = known.find(item);
    if (same !== undefined) items[same] = { ...items[same], ...item };
    else known.note(item, items.push(item) - 1);
  }
  return items;
}

function without(before: readonly Json[], gone: readonly Json[]): Json[] {
  const known = new Values(gone);
  return before.filter((item) => known.find(item) === undefined);
}
