/** What a filter says that an index finds, so that few resources are looked at: clients look up what they create. */
import { groupsWith, membersOf, type Narrowing } from "../services/index.ts";
import type { ReadSession } from "../store/index.ts";
import type { Filter } from "./filter.ts";
import { limits } from "./limits.ts";
import type { ResourceType } from "./schemas.ts";

/** The equalities that a filter demands, by attribute in lower case: `members.value` for `members[value eq "a"]`. */
function equalitiesOf(type: ResourceType, filter: Filter): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const prefix = `${type.schema.id.toLowerCase()}:`;
  const visit = (each: Filter, within: string): void => {
    if (each.kind === "and") {
      visit(each.left, within);
      visit(each.right, within);
    } else if (each.kind === "value" && within === "") visit(each.filter, `${each.path}.`);
    else if (each.kind === "compare" && each.operator === "eq" && typeof each.value === "string") {
      const name = `${within}${each.path}`.toLowerCase();
      found.set(name.startsWith(prefix) ? name.slice(prefix.length) : name, each.value);
    }
  };
  visit(filter, "");
  return found;
}

/** What to look at for a filter; undefined: everything. */
export async function narrow(
  session: ReadSession,
  provider: string,
  type: ResourceType,
  filter: Filter,
): Promise<Narrowing | undefined> {
  const equalities = equalitiesOf(type, filter);
  const id = equalities.get("id");
  if (id !== undefined) return { uids: isId(id) ? [`${provider}/${id}`] : [] };
  const [userName, externalId] = [equalities.get("username"), equalities.get("externalid")];
  if (type.id === "User" && userName !== undefined) return { equals: { user_name: userName.toLowerCase() } };
  if (externalId !== undefined) return { equals: { external_id: externalId } };
  const other = demandedId(type, filter);
  if (other === undefined) return undefined;
  const uid = `${provider}/${other}`;
  if (!isId(other)) return { uids: [] };
  return {
    uids: type.id === "Group" ? await groupsWith(session, uid, limits.examined) : await membersOf(session, uid),
  };
}

/** Whether a text has the form of an id. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text);
}

/** How often a filter needs what other entries define: the members of a group, the groups of a user. */
export function derivedMentions(filter: Filter): number {
  return mentions(filter, /(^|:)(members|groups)\b/i);
}

/** How often a filter asks for attributes whose paths a pattern matches. */
export function mentions(filter: Filter, paths: RegExp): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return mentions(filter.left, paths) + mentions(filter.right, paths);
    case "not":
      return mentions(filter.of, paths);
    default:
      return paths.test(filter.path) ? 1 : 0;
  }
}

/**
 * The id that a filter demands among the members of a group or the groups of a user, if it asks for nothing else of
 * them.
 */
export function demandedId(type: ResourceType, filter: Filter): string | undefined {
  const list = type.id === "Group" ? "members" : "groups";
  const equalities = equalitiesOf(type, filter);
  return derivedMentions(filter) === 1 ? (equalities.get(list) ?? equalities.get(`${list}.value`)) : undefined;
}
