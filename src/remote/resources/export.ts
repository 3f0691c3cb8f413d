/** `platform export documents`: a group and everything below it, as documents in the order of dependence. */
import { isFieldSet } from "@bufbuild/protobuf";
import { Command } from "commander";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { contractCatalog, findResource, findType, parentKind } from "../catalog/contract.ts";
import { hasNames, type ResourceEntry, uidType } from "../catalog/resources.ts";
import { isSingleton } from "../documents/identity.ts";
import { uidOf } from "../documents/lookup.ts";
import { getResource, listResources, type Resource } from "../documents/requests.ts";
import { documentTexts, type Listed } from "../documents/write.ts";
import { printDocuments } from "../print/print.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { settableFields } from "./fields.ts";

/** How many singletons are read at the same time. */
const concurrency = 8;

export function makeCommand(): Command {
  const command = withSession(new Command("documents"))
    .description(
      "Print a group and everything below it as documents for `platform apply`, as far as you may list it: each after " +
        "what it refers to.",
    )
    .requiredOption("--below <UID|NAME>", "the group");
  return command.action(({ below }: { readonly below: string }) =>
    inSession(command, async (session) => {
      const lists = await readAll(session, await uidOf(session, findResource("group")!.type, below));
      await printDocuments(await documentTexts(session, lists, true));
    }),
  );
}

/** The group and what is below it, kind by kind. */
async function readAll(session: Session, uid: string): Promise<Listed[]> {
  const lists: Listed[] = [];
  for (const resource of kindsInOrder()) {
    const items = isSingleton(resource)
      ? await readSingletons(session, resource, lists)
      : [
          ...(await listResources(session, resource, { uidp: { ids: [uid] } })), // also a part of the group
          ...(await listResources(session, resource, { uidp: { descendantsOf: uid } })),
        ];
    lists.push({ resource, items });
  }
  return lists;
}

/** Those of which each resource of another kind has one, without those that have never been written. */
async function readSingletons(
  session: Session,
  resource: ResourceEntry,
  lists: readonly Listed[],
): Promise<Resource[]> {
  const parents = lists.find((it) => it.resource.type === uidType(resource))?.items ?? [];
  const found: Resource[] = [];
  for (let i = 0; i < parents.length; i += concurrency)
    found.push(
      ...(await Promise.all(parents.slice(i, i + concurrency).map(({ uid }) => getResource(session, resource, uid)))),
    );
  return found.filter((item) => settableFields(resource.schema).some((field) => isFieldSet(item, field)));
}

/** The kinds that documents describe, each after those that it refers to. */
function kindsInOrder(): ResourceEntry[] {
  const ordered = new Set<ResourceEntry>();
  const visiting = new Set<ResourceEntry>();
  const add = (resource: ResourceEntry) => {
    if (visiting.has(resource) || !isExported(resource)) return;
    visiting.add(resource);
    const types = resource.schema.fields.map((field) => getOption(field, resource_reference).type);
    for (const other of [findType(uidType(resource)), parentKind(resource), ...types.map(findType)])
      if (other !== undefined) add(other);
    ordered.add(resource);
  };
  for (const resource of contractCatalog().resources) add(resource);
  return [...ordered];
}

/**
 * Whether another server can have it: it is created or, where each of its parents has one, found by its parent's name.
 */
function isExported(resource: ResourceEntry): boolean {
  if (!isSingleton(resource)) return resource.methods.Create !== undefined;
  const parent = findType(uidType(resource));
  return resource.methods.Update !== undefined && parent !== undefined && hasNames(parent);
}
