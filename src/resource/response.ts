/** Rows as they leave the server: as stored, or hydrated with what the reader may see. */
import { create, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { authorityOf } from "../auth/index.ts";
import { type Awaitable, chain } from "../awaitable.ts";
import type { ReadSession, Row } from "../store/index.ts";
import { environmentOf } from "./call-environment.ts";
import type { Resource, View } from "./declaration.ts";
import { applyPaths, readPaths } from "./field-mask.ts";
import { etagOf, messageOf } from "./row-mapping.ts";

/** The response that a row makes, hydrated; its etag is also in the `etag` header. */
export function toResponse<R extends DescMessage>(
  resource: Resource<R>,
  row: Row,
  context: HandlerContext,
): Awaitable<MessageShape<R>> {
  return chain(toResponses(resource, [row], context), ([message]) => {
    const { etag } = message as { readonly etag?: string };
    context.responseHeader.set("etag", etag || etagOf(row));
    return message!;
  });
}

/** The items that rows make in a response, hydrated with what the caller may read. */
export function toResponses<R extends DescMessage>(
  resource: Resource<R>,
  rows: readonly Row[],
  context: HandlerContext,
): Awaitable<MessageShape<R>[]> {
  const { session, quotas, nowMs } = environmentOf(context);
  return hydratedAll(resource, rows, session, { grants: authorityOf(context).grants, quotas, nowMs });
}

/**
 * Leaves of a message what the `read_mask` of a request names; undefined if that is everything.
 * Errors: INVALID_ARGUMENT on `read_mask`.
 */
export function masking<R extends DescMessage>(
  { declaration: { schema } }: Resource<R>,
  request: Message,
): ((message: MessageShape<R>) => MessageShape<R>) | undefined {
  const { readMask } = request as Message & { readonly readMask?: FieldMask };
  const paths = readMask && readPaths(schema, readMask);
  return paths && ((message) => applyPaths(schema, create(schema), message, paths));
}

/** The message that has these items in its only list. */
export function listOf(schema: DescMessage, items: readonly Message[]): Message {
  const list = schema.fields.find((field) => field.fieldKind === "list");
  if (list === undefined) throw new Error(`${schema.typeName} has no list of items`);
  return Object.assign(create(schema) as Message & Record<string, unknown>, { [list.localName]: items });
}

/** A row as a reader sees it. */
export function hydrated<R extends DescMessage>(
  resource: Resource<R>,
  row: Row,
  session: ReadSession,
  view: View,
): Awaitable<MessageShape<R>> {
  return chain(hydratedAll(resource, [row], session, view), ([message]) => message!);
}

/** Whether rows leave the server as they are stored. */
export function isStoredForm({ declaration: { hydrate, restore } }: Resource): boolean {
  return hydrate === undefined && restore === undefined;
}

function hydratedAll<R extends DescMessage>(
  resource: Resource<R>,
  rows: readonly Row[],
  session: ReadSession,
  view: View,
): Awaitable<MessageShape<R>[]> {
  const messages = rows.map((row) => messageOf(resource, row));
  const { hydrate } = resource.declaration;
  if (hydrate === undefined) return messages;
  const hydrating = chain(session.pause(), () => hydrate(messages, rows, session, view));
  return chain(hydrating, () => chain(session.pause(), () => messages));
}
