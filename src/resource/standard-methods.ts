/**
 * The standard methods (AIP-131 to AIP-135) of a declared resource, as Connect handlers. Which methods a service has, and which field of a
 * request holds what, is read from the descriptors: `Get<Kind>` has `uid`, `Create<Kind>` has `parent` and the resource, and so on.
 */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  equals,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { EmptySchema, type FieldMask } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { authorityOf, scopesOf } from "../auth/index.ts";
import { keepDistinct, violationsOf } from "../contract/index.ts";
import { aborted, alreadyExists, invalid, notFound } from "../errors.ts";
import { andThen, type Eventually } from "../eventually.ts";
import type { ReadSession, Row, ScalarValue, Selection } from "../store/index.ts";
import { isUid, newUid } from "../uid.ts";
import { databaseOf, environmentOf } from "./call.ts";
import { hydratedAll, insertRow, removeRow, updateRow } from "./changes.ts";
import type { Change, Resource } from "./declaration.ts";
import { applyPaths, concernedPaths, type FieldPath, settleBehaviors } from "./field-mask.ts";
import { isStoredForm, type ListRequest, listPage, listResponse, withEnvelope } from "./list.ts";
import { messagePageLength } from "./page-bytes.ts";
import { contentOf, copyOf, emptyMessage, etagOf, messageOf, storedList, storedMessage } from "./record.ts";

/** A unary handler of any method. */
export type Handler = (request: never, context: HandlerContext) => Eventually<Message>;

/** Handlers by the method's local name (`getRepo`). */
export type Handlers = Readonly<Record<string, Handler>>;

/** The standard methods that `service` has for `resource`. */
export function standardMethods<R extends DescMessage, L extends DescMessage>(
  service: DescService,
  resource: Resource<R, L>,
): Handlers {
  const { kind } = resource.contract;
  const handlers: Record<string, Handler> = {};
  for (const method of service.methods) {
    const handler =
      method.input === resource.declaration.list
        ? standardList(resource)
        : method.name === `Get${kind}`
          ? standardGet(resource)
          : method.name === `Create${kind}`
            ? standardCreate(resource, method)
            : method.name === `Update${kind}`
              ? standardUpdate(resource, method)
              : method.name === `Delete${kind}`
                ? standardDelete(resource)
                : undefined;
    if (handler !== undefined) handlers[method.localName] = handler as Handler;
  }
  return handlers;
}

/** A row that must exist. Errors: NOT_FOUND. */
export function findRow(resource: Resource, uid: string, context: HandlerContext): Eventually<Row> {
  return andThen(databaseOf(context).get(resource.table, uid), (row) => {
    if (row === undefined) throw notFound({ type: resource.contract.type, uid });
    return row;
  });
}

/** Makes sure that a resource exists. Errors: NOT_FOUND. */
export function requireResource(resource: Resource, uid: string, context: HandlerContext): Eventually<void> {
  return andThen(databaseOf(context).has(resource.table, uid), (isThere) => {
    if (!isThere) throw notFound({ type: resource.contract.type, uid });
  });
}

/** A row as it leaves the server: hydrated, its etag also in the `etag` header. */
export function present<R extends DescMessage>(
  resource: Resource<R>,
  row: Row,
  context: HandlerContext,
): Eventually<MessageShape<R>> {
  return andThen(presentAll(resource, [row], context), ([message]) => {
    context.responseHeader.set("etag", etagOf(row));
    return message!;
  });
}

/** Rows as they leave the server: hydrated with what the caller may read. */
export function presentAll<R extends DescMessage>(
  resource: Resource<R>,
  rows: readonly Row[],
  context: HandlerContext,
): Eventually<MessageShape<R>[]> {
  return hydratedAll(resource, rows, databaseOf(context), authorityOf(context).grants);
}

/** What a new resource does not get from the body of the request. */
export interface InsertOptions<M> {
  /** For resources whose uid is not drawn. */
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
  if (declaration.parent !== undefined) await requireResource(declaration.parent, parent, context);
  const after = body === undefined ? emptyMessage(resource) : copyOf(resource, body);
  settleBehaviors(declaration.schema, undefined, after);
  Object.assign(after, output);
  await checkChange(resource, { uid, parent, before: undefined, after, paths: undefined }, context);
  keepDistinct(declaration.schema, after);
  const content = contentOf(resource, after);
  await refuseTaken(resource, parent, uid, content.facets, context);
  return insertContent(resource, uid, parent, content, context);
}

