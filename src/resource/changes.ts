/** The changes of a call: every row of a resource that it makes, changes or removes is noted here, so that whoever records what happened misses none. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Grant } from "../auth/index.ts";
import { andThen, type Eventually } from "../eventually.ts";
import type { ReadSession, Row } from "../store/index.ts";
import { environmentOf, transactionOf } from "./call.ts";
import type { Resource } from "./declaration.ts";
import { messageOf } from "./record.ts";

/** What happened to a row. */
export interface RowChange {
  readonly kind: "created" | "updated" | "deleted";
  readonly resource: Resource;
  /** As it is now; as it was, when it is deleted. */
  readonly row: Row;
}

type WithValues = Pick<HandlerContext, "values">;

/** What the call has changed so far, in order. */
export function changesOf(context: WithValues): readonly RowChange[] {
  return environmentOf(context).changes;
}

/** Stores a new row. Errors: NotUniqueError. */
export async function insertRow(resource: Resource, row: Omit<Row, "version">, context: WithValues): Promise<Row> {
  return noted("created", resource, await transactionOf(context).insert(resource.table, row), context);
}

/** Stores a row that has been read and changed. Errors: StaleError, NotUniqueError. */
export async function updateRow(resource: Resource, row: Row, context: WithValues): Promise<Row> {
  return noted("updated", resource, await transactionOf(context).update(resource.table, row), context);
}

/** Removes a row and gives what it was; undefined when there is none. */
export async function removeRow(resource: Resource, uid: string, context: WithValues): Promise<Row | undefined> {
  const row = await transactionOf(context).remove(resource.table, uid);
  return row && noted("deleted", resource, row, context);
}

/** A row as a client with these grants sees it: hydrated. */
export function hydrated<R extends DescMessage>(
  resource: Resource<R>,
  row: Row,
  session: ReadSession,
  grants: readonly Grant[],
): Eventually<MessageShape<R>> {
  return andThen(hydratedAll(resource, [row], session, grants), ([message]) => message!);
}

/** Rows as such a client sees them, in their order. */
export function hydratedAll<R extends DescMessage>(
  resource: Resource<R>,
  rows: readonly Row[],
  session: ReadSession,
  grants: readonly Grant[],
): Eventually<MessageShape<R>[]> {
  const messages = rows.map((row) => messageOf(resource, row));
  const { hydrate } = resource.declaration;
  return hydrate === undefined ? messages : andThen(hydrate(messages, rows, session, grants), () => messages);
}

function noted(kind: RowChange["kind"], resource: Resource, row: Row, context: WithValues): Row {
  environmentOf(context).changes.push({ kind, resource, row });
  return row;
}
