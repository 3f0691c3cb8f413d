/** Delete (AIP-135): what it removes besides the row, and what it is refused for, follows from the declarations. */
import { create, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { failedPrecondition } from "../errors.ts";
import type { Selection } from "../store/index.ts";
import { databaseOf, transactionOf } from "./call-environment.ts";
import { removeRow } from "./changes.ts";
import type { Resource } from "./declaration.ts";
import { checkEtag, findRowToRemove } from "./get.ts";

/** The children and parts of each resource, in the order in which they were linked. */
const linked = new WeakMap<Resource, Set<Resource>>();

/** Links a resource to its parent and to what it is a part of. */
export function linkDependents(resource: Resource): void {
  const { parent, partOf, nestsInItself } = resource.declaration;
  for (const owner of [parent, partOf, nestsInItself && resource]) {
    if (owner === undefined) continue;
    const dependents = linked.get(owner) ?? new Set();
    linked.set(owner, dependents.add(resource));
  }
}

/**
 * Deletes a resource with what its deletion cascades to. `force` cascades to what would block it, too.
 * Errors: NOT_FOUND, FAILED_PRECONDITION while there are children that block, ABORTED for a stale etag.
 */
export async function removeResource(
  resource: Resource,
  { uid, etag, force = false }: { uid: string; etag?: string; force?: boolean },
  context: HandlerContext,
): Promise<void> {
  const row = await findRowToRemove(resource, uid, context);
  const { blocking, cascading } = dependentsOf(resource, force);
  // Nobody adds anything below what will be removed.
  for (const dependent of cascading) if (linked.has(dependent)) await lockBelow(dependent, uid, context);
  await requireNoChildren(resource, uid, blocking, context);
  checkEtag(row, etag, context);
  const within = [{ root: uid, self: true }]; // a part has the same uid
  for (const dependent of cascading) await removeSelected(dependent, { within }, context);
  await removeRow(resource, uid, context);
}

async function lockBelow({ table }: Resource, uid: string, context: HandlerContext): Promise<void> {
  await transactionOf(context).lockBelow(table, uid);
}

/** Deletes every selected row. */
export async function removeSelected(resource: Resource, selection: Selection, context: HandlerContext): Promise<void> {
  for await (const rows of databaseOf(context).pages(resource.table, { ...selection, limit: 200 }))
    for (const { uid } of rows) await removeRow(resource, uid, context);
}

/** The method of a resource. */
export function standardDelete(resource: Resource) {
  return async (request: Message & { uid: string; etag?: string; force?: boolean }, context: HandlerContext) => {
    await removeResource(resource, request, context);
    return create(EmptySchema);
  };
}

/** What the deletion of a resource meets below it, at every depth: what blocks it, and what is deleted with it. */
function dependentsOf(resource: Resource, isForced: boolean) {
  const blocking = new Set<Resource>();
  const cascading = new Set<Resource>();
  const collect = (owner: Resource) => {
    for (const dependent of linked.get(owner) ?? []) {
      const { onParentDelete, partOf } = dependent.declaration;
      if (onParentDelete === "block" && partOf !== owner && !isForced) blocking.add(dependent);
      else if (!cascading.has(dependent)) {
        cascading.add(dependent);
        collect(dependent);
      }
    }
  };
  collect(resource);
  return { blocking, cascading };
}

async function requireNoChildren(
  { contract }: Resource,
  uid: string,
  blocking: ReadonlySet<Resource>,
  context: HandlerContext,
): Promise<void> {
  const within = [{ root: uid, self: false }];
  const violations = [];
  for (const child of blocking) {
    if (!(await databaseOf(context).exists(child.table, { within }))) continue;
    violations.push({
      type: "RESOURCE_NOT_EMPTY",
      subject: uid,
      description: `cannot delete ${wordsOf(contract.kind)} with child ${wordsOf(child.contract.plural)}`,
    });
  }
  if (violations.length > 0) throw failedPrecondition(violations);
}

/** `identityProviders` as words: `identity providers`. */
function wordsOf(name: string): string {
  return name.replace(/\B[A-Z]/g, " $&").toLowerCase();
}
