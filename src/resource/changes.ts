/** Writing rows. Every row that a call creates, updates or deletes is recorded, so that its events are complete. */

import type { HandlerContext } from "@connectrpc/connect";
import type { Row } from "../store/index.ts";
import { environmentOf, transactionOf } from "./call-environment.ts";
import type { Resource, RowChange } from "./declaration.ts";

type WithValues = Pick<HandlerContext, "values">;

/** The changes of the call so far, in order. */
export function changesOf(context: WithValues): readonly RowChange[] {
  return environmentOf(context).changes;
}

/** Stores a new row. Errors: NotUniqueError. */
export async function insertRow(resource: Resource, row: Omit<Row, "version">, context: WithValues): Promise<Row> {
  return record("created", resource, await transactionOf(context).insert(resource.table, row), context);
}

/** Stores a row that has been read and changed. Errors: StaleError, NotUniqueError. */
export async function updateRow(resource: Resource, row: Row, context: WithValues): Promise<Row> {
  return record("updated", resource, await transactionOf(context).update(resource.table, row), context);
}

/** Removes a row and returns it as it was; undefined when it does not exist. Errors: those of `checkRemoval`. */
export async function removeRow(resource: Resource, uid: string, context: WithValues): Promise<Row | undefined> {
  const row = await transactionOf(context).remove(resource.table, uid);
  if (row === undefined) return undefined;
  await resource.declaration.checkRemoval?.(row, context);
  return record("deleted", resource, row, context);
}

/** Takes the changes that the saving of feeds makes for a call. */
export function recordIn(context: WithValues): (change: RowChange) => void {
  const { changes } = environmentOf(context);
  return (change) => changes.push(change);
}

function record(kind: RowChange["kind"], resource: Resource, row: Row, context: WithValues): Row {
  environmentOf(context).changes.push({ kind, resource, row });
  return row;
}
