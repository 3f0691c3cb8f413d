/**
 * The declaration of a resource: its message, its indexed columns, its filters, and the rules that a descriptor cannot
 * express.
 */
import type { DescField, DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Grant } from "../auth/index.ts";
import { getField, snakeCase } from "../codec/index.ts";
import { type ResourceContract, readResource } from "../contract/index.ts";
import type { Quotas } from "../quotas.ts";
import type { ColumnType, Condition, ReadSession, Row, TableSpec } from "../store/index.ts";
import type { FieldPath } from "./field-mask.ts";
import { commonSortNames, type OrderColumn } from "./order-by.ts";

/**
 * A column derived from the message on every write. Booleans are 0 and 1, times are in microseconds. `texts` is a set
 * that is searched for members, `search` a text that is searched for substrings.
 */
type IndexedColumn<M> =
  | { text(message: M): string }
  | { integer(message: M): number }
  | { texts(message: M): readonly string[] }
  | { search(message: M): string };

/** What rows can be compared and ordered by: the indexed columns, and base columns. */
type Column<C extends string> = C | "parent" | (typeof commonSortNames)[keyof typeof commonSortNames];

/**
 * Turns the value of a filter field into conditions on columns, all of which must hold. `request` is for filters whose
 * meaning depends on another field.
 */
export type Filter<V, Q extends Message = Message, C extends string = string> = (
  value: NonNullable<V>,
  request: Q,
) => readonly Condition<C>[];

/** The rows whose column equals the value. */
export function equalTo<C extends string>(column: C): Filter<string | undefined, Message, C> {
  return (value) => [{ column, equals: value }];
}

type PagingField = "uidp" | "pageSize" | "pageToken" | "orderBy" | "skip" | "readMask";
/** The fields of a list request that are filters. */
type FilterField<L extends DescMessage> = Exclude<keyof MessageShape<L> & string, PagingField | `$${string}`>;

/** A create or an update before it is stored. */
export interface Change<M> {
  readonly uid: string;
  readonly parent: string;
  /** undefined on create. */
  readonly before: M | undefined;
  /** What will be stored. A check may complete it. */
  readonly after: M;
  /** The effective paths of an update; undefined on create. */
  readonly paths: readonly FieldPath[] | undefined;
}

/** What the deletion of a parent does while it has such children: `block` refuses it, `cascade` deletes them too. */
export type OnParentDelete = "block" | "cascade";

/** Where a resource is in the hierarchy. Whatever has a parent says what the parent's deletion means for it. */
type Parent =
  /** Every row has a parent of this resource; Create requires that it exists. */
  | { readonly parent: Resource; readonly nestsInItself?: never; readonly onParentDelete: OnParentDelete }
  /** A row is at the root, or below another row of this resource; the resource checks which. */
  | { readonly parent?: never; readonly nestsInItself: true; readonly onParentDelete: OnParentDelete }
  | { readonly parent?: never; readonly nestsInItself?: never; readonly onParentDelete?: never };

/** How a resource is listed, or that no method lists it. */
type Listing<L extends DescMessage, C extends string> =
  | {
      readonly list: L;
      readonly filters: { readonly [F in FilterField<L>]: Filter<MessageShape<L>[F], MessageShape<L>, Column<C>> };
      /** The filters for which no index finds rows, each with the reason. Every other one has an index. */
      readonly unindexed?: { readonly [F in FilterField<L>]?: string };
      /** Names for `order_by` besides `uid`, the times and `name`, with the column of each, which has an index. */
      readonly sortNames?: Readonly<Record<string, Column<C>>>;
      /** The order of a list when its request names none; by uid when absent. */
      readonly defaultOrder?: readonly OrderColumn<Column<C>>[];
    }
  | { readonly [K in "list" | "filters" | "unindexed" | "sortNames" | "defaultOrder"]?: never };

/** A declaration; see docs/adding-a-resource.md. `C` are the names of the indexed columns. */
type ResourceDeclaration<R extends DescMessage, L extends DescMessage, C extends string = string> = Declaration<R, C> &
  Listing<L, NoInfer<C>> &
  Parent;

