/** What a PATCH does to the members of a group. They are rows, so they are not read for it. */
import { ScimError } from "./errors.ts";
import type { Filter } from "./filter.ts";
import { isObject, type Operation, Paths } from "./operations.ts";
import { checkCount, findAttribute, type Json, readValue } from "./resource.ts";
import type { ResourceType } from "./schemas.ts";

/** A change of members, by the ids of users. */
export interface MemberChange {
  /** Whether the members before it are removed. */
  isWhole: boolean;
  readonly added: Set<string>;
  readonly removed: Set<string>;
}

/** The members of a resource that a client has sent. Errors: ScimError for one without an id. */
export function idsOf(members: unknown): string[] {
  return ((members ?? []) as Json[]).map(({ value }) => {
    if (typeof value !== "string") throw new ScimError(400, "members need a value, the id of a user", "invalidValue");
    return value;
  });
}

/** A change that leaves exactly these members. */
export function membersAre(members: unknown): MemberChange {
  return { isWhole: true, added: new Set(idsOf(members)), removed: new Set() };
}

/**
 * Separates what operations do to members from what else they do. Undefined if that depends on what the members are.
 * Errors: ScimError.
 */
export function separateMembers(
  type: ResourceType,
  operations: readonly Operation[],
): { readonly change: MemberChange; readonly others: readonly Operation[] } | undefined {
  const paths = new Paths();
  const change: MemberChange = { isWhole: false, added: new Set(), removed: new Set() };
  const others: Operation[] = [];
  const isMembers = (name: string) => findAttribute(type, name)?.attribute.name === "members";
  for (const operation of operations) {
    const { op, path, value } = operation;
    if (path === undefined) {
      if (op === "remove" || !isObject(value)) return { change, others: [...others, operation] }; // which is refused
      const entries = Object.entries(value);
      for (const [name, item] of entries) if (isMembers(name)) apply(type, change, op, undefined, item);
      const rest = entries.filter(([name]) => !isMembers(name));
      others.push({ op, path, value: Object.fromEntries(rest) });
      continue;
    }
    const { attribute, filter, subAttribute } = paths.parse(path);
    if (!isMembers(attribute)) others.push(operation);
    else if (subAttribute !== undefined) return undefined;
    else if (filter === undefined) apply(type, change, op, undefined, value);
    else {
      const id = op === "remove" ? idIn(filter) : undefined;
      if (id === undefined) return undefined;
      apply(type, change, op, id, value);
    }
  }
  return { change, others };
}

/** `members[value eq "id"]`. */
function idIn(filter: Filter): string | undefined {
  const isId = filter.kind === "compare" && filter.operator === "eq" && filter.path.toLowerCase() === "value";
  return isId && typeof filter.value === "string" ? filter.value : undefined;
}

function apply(type: ResourceType, change: MemberChange, op: Operation["op"], id: string | undefined, value: unknown) {
  const { attribute } = findAttribute(type, "members")!;
  const ids = id === undefined ? idsOf(readValue(attribute, value, attribute.name)) : [id];
  const isAll = op === "remove" && id === undefined && (value === undefined || value === null);
  if (isAll || op === "replace") {
    change.isWhole = true;
    change.added.clear();
    change.removed.clear();
  }
  for (const each of ids) {
    change[op === "remove" ? "added" : "removed"].delete(each);
    if (op !== "remove") change.added.add(each);
    else if (!change.isWhole) change.removed.add(each);
  }
  checkCount(attribute, change.added.size, attribute.name);
}
