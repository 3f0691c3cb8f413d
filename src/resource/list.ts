/**
 * The standard List (AIP-132, AIP-158, AIP-160): the caller's scopes cut by filters, in an order, a page at a time.
 *
 * Pages are found by the key of the last row answered, never by counting, so rows written between two pages neither repeat nor hide a row
 * that was there all along. A page token continues its own query: what the request leaves out is taken from the token, what it repeats
 * must be the same.
 */
import { createHash } from "node:crypto";
import {
  create,
  type DescMessage,
  equals,
  fromBinary,
  isFieldSet,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { HandlerContext } from "@connectrpc/connect";
import type { UidpFilter } from "../../gen/platform/common/uidp_filter_pb.ts";
import { createBinaryWriter } from "../codec/index.ts";
import { invalid } from "../errors.ts";
import { both, type Eventually } from "../eventually.ts";
import { type Condition, columnValue, type Row, type ScalarValue, type Selection } from "../store/index.ts";
import { databaseOf, environmentOf } from "./call.ts";
import type { Filter, Resource } from "./declaration.ts";
import { canonicalOrder, type OrderColumn, parseOrderBy } from "./order-by.ts";
import { pageLength, rowBytes } from "./page-bytes.ts";
import { pageTokenLifeMs } from "./page-token.ts";
import { selectionOf } from "./selection.ts";

/** Results per page when the request does not say. */
export const defaultPageSize = 50;
/** Results per page at most; a larger `page_size` gives this many. */
export const maxPageSize = 200;
/** A query whose encoding is larger is not carried inside its page token. */
const maxQueryBytes = 2048;

/** Fields that every list request has. */
export interface ListRequest extends Message {
  uidp?: UidpFilter;
  pageSize: number;
  pageToken: string;
  orderBy: string;
  skip: number;
}

/** Fields that every list response has beside its items. */
interface ListResponse extends Message {
  nextPageToken?: string;
  totalCount?: bigint;
  skipped: number;
}

/** What the envelope of a page says. */
export interface Envelope {
  readonly nextPageToken: string | undefined;
  readonly totalCount: number;
  readonly skipped: number;
}

/** One page of rows. */
export interface Page {
  readonly rows: readonly Row[];
  /** Its envelope when it ends after so many of the rows. */
  envelope(count: number): Envelope;
}

/** What a list request asks for: where in which order, of which query. */
export interface Position<Q extends ListRequest = ListRequest> {
  /** The request without paging, with what its page token says. */
  readonly query: Q;
  readonly order: readonly OrderColumn[];
  /** The last row answered: its values of the columns of the order, then its uid. */
  readonly after: readonly ScalarValue[] | undefined;
  readonly pageSize: number;
  /** The page token for what comes after a row, given like {@link Position.after}. */
  tokenAfter(key: readonly ScalarValue[]): string;
}

/**
 * Opens a list request: its token, its order, its page size. For lists that no table holds, too.
 * Errors: INVALID_ARGUMENT on `order_by` or `page_token`.
 */
export function openList<Q extends ListRequest>(
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
  return {
    query: query as Q,
    order: orderOf(sortable, query.orderBy),
    after: isFresh ? token.after : undefined,
    pageSize: request.pageSize === 0 ? defaultPageSize : Math.min(request.pageSize, maxPageSize),
    tokenAfter: (after) =>
      pageTokens.seal({ method, after, issueTimeMs: nowMs, query: sealQuery(context.method.input, query) }),
  };
}

/**
 * Reads the page that `request` asks for, of what is in `scopes`; it ends early where rows as they are stored exceed what a page may hold.
 * Errors: INVALID_ARGUMENT on `order_by` or `page_token`.
 */
export function listPage(
  resource: Resource,
  request: ListRequest,
  context: HandlerContext,
  scopes: readonly string[],
): Eventually<Page> {
  const session = databaseOf(context);
  const { query, order, after, pageSize, tokenAfter } = openList(resource, request, context);
  const selection = selectRows(resource, query, context, scopes);
  const found = session.list(resource.table, {
    ...selection,
    orderBy: order,
    ...(after && { after }),
    ...(isStoredForm(resource) && { facets: [] }),
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

/** Whether rows leave the server as they are stored. */
export function isStoredForm({ declaration: { hydrate, restore } }: Resource): boolean {
  return hydrate === undefined && restore === undefined;
}

/** Wraps items and page into the list response of a method. */
export function listResponse(schema: DescMessage, items: readonly Message[], envelope: Envelope): Message {
  const response = create(schema) as Message & Record<string, unknown>;
  const list = schema.fields.find((field) => field.fieldKind === "list");
  if (list === undefined) throw new Error(`${schema.typeName} has no list of items`);
  response[list.localName] = items;
  return withEnvelope(response, envelope);
}

/** Says in a list response what is to be said of its page. */
export function withEnvelope(message: Message, { nextPageToken, totalCount, skipped }: Envelope): Message {
  const response = message as ListResponse;
  if (nextPageToken !== undefined) response.nextPageToken = nextPageToken;
  response.totalCount = BigInt(totalCount);
  response.skipped = skipped;
  return response;
}

function selectRows(
  resource: Resource,
  query: ListRequest,
  context: HandlerContext,
  scopes: readonly string[],
): Selection {
  const { filters, publicUids = [] } = resource.declaration;
  const { input } = context.method;
  const given = query as unknown as Record<string, NonNullable<unknown>>;
  const where: Condition[] = [];
  for (const [name, filter] of Object.entries(filters as Record<string, Filter<unknown>>)) {
    const field = input.field[name];
    if (field === undefined) throw new Error(`${input.typeName} has no field ${name}`);
    if (isFieldSet(query, field)) where.push(...filter(given[name]!, query));
  }
  const selection = selectionOf(scopes, publicUids, query.uidp);
  return where.length === 0 ? selection : { ...selection, where };
}

function orderOf(resource: Pick<Resource, "sortNames" | "defaultOrder">, orderBy: string): readonly OrderColumn[] {
  if (orderBy === "") return resource.defaultOrder;
  const names = Object.fromEntries(Object.values(resource.sortNames).map((column) => [column, column]));
  return parseOrderBy(orderBy, { ...names, ...resource.sortNames }, resource.defaultOrder);
}

/** The request without paging. Two spellings of one order are one query. */
function queryOf(sortable: Pick<Resource, "sortNames" | "defaultOrder">, request: ListRequest): ListRequest {
  const { orderBy } = request;
  const order = orderBy === "" ? "" : canonicalOrder(parseOrderBy(orderBy, sortable.sortNames, sortable.defaultOrder));
  return { ...request, pageSize: 0, pageToken: "", skip: 0, orderBy: order };
}

function sealQuery(schema: DescMessage, query: ListRequest): { encoded: Uint8Array } | { digest: Uint8Array } {
  const encoded = createBinaryWriter(schema)(query);
  return encoded.length <= maxQueryBytes ? { encoded } : { digest: createHash("sha256").update(encoded).digest() };
}

function continueQuery(
  schema: DescMessage,
  given: ListRequest,
  sealed: { encoded: Uint8Array } | { digest: Uint8Array },
): ListRequest {
  if ("digest" in sealed) {
    const digest = createHash("sha256").update(createBinaryWriter(schema)(given)).digest();
    if (!digest.equals(sealed.digest))
      throw refuseToken("continues another query; repeat the filters and the order of its first page");
    return given;
  }
  const continued = fromBinary(schema, sealed.encoded) as ListRequest;
  if (!agrees(reflect(schema, given), reflect(schema, continued)))
    throw refuseToken("continues a query with other filters or another order");
  return continued;
}

/** Whether everything that `given` sets is the same in `continued`. */
function agrees(given: ReflectMessage, continued: ReflectMessage): boolean {
  return given.fields.every((field) => {
    if (!given.isSet(field)) return true;
    if (!continued.isSet(field)) return false;
    if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")) {
      return agrees(given.get(field) as ReflectMessage, continued.get(field) as ReflectMessage);
    }
    const only = (message: ReflectMessage) => {
      const copy = reflect(message.desc);
      copy.set(field, message.get(field));
      return copy.message;
    };
    return equals(given.desc, only(given) as MessageShape<DescMessage>, only(continued) as MessageShape<DescMessage>);
  });
}

function refuseToken(description: string) {
  return invalid({ field: "page_token", description });
}
