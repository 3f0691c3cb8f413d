/** What must hold of a resource before it is stored. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { violationsOf } from "../contract/index.ts";
import { alreadyExists, invalid } from "../errors.ts";
import type { ReadSession, Row, ScalarValue } from "../store/index.ts";
import { databaseOf, transactionOf } from "./call-environment.ts";
import type { Change, Resource } from "./declaration.ts";
import type { FieldPath } from "./field-mask.ts";

/**
 * Checks the value rules of what a change names, then the rules of the resource itself.
 * Errors: INVALID_ARGUMENT, and whatever the resource's `check` throws.
 */
export async function checkChange<R extends DescMessage>(
  resource: Resource<R>,
  change: Change<MessageShape<R>>,
  context: HandlerContext,
): Promise<void> {
  const { schema, check } = resource.declaration;
  const violations = violationsOf(schema, change.after, (path) => concerns(change.paths, path));
  if (violations.length > 0) throw invalid(violations);
  await check?.(change, context);
}

/** Checks the columns that are unique together below a parent. Errors: ALREADY_EXISTS, naming the other resource. */
export async function requireUnique(
  resource: Resource,
  parent: string,
  uid: string,
  columns: Row["columns"],
  context: HandlerContext,
): Promise<void> {
  const where = resource.declaration.unique?.map((column) => ({ column, equals: columns[column] as ScalarValue }));
  // An index decides about concurrent changes. Who loses looks for the other row.
  if (where === undefined || !transactionOf(context).checksNames) return;
  const other = await uidOfChild(resource, parent, where, databaseOf(context));
  if (other === undefined || other === uid) return;
  const what = where.map(({ column, equals }) => `${column} ${JSON.stringify(equals)}`).join(" and ");
  throw alreadyExists({ type: resource.contract.type, uid: other }, what);
}

/** Whether a rule at `rule` is about something that one of `paths` names. A rule of a oneof is about its members. */
function concerns(paths: readonly FieldPath[] | undefined, rule: readonly { kind: string }[]): boolean {
  if (paths === undefined) return true;
  return paths.some((path) => {
    for (const [depth, field] of path.entries()) {
      const part = rule[depth];
      if (part === undefined || part.kind === "list_sub" || part.kind === "map_sub") return true;
      if (part !== field) return part.kind === "oneof" && Object.is(field.oneof, part);
    }
    return true;
  });
}

/** The uid of the child of a parent that has these values, which are unique together. */
async function uidOfChild(
  { table }: Resource,
  parent: string,
  where: readonly { readonly column: string; readonly equals: ScalarValue }[],
  session: ReadSession,
): Promise<string | undefined> {
  const [first, ...more] = where;
  if (first !== undefined && more.length === 0) return session.childUid(table, parent, first.column, first.equals);
  return (await session.first(table, { parent, where, columns: [] }))?.uid;
}
