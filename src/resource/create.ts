/** Create (AIP-133). */
import type { DescMessage, DescMethod, Message, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { localOf } from "../codec/index.ts";
import { keepDistinct } from "../contract/index.ts";
import { newUid } from "../new-uid.ts";
import type { Row } from "../store/index.ts";
import { environmentOf, transactionOf } from "./call-environment.ts";
import { insertRow } from "./changes.ts";
import type { Resource } from "./declaration.ts";
import { enforceFieldBehavior } from "./field-mask.ts";
import { holdResource } from "./get.ts";
import { toResponse } from "./response.ts";
import { type Content, contentOf, copyOf, emptyMessage, newRow } from "./row-mapping.ts";
import { checkChange, requireUnique } from "./rules.ts";

/** The method of a resource. */
export function standardCreate(resource: Resource, method: DescMethod) {
  const bodyOf = bodyReader(resource, method);
  return async (request: Message & { parent: string }, context: HandlerContext) =>
    toResponse(resource, await insertResource(resource, request.parent, bodyOf(request), context), context);
}

/** What a new resource does not get from the body of the request. */
interface InsertOptions<M> {
  /** Random unless given. */
  readonly uid?: string;
  /** Values of output-only fields. */
  readonly output?: Partial<M>;
}

/**
 * Stores a new resource below `parent` and returns its row.
 * Errors: NOT_FOUND on the parent, INVALID_ARGUMENT, ALREADY_EXISTS.
 */
export async function insertResource<R extends DescMessage>(
  resource: Resource<R>,
  parent: string,
  body: MessageShape<R> | undefined,
  context: HandlerContext,
  { uid = newUid(parent), output = {} }: InsertOptions<MessageShape<R>> = {},
): Promise<Row> {
  const { declaration } = resource;
  transactionOf(context).expectInsert(resource.table, uid);
  if (declaration.parent !== undefined) await holdResource(declaration.parent, parent, context);
  const after = body === undefined ? emptyMessage(resource) : copyOf(resource, body);
  enforceFieldBehavior(declaration.schema, undefined, after);
  Object.assign(after, output);
  await checkChange(resource, { uid, parent, before: undefined, after, paths: undefined }, context);
  keepDistinct(declaration.schema, after);
  const content = contentOf(resource, after);
  await requireUnique(resource, parent, uid, content.columns, context);
  return insertContent(resource, uid, parent, content, context);
}

/** Stores a new resource below `parent` that the server itself makes, and returns its row. No rule is checked. */
export function storeResource<R extends DescMessage>(
  resource: Resource<R>,
  parent: string,
  message: MessageShape<R>,
  context: HandlerContext,
): Promise<Row> {
  return insertContent(resource, newUid(parent), parent, contentOf(resource, message), context);
}

/** Reads the resource that a request of the method holds. Errors: a plain Error when its requests hold none. */
export function bodyReader(resource: Resource, { input }: DescMethod): (request: Message) => Message | undefined {
  const field = input.fields.find(({ message }) => message === resource.declaration.schema);
  if (field === undefined) throw new Error(`${input.typeName} does not hold a ${resource.contract.kind}`);
  const { localName } = field;
  return (request) => localOf(request)[localName] as Message | undefined;
}

function insertContent(
  resource: Resource,
  uid: string,
  parent: string,
  content: Content,
  context: HandlerContext,
): Promise<Row> {
  return insertRow(resource, newRow(uid, parent, environmentOf(context).nowMs, content), context);
}
