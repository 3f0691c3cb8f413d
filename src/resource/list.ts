/**
 * List (AIP-132, AIP-158, AIP-160): the rows in the scopes of the caller that meet the filters, in an order, page by
 * page.
 *
 * A page begins after the key of the last row of the page before, so rows written between two pages neither repeat nor
 * hide rows that are not modified. A page token carries its query: fields that the request omits are taken from the
 * token, and those that it repeats must be equal.
 */
import { createHash } from "node:crypto";
import { type DescMessage, fromBinary, isFieldSet, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { HandlerContext } from "@connectrpc/connect";
import type { UidpFilter } from "../../gen/platform/common/uidp_filter_pb.ts";
import { scopesOf } from "../auth/index.ts";
import { type Awaitable, both, chain } from "../awaitable.ts";
import { createBinaryWriter } from "../codec/index.ts";
import { invalid } from "../errors.ts";
import { type Condition, columnValue, type Row, type ScalarValue, type Selection } from "../store/index.ts";
import { databaseOf, environmentOf } from "./call-environment.ts";
import type { Resource } from "./declaration.ts";
import { sameValue } from "./field-mask.ts";
import { selectionOf } from "./hierarchy-filter.ts";
import { canonicalOrder, type OrderColumn, parseOrderBy } from "./order-by.ts";
import { messagePageLength, pageLength, rowBytes } from "./page-bytes.ts";
import { pageTokenLifeMs } from "./page-token.ts";
import { isStoredForm, listOf, masking, toResponses } from "./response.ts";
import { storedList } from "./row-mapping.ts";

/** Results per page when the request sets none. */
const defaultPageSize = 50;
/** The maximum of results per page. A larger `page_size` is reduced to it. */
const maxPageSize = 200;
/** The largest encoding of a query that its page token carries; of a larger one it carries a digest. */
const maxQueryBytes = 2048;

/** The fields that every list request has. */
export interface ListRequest extends Message {
  uidp?: UidpFilter;
  pageSize: number;
  pageToken: string;
  orderBy: string;
  skip: number;
}

/** The fields that every list response has besides its items. */
interface ListResponse extends Message {
  nextPageToken?: string;
  totalCount?: bigint;
  skipped: number;
}

/** The fields of a list request that a page depends on. Not every list can be sorted. */
type PagedRequest = Message & Pick<ListRequest, "pageSize" | "pageToken"> & Partial<Pick<ListRequest, "orderBy">>;

/** The fields of a list response besides its items. */
interface Envelope {
  readonly nextPageToken: string | undefined;
  readonly totalCount: number;
  readonly skipped: number;
}

/** One page of rows. */
interface Page {
  readonly rows: readonly Row[];
  /** The envelope when the page ends after `count` rows. */
  envelope(count: number): Envelope;
}

/** The position of a page in a list. */
interface Position<Q> {
  /** The request without paging fields, completed from its page token. */
  readonly query: Q;
  readonly order: readonly OrderColumn[];
  /** The key of the last row before the page: the values of its order columns, then its uid. */
  readonly after: readonly ScalarValue[] | undefined;
  readonly pageSize: number;
  /** The page token of the page after the row with this key. */
  tokenAfter(key: readonly ScalarValue[]): string;
}

/** The method of a resource. */
export function standardList(resource: Resource) {
  return (request: ListRequest, context: HandlerContext) =>
    listResources(resource, request, context, scopesOf(context));
}

/**
 * Lists what is visible in `scopes`; [""] is everything, for requests that only their filters restrict.
 * Errors: INVALID_ARGUMENT on `order_by` or `page_token`.
 */
export function listResources(
  resource: Resource,
  request: ListRequest,
  context: HandlerContext,
  scopes: readonly string[],
): Awaitable<Message> {
  const { output } = context.method;
  const mask = masking(resource, request);
  return chain(listPage(resource, request, context, scopes), ({ rows, envelope }) => {
    if (isStoredForm(resource) && mask === undefined)
      return withEnvelope(storedList(resource, output, rows), envelope(rows.length));
    return chain(toResponses(resource, rows, context), (whole) => {
      const items = mask === undefined ? whole : whole.map(mask);
      const length = messagePageLength(resource.declaration.schema, items);
      const response = listResponse(output, items.slice(0, length), envelope(length));
      return chain(environmentOf(context).session.pause(), () => response);
    });
  });
}

/**
 * Reads the page token, the order and the page size of a list request. Also for lists that are not tables.
 * Errors: INVALID_ARGUMENT on `order_by` or `page_token`.
 */
export function openList<Q extends PagedRequest>(
  sortable: Pick<Resource, "sortNames" | "defaultOrder">,
  request: Q,
  context: HandlerContext,
): Position<Q> {
  const { pageTokens, nowMs } = environmentOf(context);
  const method = `${context.service.typeName}.${context.method.name}`;
  const token = request.pageToken === "" ? undefined : pageTokens.open(request.pageToken);
  if (request.pageToken !== "" && token?.method !== method) throw refuseToken("is not a page token of this method");
  const given = queryOf(sortable, request);
  const query = token === undefined ? given : continueQuery(context.method.input, given, token.query);
  const isFresh = token !== undefined && nowMs - token.issueTimeMs < pageTokenLifeMs;
  if (token !== undefined && !isFresh) sayRestarted(context);
  return {
    query: query as Q,
    order: orderOf(sortable, query.orderBy ?? ""),
    after: isFresh ? token.after : undefined,
    pageSize: request.pageSize === 0 ? defaultPageSize : Math.min(request.pageSize, maxPageSize),
    tokenAfter: (after) =>
      pageTokens.seal({ method, after, issueTimeMs: nowMs, query: sealQuery(context.method.input, query) }),
  };
}

/** Says that a page is the first one because its token has expired: in a header field, in gRPC also a trailer. */
function sayRestarted({ responseHeader, responseTrailer, protocolName }: HandlerContext): void {
  responseHeader.set("x-page-restarted", "true");
  if (protocolName !== "rest") responseTrailer.set("x-page-restarted", "true");
}

/**
 * Reads the rows of a page in `scopes`. It ends early when its stored rows exceed the size of a page.
 * Errors: INVALID_ARGUMENT on `order_by` or `page_token`.
 */
function listPage(
  resource: Resource,
  request: ListRequest,
  context: HandlerContext,
  scopes: readonly string[],
): Awaitable<Page> {
  const session = databaseOf(context);
  const { query, order, after, pageSize, tokenAfter } = openList(resource, request, context);
  const selection = selectRows(resource, query, scopes);
  const found = session.list(resource.table, {
    ...selection,
    orderBy: order,
    ...(after && { after }),
    ...(isStoredForm(resource) && { columns: [] }),
    skip: request.skip,
    limit: pageSize + 1,
  });
  const total = session.count(resource.table, selection);
  return both(found, total, (rows, totalCount) => {
    const page = rows.length > pageSize ? rows.slice(0, pageSize) : rows;
    const length = pageLength(page, rowBytes);
    return {
      rows: length < page.length ? page.slice(0, length) : page,
      envelope(count) {
        const last = count < rows.length ? rows[count - 1] : undefined;
        const nextPageToken = last && tokenAfter([...order.map(({ column }) => columnValue(last, column)), last.uid]);
        return { nextPageToken, totalCount, skipped: request.skip };
      },
    };
  });
}

/** Makes the list response of a method. */
export function listResponse(schema: DescMessage, items: readonly Message[], envelope: Envelope): Message {
  return withEnvelope(listOf(schema, items), envelope);
}

/** Sets the envelope of a list response. */
function withEnvelope(message: Message, { nextPageToken, totalCount, skipped }: Envelope): Message {
  const response = message as ListResponse;
  if (nextPageToken !== undefined) response.nextPageToken = nextPageToken;
  response.totalCount = BigInt(totalCount);
  response.skipped = skipped;
  return response;
}

function selectRows(resource: Resource, query: ListRequest, scopes: readonly string[]): Selection {
  const { publicUids = [] } = resource.declaration;
  const where: Condition[] = [];
  for (const { field, conditionsOf } of resource.filters)
    if (isFieldSet(query, field)) where.push(...conditionsOf(query));
  const selection = selectionOf(scopes, publicUids, query.uidp);
  return where.length === 0 ? selection : { ...selection, where };
}

function orderOf(resource: Pick<Resource, "sortNames" | "defaultOrder">, orderBy: string): readonly OrderColumn[] {
  if (orderBy === "") return resource.defaultOrder;
  const names = Object.fromEntries(Object.values(resource.sortNames).map((column) => [column, column]));
  return parseOrderBy(orderBy, { ...names, ...resource.sortNames }, resource.defaultOrder);
}

/** The request without the fields that each page has of its own. Equivalent orders are spelled in one way. */
function queryOf(sortable: Pick<Resource, "sortNames" | "defaultOrder">, request: PagedRequest): PagedRequest {
  const { orderBy = "" } = request;
  const order = orderBy === "" ? "" : canonicalOrder(parseOrderBy(orderBy, sortable.sortNames, sortable.defaultOrder));
  return Object.assign({ ...request }, { pageSize: 0, pageToken: "", skip: 0, readMask: undefined, orderBy: order });
}

function sealQuery(schema: DescMessage, query: PagedRequest): { encoded: Uint8Array } | { digest: Uint8Array } {
  const encoded = createBinaryWriter(schema)(query);
  return encoded.length <= maxQueryBytes ? { encoded } : { digest: createHash("sha256").update(encoded).digest() };
}

function continueQuery(
  schema: DescMessage,
  given: PagedRequest,
  sealed: { encoded: Uint8Array } | { digest: Uint8Array },
): PagedRequest {
  if ("digest" in sealed) {
    const digest = createHash("sha256").update(createBinaryWriter(schema)(given)).digest();
    if (!digest.equals(sealed.digest))
      throw refuseToken("continues another query; repeat the filters and the order of its first page");
    return given;
  }
  const continued = fromBinary(schema, sealed.encoded) as PagedRequest;
  if (!agrees(reflect(schema, given), reflect(schema, continued)))
    throw refuseToken("continues a query with other filters or another order");
  return continued;
}

/** Whether every field that `given` sets is equal in `continued`. */
function agrees(given: ReflectMessage, continued: ReflectMessage): boolean {
  return given.fields.every((field) => {
    if (!given.isSet(field)) return true;
    if (!continued.isSet(field)) return false;
    if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")) {
      return agrees(given.get(field) as ReflectMessage, continued.get(field) as ReflectMessage);
    }
    return sameValue(field, given, continued);
  });
}

function refuseToken(description: string) {
  return invalid({ field: "page_token", description });
}