/** Changes a resource as the server itself has decided, and returns its row: no rule is checked. */
export function rewriteResource<R extends DescMessage>(
  resource: Resource<R>,
  row: Row,
  message: MessageShape<R>,
  context: HandlerContext,
): Promise<Row> {
  return updateContent(resource, row, contentOf(resource, message), context);
}

/** Stores a new resource that the server itself has decided on, below `parent`, and returns its row: no rule is checked. */
export function storeResource<R extends DescMessage>(
  resource: Resource<R>,
  parent: string,
  message: MessageShape<R>,
  context: HandlerContext,
): Promise<Row> {
  return insertContent(resource, newUid(parent), parent, contentOf(resource, message), context);
}

/**
 * Changes what `mask` names, or what `body` populates without one, and returns the row; an update that changes nothing writes nothing.
 * Errors: NOT_FOUND, INVALID_ARGUMENT, ALREADY_EXISTS, ABORTED for a stale etag.
 */
export async function updateResource<R extends DescMessage>(
  resource: Resource<R>,
  uid: string,
  body: MessageShape<R>,
  mask: FieldMask | undefined,
  context: HandlerContext,
): Promise<Row> {
  const { schema } = resource.declaration;
  const row = await findRow(resource, uid, context);
  checkEtag(row, (body as { etag?: string }).etag, context);
  const before = messageOf(resource, row);
  keepDistinct(schema, before);
  const paths = concernedPaths(schema, mask, body);
  const after = applyPaths(schema, before, body, paths);
  settleBehaviors(schema, before, after);
  await checkChange(resource, { uid, parent: row.parent, before, after, paths }, context);
  keepDistinct(schema, after);
  if (equals(schema, before, after)) return row;
  const content = contentOf(resource, after);
  await refuseTaken(resource, row.parent, uid, content.facets, context);
  return updateContent(resource, row, content, context);
}

/**
 * Answers a list request with what is visible in `scopes`; [""] is everything, for requests whose filters alone select.
 * Errors: INVALID_ARGUMENT on `order_by` or `page_token`.
 */
export function listResources(
  resource: Resource,
  request: ListRequest,
  context: HandlerContext,
  scopes: readonly string[],
): Eventually<Message> {
  const { output } = context.method;
  return andThen(listPage(resource, request, context, scopes), ({ rows, envelope }) => {
    if (isStoredForm(resource)) return withEnvelope(storedList(resource, output, rows), envelope(rows.length));
    return andThen(presentAll(resource, rows, context), (items) => {
      const length = messagePageLength(resource.declaration.schema, items);
      return listResponse(output, items.slice(0, length), envelope(length));
    });
  });
}

/** Deletes a resource. Errors: NOT_FOUND, ABORTED for a stale etag. */
export async function removeResource(
  resource: Resource,
  { uid, etag }: { uid: string; etag?: string },
  context: HandlerContext,
): Promise<void> {
  checkEtag(await findRow(resource, uid, context), etag, context);
  await removeRow(resource, uid, context);
}

/** Deletes every selected row. */
export async function removeSelected(resource: Resource, selection: Selection, context: HandlerContext): Promise<void> {
  const orderBy = [{ column: "uid", descending: false }];
  for (;;) {
    const rows = await databaseOf(context).list(resource.table, { ...selection, orderBy, skip: 0, limit: 200 });
    for (const { uid } of rows) await removeRow(resource, uid, context);
    if (rows.length < 200) return;
  }
}

/** Checks a uid in a method that names no scope. Errors: INVALID_ARGUMENT when it is empty, NOT_FOUND when it is none. */
export function requireUid(field: string, uid: string, resource: Resource): void {
  if (uid === "") throw invalid({ field, description: "is required" });
  if (!isUid(uid)) throw notFound({ type: resource.contract.type, uid });
}

function standardGet(resource: Resource) {
  return ({ uid }: Message & { uid: string }, context: HandlerContext) =>
    andThen(findRow(resource, uid, context), (row) => {
      checkEtag(row, undefined, context);
      if (!isStoredForm(resource)) return present(resource, row, context);
      context.responseHeader.set("etag", etagOf(row));
      return storedMessage(resource, row);
    });
}

function standardList(resource: Resource) {
  return (request: ListRequest, context: HandlerContext) =>
    listResources(resource, request, context, scopesOf(context));
}