interface Declaration<R extends DescMessage, C extends string> {
  readonly schema: R;
  /** The resource that it is a part of: a row has the uid of one of that resource's, and is deleted with it. */
  readonly partOf?: Resource;
  readonly columns: Readonly<Record<C, IndexedColumn<MessageShape<R>>>>;
  /** The columns whose values are unique together within a parent, which have a unique index. */
  readonly unique?: readonly NoInfer<C>[];
  /**
   * The quota of an organisation that counts it. By default what is below a group, and not a part of something, has one
   * with the name of its plural: `repos`.
   */
  readonly quota?: string;
  /** The quota of an organisation that counts its bytes. */
  readonly byteQuota?: string;
  /** Whether it is merged of what feeds import, which belongs to nobody. */
  readonly hasFeeds?: boolean;
  /** Whether authentication or authorization reads it: a change invalidates what they have cached. */
  readonly invalidatesAuthCache?: boolean;
  /** The uids that every authenticated caller may read and list. */
  readonly publicUids?: readonly string[];
  /** Checks rules about several fields or rows. Runs in the transaction, after the value rules. */
  check?(change: Change<MessageShape<R>>, context: HandlerContext): Promise<void> | void;
  /** Checks rules about the rows that are left, after this one has been removed in the transaction. */
  checkRemoval?(row: Row, context: Pick<HandlerContext, "values">): Promise<void> | void;
  /**
   * Completes messages from other rows and from settings before they leave the server, once for a whole page. It must
   * not reveal a row outside the parent of a message that the reader may not read.
   */
  hydrate?(messages: readonly MessageShape<R>[], rows: readonly Row[], session: ReadSession, view: View): Promise<void>;
  /** Sets fields whose values are only in the columns of the row. */
  restore?(message: MessageShape<R>, row: Row): void;
}

/** What messages depend on besides rows. */
export interface View {
  /** What the reader may read. */
  readonly grants: readonly Grant[];
  readonly quotas: Quotas;
  /** The time of the call, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** A declared resource. */
export interface Resource<R extends DescMessage = DescMessage, L extends DescMessage = DescMessage> {
  readonly declaration: ResourceDeclaration<R, L>;
  readonly contract: ResourceContract;
  readonly table: TableSpec;
  /** Whether each row belongs to one organisation. */
  readonly isOfTenant: boolean;
  readonly filters: readonly ListFilter[];
  /** The names of proto files. */
  readonly sortNames: Readonly<Record<string, string>>;
  readonly defaultOrder: readonly OrderColumn[];
}

/** A filter of a list. */
export interface ListFilter {
  readonly field: DescField;
  /** The conditions of a request that has set the field. */
  conditionsOf(request: Message): readonly Condition[];
}

/** A change that a call or an import has made to a row. */
export interface RowChange {
  /** `fixed`: an update after which what the resource is about is fixed, and was not before. */
  readonly kind: "created" | "updated" | "fixed" | "deleted";
  readonly resource: Resource;
  /** The row after the change; before it when it is deleted. */
  readonly row: Row;
}

/** Declares a resource. Errors: a plain Error when its message is not annotated as a resource. */
export function defineResource<R extends DescMessage, L extends DescMessage, C extends string>(
  declaration: ResourceDeclaration<R, L, C>,
): Resource<R, L> {
  const contract = readResource(declaration.schema);
  const columns = Object.fromEntries(
    Object.entries<object>(declaration.columns).map(([name, column]) => [name, Object.keys(column)[0] as ColumnType]),
  );
  return {
    declaration,
    contract,
    table: {
      name: snakeCase(contract.plural),
      columns,
      isWatched: declaration.invalidatesAuthCache ?? false,
      ...quotasOf(declaration, contract),
    },
    isOfTenant: isBelowGroup(declaration) && declaration.hasFeeds !== true,
    filters: filtersOf(declaration, contract),
    sortNames: { ...("name" in columns && { name: "name" }), ...declaration.sortNames, ...commonSortNames },
    defaultOrder: declaration.defaultOrder ?? [{ column: "uid", descending: false }],
  };
}

/** The filters of a declaration, whose types fit the message of its list requests. */
function filtersOf<L extends DescMessage>(
  { list, filters }: Listing<L, string>,
  { kind }: ResourceContract,
): ListFilter[] {
  return Object.entries((filters ?? {}) as Readonly<Record<string, Filter<unknown>>>).map(([name, filter]) => {
    const field = list?.field[name];
    if (field === undefined) throw new Error(`${kind} declares the filter ${name}, and ${list?.name ?? "no list"}`);
    return { field, conditionsOf: (request) => filter(getField(request, field)!, request) };
  });
}

/** The quotas of a table. */
function quotasOf(
  declaration: Pick<ResourceDeclaration<DescMessage, DescMessage>, "quota" | "byteQuota" | "partOf"> & Parent,
  { plural }: ResourceContract,
) {
  const { partOf, byteQuota } = declaration;
  const quota = declaration.quota ?? (partOf === undefined && isBelowGroup(declaration) ? plural : undefined);
  return { ...(quota !== undefined && { quota }), ...(byteQuota !== undefined && { byteQuota }) };
}

/** Whether rows are below what nests in itself, as groups do, or a part of it, at any depth. */
function isBelowGroup({ parent, partOf, nestsInItself }: Parent & { readonly partOf?: Resource }): boolean {
  const owner = parent ?? partOf;
  return nestsInItself === true || (owner !== undefined && isBelowGroup(owner.declaration));
}
