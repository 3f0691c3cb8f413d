/** How a resource is declared: its message, the columns derived from it, its filters, and the rules that a descriptor cannot say. */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Grant } from "../auth/index.ts";
import { type ResourceContract, readResource } from "../contract/index.ts";
import type { Condition, FacetType, ReadSession, Row, TableSpec } from "../store/index.ts";
import type { FieldPath } from "./field-mask.ts";
import { commonSortNames, type OrderColumn } from "./order-by.ts";

/**
 * A column derived from the message on every write; booleans as 0 and 1, instants in microseconds. `texts` is a set to look for members of,
 * `search` a text to look for parts of.
 */
export type Facet<M> =
  | { text(message: M): string }
  | { integer(message: M): number }
  | { texts(message: M): readonly string[] }
  | { search(message: M): string };

/**
 * Turns the value of a filter field, given by the client, into conditions; all must hold. The request is for filters whose meaning depends on
 * another field.
 */
export type Filter<V, Q extends Message = Message> = (value: NonNullable<V>, request: Q) => readonly Condition[];

/** The rows whose column has exactly the value. */
export function equalTo(column: string): Filter<string | undefined> {
  return (value) => [{ column, equals: value }];
}

type PagingField = "uidp" | "pageSize" | "pageToken" | "orderBy" | "skip";
/** The fields of a list request that filter. */
export type FilterField<L extends DescMessage> = Exclude<keyof MessageShape<L> & string, PagingField | `$${string}`>;

/** A create or an update on its way to the store. */
export interface Change<M> {
  readonly uid: string;
  readonly parent: string;
  /** undefined on create. */
  readonly before: M | undefined;
  /** What will be stored; a check may still complete it. */
  readonly after: M;
  /** What an update's mask names; undefined on create. */
  readonly paths: readonly FieldPath[] | undefined;
}

/** A declaration; see CONTRIBUTING.md for a worked example. */
export interface ResourceDeclaration<R extends DescMessage, L extends DescMessage> {
  readonly schema: R;
  readonly list: L;
  /** The resource that holds it; absent where the parent may be empty or is checked by the resource itself. */
  readonly parent?: Resource;
  readonly facets: Readonly<Record<string, Facet<MessageShape<R>>>>;
  readonly filters: { readonly [F in FilterField<L>]: Filter<MessageShape<L>[F], MessageShape<L>> };
  /** What `order_by` may name beside `uid`, the times and `name`, and the column behind it. */
  readonly sortNames?: Readonly<Record<string, string>>;
  /** The facets that are unique together within a parent. */
  readonly unique?: readonly string[];
  /** Whether authentication or authorization depends on it: what they remember is forgotten when it changes. */
  readonly isWatched?: boolean;
  /** uids that every authenticated caller may read and list. */
  readonly publicUids?: readonly string[];
  /** The order of a list whose request names none; by uid where absent. */
  readonly defaultOrder?: readonly OrderColumn[];
  /** Rules about more than one field or more than one row. Runs in the transaction, after the value rules. */
  check?(change: Change<MessageShape<R>>, context: HandlerContext): Promise<void> | void;
  /**
   * Completes messages that leave the server from other rows; one call for a whole page. Tells nothing of a row outside the message's own parent that
   * a client with these grants may not read.
   */
  hydrate?(
    messages: readonly MessageShape<R>[],
    rows: readonly Row[],
    session: ReadSession,
    grants: readonly Grant[],
  ): Promise<void>;
  /** Puts into a message what only the row's columns know. */
  restore?(message: MessageShape<R>, row: Row): void;
}

/** A declared resource. */
export interface Resource<R extends DescMessage = DescMessage, L extends DescMessage = DescMessage> {
  readonly declaration: ResourceDeclaration<R, L>;
  readonly contract: ResourceContract;
  readonly table: TableSpec;
  readonly sortNames: Readonly<Record<string, string>>;
  readonly defaultOrder: readonly OrderColumn[];
}

/** Declares a resource. Errors: a plain Error when its message is not annotated as one. */
export function defineResource<R extends DescMessage, L extends DescMessage>(
  declaration: ResourceDeclaration<R, L>,
): Resource<R, L> {
  const contract = readResource(declaration.schema);
  const facets = Object.fromEntries(
    Object.entries(declaration.facets).map(([name, facet]) => [name, Object.keys(facet)[0] as FacetType]),
  );
  return {
    declaration,
    contract,
    table: { name: snakeCase(contract.plural), facets, isWatched: declaration.isWatched ?? false },
    sortNames: { ...("name" in facets && { name: "name" }), ...declaration.sortNames, ...commonSortNames },
    defaultOrder: declaration.defaultOrder ?? [{ column: "uid", descending: false }],
  };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