function standardCreate(resource: Resource, method: DescMethod) {
  const field = resourceField(resource, method);
  return async (request: Message & { parent: string }, context: HandlerContext) =>
    present(resource, await insertResource(resource, request.parent, resourceOf(request, field), context), context);
}

function standardUpdate(resource: Resource, method: DescMethod) {
  const field = resourceField(resource, method);
  return async (request: Message & { updateMask?: FieldMask }, context: HandlerContext) => {
    const body = resourceOf(request, field) ?? emptyMessage(resource);
    const { uid } = body as unknown as { uid: string };
    return present(resource, await updateResource(resource, uid, body, request.updateMask, context), context);
  };
}

function standardDelete(resource: Resource) {
  return async (request: Message & { uid: string; etag?: string }, context: HandlerContext) => {
    await removeResource(resource, request, context);
    return create(EmptySchema);
  };
}

function insertContent(
  resource: Resource,
  uid: string,
  parent: string,
  content: ReturnType<typeof contentOf>,
  context: HandlerContext,
): Promise<Row> {
  const nowUs = environmentOf(context).nowMs * 1000;
  return insertRow(resource, { uid, parent, createTimeUs: nowUs, updateTimeUs: nowUs, ...content }, context);
}

function updateContent(
  resource: Resource,
  row: Row,
  content: ReturnType<typeof contentOf>,
  context: HandlerContext,
): Promise<Row> {
  return updateRow(resource, { ...row, ...content, updateTimeUs: environmentOf(context).nowMs * 1000 }, context);
}

/** The value rules, for what the change names, then the resource's own. */
async function checkChange<R extends DescMessage>(
  resource: Resource<R>,
  change: Change<MessageShape<R>>,
  context: HandlerContext,
): Promise<void> {
  const { schema, check } = resource.declaration;
  const violations = violationsOf(schema, change.after, (path) => concerns(change.paths, path));
  if (violations.length > 0) throw invalid(violations);
  await check?.(change, context);
}

/** Whether a rule at `rule` is about something that one of `paths` names; a rule of a oneof is about its members. */
function concerns(paths: readonly FieldPath[] | undefined, rule: readonly { kind: string }[]): boolean {
  if (paths === undefined) return true;
  return paths.some((path) => {
    for (const [depth, field] of path.entries()) {
      const part = rule[depth];
      if (part === undefined || part.kind === "list_sub" || part.kind === "map_sub") return true;
      if (part !== field) return part.kind === "oneof" && field.oneof === (part as unknown);
    }
    return true;
  });
}

async function refuseTaken(
  resource: Resource,
  parent: string,
  uid: string,
  facets: Row["facets"],
  context: HandlerContext,
): Promise<void> {
  const where = resource.declaration.unique?.map((column) => ({ column, equals: facets[column] as ScalarValue }));
  if (where === undefined) return;
  const other = await uidOfChild(resource, parent, where, databaseOf(context));
  if (other === undefined || other === uid) return;
  const what = where.map(({ column, equals }) => `${column} ${JSON.stringify(equals)}`).join(" and ");
  throw alreadyExists({ type: resource.contract.type, uid: other }, what);
}

/** The uid of the child of a parent that these facets, unique together, belong to. */
async function uidOfChild(
  { table }: Resource,
  parent: string,
  where: readonly { readonly column: string; readonly equals: ScalarValue }[],
  session: ReadSession,
): Promise<string | undefined> {
  const [first, ...more] = where;
  if (first !== undefined && more.length === 0) return session.childUid(table, parent, first.column, first.equals);
  const [row] = await session.list(table, { parent, where, orderBy: [], skip: 0, limit: 1, facets: [] });
  return row?.uid;
}

/** AIP-154: over REST `If-Match`, elsewhere the `etag` field; none given, none checked. */
function checkEtag(row: Row, etag: string | undefined, context: HandlerContext): void {
  const given = etag || context.requestHeader.get("if-match");
  if (!given || given === "*") return;
  const tags = given.split(",").map((tag) => tag.trim());
  if (!tags.includes(etagOf(row))) throw aborted("the resource has changed since its etag was read");
}

function resourceField(resource: Resource, method: DescMethod): string {
  const field = method.input.fields.find((f) => f.message === resource.declaration.schema);
  if (field === undefined) throw new Error(`${method.input.typeName} does not hold a ${resource.contract.kind}`);
  return field.localName;
}

function resourceOf(request: Message, localName: string): Message | undefined {
  return (request as unknown as Record<string, Message | undefined>)[localName];
}
