/** Uids of resources by their names and paths. */

import { getOption } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { isUid } from "../../uid.ts";
import { findResource, findType, parentKind } from "../catalog/contract.ts";
import { type ResourceEntry, uidType } from "../catalog/resources.ts";
import type { Session } from "../session/session.ts";
import { Paths } from "./paths.ts";
import { listResources, type Resource } from "./requests.ts";

/** Of the resources with one name, at most so many are listed. */
const maxTold = 10;

/**
 * The uid of the resource of a type that `text` names; a uid is returned as it is. A name may have the names of what it
 * is in before it: `team/prod/nginx`, or `/acme/team/prod/nginx` from the root on.
 * @param type `iam.platform.internal/Role`. @param parent the uid of what the path begins in; "" for anywhere.
 * Errors: CommandFailure if there is none or are several.
 */
export async function uidOf(session: Session, type: string, text: string, parent = ""): Promise<string> {
  if (isUid(text)) return text;
  const resource = findType(type);
  if (resource?.methods.List?.input.field.name === undefined)
    throw new CommandFailure(`${text} is not a uid, and ${resource?.plural ?? type} have no names`, 2);
  const [first, ...others] = await resourcesAt(session, resource, text, parent);
  const where = parent === "" ? "" : " in --parent";
  if (first === undefined) throw new CommandFailure(`no ${resource.singular} is named ${text}${where}`, 3);
  if (others.length === 0) return first.uid;
  const count = others.length + 1;
  const told = await pathsOf(session, resource, [first, ...others].slice(0, maxTold));
  throw new CommandFailure(
    `${count} ${resource.plural} are named ${text}${where}: ${told.join(", ")}${count > maxTold ? ", …" : ""}`,
    2,
  );
}

/**
 * The uid of a resource that `text` names; `text` itself for a kind that is imported, with ids of its own. Of the only
 * one in its parent, the name is that of the parent. Errors: like those of {@link uidOf}.
 * @param parent the uid or the name of what it is in; undefined for anywhere.
 */
export async function uidOfResource(
  session: Session,
  resource: ResourceEntry,
  text: string,
  parent?: string,
): Promise<string> {
  const named = findType(uidType(resource));
  if (named?.methods.Create === undefined || isUid(text)) return text;
  return uidOf(session, named.type, text, parent === undefined ? "" : await uidOfParent(session, named, parent));
}

/** The uid of what a resource is in, by its name. Groups are meant where it may be of any kind. */
export async function uidOfParent(session: Session, resource: ResourceEntry, text: string): Promise<string> {
  return uidOf(session, (parentKind(resource) ?? findResource("group"))?.type ?? "", text);
}

/** Whether a path is that of a text, or ends with it. */
export function endsWith(path: string | undefined, text: string): boolean {
  return path !== undefined && (text.startsWith("/") ? path === text : `/${path}`.endsWith(`/${text}`));
}

/** What may be the name in a path, from the shortest on: `nginx`, `library/nginx`. */
export function namesIn(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, i) => parts.slice(-i - 1).join("/")).filter((name) => name !== "" && !name.startsWith("/"));
}

async function resourcesAt(
  session: Session,
  resource: ResourceEntry,
  text: string,
  parent: string,
): Promise<readonly Resource[]> {
  const names = text.includes("/") ? await possibleNames(resource, text) : [text];
  const places = parent === "" ? [{}] : [{ uidp: { descendantsOf: parent } }, { uidp: { ids: [parent] } }];
  const requests = names.flatMap((name) => places.map((place) => ({ name, ...place })));
  const found = (await Promise.all(requests.map((request) => listResources(session, resource, request)))).flat();
  if (parent === "" && !text.includes("/")) return found;
  const paths = await loadPaths(session, resource, found);
  return found.filter(({ uid }) =>
    parent === "" ? endsWith(paths.pathOf(resource, uid), text) : paths.pathOf(resource, uid, parent) === text,
  );
}

/** The names in a path that a resource of the kind can have. */
async function possibleNames({ schema }: ResourceEntry, path: string): Promise<string[]> {
  const { field: rules } = await import("@bufbuild/protovalidate/gen/buf/validate/validate_pb.js");
  const { type } = getOption(schema.field.name!, rules);
  if (type.case !== "string") return namesIn(path);
  const { pattern, maxLen } = type.value;
  const longest = maxLen === 0n ? Number.POSITIVE_INFINITY : Number(maxLen);
  return namesIn(path).filter((name) => new RegExp(pattern).test(name) && name.length <= longest);
}

async function loadPaths(session: Session, resource: ResourceEntry, found: readonly Resource[]): Promise<Paths> {
  const paths = Paths.of(session);
  paths.note(resource, found);
  await paths.load(
    resource,
    found.map(({ uid }) => uid),
  );
  return paths;
}

/** The paths of resources; those of several with their uids. */
async function pathsOf(session: Session, resource: ResourceEntry, found: readonly Resource[]): Promise<string[]> {
  const paths = await loadPaths(session, resource, found);
  const texts = found.map(({ uid }) => paths.pathOf(resource, uid) ?? uid);
  return texts.map((text, i) =>
    texts.indexOf(text) === texts.lastIndexOf(text) ? text : `${text} (${found[i]!.uid})`,
  );
}
