/** Uids of resources by their names. */
import { CommandFailure } from "../../command/index.ts";
import { isUid } from "../../uid.ts";
import { contractCatalog } from "../catalog/contract.ts";
import { hasNames, type ResourceEntry, uidType } from "../catalog/resources.ts";
import type { Session } from "../session/session.ts";
import { listResources } from "./requests.ts";

/**
 * The uid of the resource of a type that `text` names; a uid is returned as it is.
 * @param type `iam.platform.internal/Role`. Errors: CommandFailure if there is none or are several.
 */
export async function uidOf(session: Session, type: string, text: string): Promise<string> {
  if (isUid(text)) return text;
  const resource = contractCatalog().resources.find((it) => it.type === type);
  if (resource?.methods.List?.input.field.name === undefined)
    throw new CommandFailure(`${text} is not a uid, and ${resource?.plural ?? type} have no names`, 2);
  const [first, ...others] = await listResources(session, resource, { name: text });
  if (first === undefined) throw new CommandFailure(`no ${resource.singular} is named ${text}`, 3);
  if (others.length === 0) return first.uid;
  const uids = [first, ...others].map(({ uid }) => uid).join(", ");
  throw new CommandFailure(`${others.length + 1} ${resource.plural} are named ${text}: use a uid: ${uids}`, 2);
}

/**
 * The uid of a resource that `text` names; `text` itself for a kind that has no names. Of the only one in its parent, the
 * name is that of the parent. Errors: like those of {@link uidOf}.
 */
export async function uidOfResource(session: Session, resource: ResourceEntry, text: string): Promise<string> {
  const named = contractCatalog().resources.find(({ type }) => type === uidType(resource));
  return named !== undefined && hasNames(named) ? uidOf(session, named.type, text) : text;
}
