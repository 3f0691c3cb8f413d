/**
 * Storing the resources of feeds: whole messages, without a caller or a mask. Rows that are equal already are not
 * written.
 */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { keepDistinct, nulViolations, violationsOf } from "../../contract/index.ts";
import { invalid, notFound } from "../../errors.ts";
import type { Row, TableSpec, WriteSession } from "../../store/index.ts";
import type { Resource, RowChange } from "../declaration.ts";
import { type Content, contentOf, newRow } from "../row-mapping.ts";

/** The result of storing a message. */
export type Saved = "added" | "changed" | "unchanged";

/** A change of an importer. */
export interface SavedChange extends RowChange {
  /** The row before an update. */
  readonly before?: Row;
}

/** A message of a feed and its place. */
interface SaveRequest<M> {
  readonly uid: string;
  readonly parent: string;
  readonly message: M;
  /** The time of the change, in milliseconds since 1970. */
  readonly nowMs: number;
  /** The creation time of a row that is added, if the feed knows it; `nowMs` otherwise. */
  readonly createTimeMs?: number;
  /** The row with this uid if it has been read already, undefined when there is none. When absent, it is read. */
  readonly existing?: Row | undefined;
  /** Whether the importer writes the parent in the same transaction, later. */
  readonly isPart?: boolean;
  /** Called after a row was written. */
  onChange?(change: SavedChange): void;
}

/**
 * Stores a whole message in a transaction of the importer. The `check` of the resource does not run, since there is no
 * caller.
 * Errors: INVALID_ARGUMENT for a value rule, before anything is written; NotUniqueError.
 */
export async function saveResource<R extends DescMessage>(
  resource: Resource<R>,
  session: WriteSession,
  request: SaveRequest<MessageShape<R>>,
): Promise<Saved> {
  const { table } = resource;
  const { uid, parent, message, nowMs, createTimeMs = nowMs } = request;
  const content = preparedContent(resource, message);
  const existing = "existing" in request ? request.existing : await session.get(table, uid);
  const updateTimeUs = nowMs * 1000;
  if (existing === undefined) {
    const { parent: owner } = resource.declaration;
    if (owner !== undefined && request.isPart !== true && !(await session.hold(owner.table, parent)))
      throw notFound({ type: owner.contract.type, uid: parent });
    const row = await session.insert(table, {
      uid,
      parent,
      createTimeUs: createTimeMs * 1000,
      updateTimeUs,
      ...content,
    });
    request.onChange?.({ kind: "created", resource, row });
    return "added";
  }
  if (isSame(existing, content)) return "unchanged";
  const row = await session.update(table, { ...existing, ...content, updateTimeUs });
  request.onChange?.({ kind: "updated", resource, row, before: existing });
  return "changed";
}

/** Stores a row that has no message, unless its body is stored already. `stored`: the row with its uid, if any. */
export async function saveContent(
  session: WriteSession,
  table: TableSpec,
  row: Pick<Row, "uid" | "parent" | "body" | "columns">,
  nowMs: number,
  stored: Row | undefined,
): Promise<Saved> {
  if (stored !== undefined && Buffer.compare(stored.body, row.body) === 0) return "unchanged";
  if (stored === undefined) await session.insert(table, newRow(row.uid, row.parent, nowMs, row));
  else await session.update(table, { ...stored, ...row, updateTimeUs: nowMs * 1000 });
  return stored === undefined ? "added" : "changed";
}

/**
 * Does the part of {@link saveResource} that needs no database, ahead of the transaction, to keep the transaction
 * short. The message must not be changed afterwards. Errors: INVALID_ARGUMENT for a value rule.
 */
export function prepareResource<R extends DescMessage>(resource: Resource<R>, message: MessageShape<R>): void {
  prepared.set(message, checkedContent(resource, message));
}

/** The columns of a message. Errors: INVALID_ARGUMENT for a value rule. */
export function preparedContent<R extends DescMessage>(resource: Resource<R>, message: MessageShape<R>): Content {
  return prepared.get(message) ?? checkedContent(resource, message);
}

const prepared = new WeakMap<Message, Content>();

function checkedContent<R extends DescMessage>(resource: Resource<R>, message: MessageShape<R>): Content {
  const { schema } = resource.declaration;
  keepDistinct(schema, message);
  const violations = [...violationsOf(schema, message), ...nulViolations(schema, message)];
  if (violations.length > 0) throw invalid(violations);
  return contentOf(resource, message);
}

function isSame(row: Row, { body, columns }: Content): boolean {
  if (Buffer.compare(row.body, body) !== 0) return false;
  return Object.entries(columns).every(([name, value]) => JSON.stringify(row.columns[name]) === JSON.stringify(value));
}
