/** Storing what somebody else's feed says of a resource: no caller, no mask, the whole message, and nothing written that is so already. */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { keepDistinct, nulViolations, violationsOf } from "../contract/index.ts";
import { invalid } from "../errors.ts";
import type { Row, WriteSession } from "../store/index.ts";
import type { Resource } from "./declaration.ts";
import { contentOf } from "./record.ts";

/** What storing a message came to. */
export type Saved = "added" | "changed" | "unchanged";

/** A message of a feed and where it belongs. */
export interface SaveRequest<M> {
  readonly uid: string;
  readonly parent: string;
  readonly message: M;
  /** The time of the change, in milliseconds since 1970. */
  readonly nowMs: number;
  /** When a row that is added was made, where the feed knows; `nowMs` otherwise. */
  readonly createTimeMs?: number;
  /** The row with this uid, where it has been read already; undefined when there is none. Left out, it is read here. */
  readonly existing?: Row | undefined;
}

/**
 * Stores a message whole, in a transaction of the importer's. The resource's own `check` does not run: it is about callers.
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
    await session.insert(table, { uid, parent, createTimeUs: createTimeMs * 1000, updateTimeUs, ...content });
    return "added";
  }
  if (isSame(existing, content)) return "unchanged";
  await session.update(table, { ...existing, ...content, updateTimeUs });
  return "changed";
}

/**
 * Does ahead of the transaction what {@link saveResource} does beside asking the database: nobody waits for it then. The message must not be changed
 * any more. Errors: INVALID_ARGUMENT for a value rule.
 */
export function prepareResource<R extends DescMessage>(resource: Resource<R>, message: MessageShape<R>): void {
  prepared.set(message, checkedContent(resource, message));
}

/** What a message comes to in its row. Errors: INVALID_ARGUMENT for a value rule. */
export function preparedContent<R extends DescMessage>(resource: Resource<R>, message: MessageShape<R>): Content {
  return prepared.get(message) ?? checkedContent(resource, message);
}

type Content = ReturnType<typeof contentOf>;

const prepared = new WeakMap<Message, Content>();

function checkedContent<R extends DescMessage>(resource: Resource<R>, message: MessageShape<R>): Content {
  const { schema } = resource.declaration;
  keepDistinct(schema, message);
  const violations = [...violationsOf(schema, message), ...nulViolations(schema, message)];
  if (violations.length > 0) throw invalid(violations);
  return contentOf(resource, message);
}

function isSame(row: Row, { body, facets }: Pick<Row, "body" | "facets">): boolean {
  if (Buffer.compare(row.body, body) !== 0) return false;
  return Object.entries(facets).every(([name, value]) => JSON.stringify(row.facets[name]) === JSON.stringify(value));
}
