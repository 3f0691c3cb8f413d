/** What the address of a list says. */
import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { commentOf } from "../../../src/remote/catalog/comments.ts";

/** The state of a list. It is in the address, so that the list can be shared and the back button returns to it. */
export interface ListSearch {
  /** Fields of the request that filter, in the JSON form of protobuf. */
  filter?: Record<string, unknown>;
  /** A field in proto names, and `desc`: `create_time desc`. */
  order?: string;
  /** Names of fields. */
  columns?: string[];
  size?: number;
  /** The token of the page; absent on the first one. */
  token?: string;
  /** How many results come before the page. */
  at?: number;
}

/** Reads the search of an address, leaving out what has another type. */
export function readListSearch(search: Record<string, unknown>): ListSearch {
  const { filter, order, columns, size, token, at } = search;
  return {
    ...(typeof filter === "object" && filter !== null && { filter: filter as Record<string, unknown> }),
    ...(typeof order === "string" && { order }),
    ...(Array.isArray(columns) && { columns: columns.map(String) }),
    ...(typeof size === "number" && { size }),
    ...(typeof token === "string" && { token }),
    ...(typeof at === "number" && at > 0 && { at }),
  };
}

/** The fields of a list request that page through its results, and do not filter them. */
export const pagingFields: ReadonlySet<string> = new Set(["page_size", "page_token", "order_by", "skip"]);

/** The fields that the server can order a list by: the comment of `order_by` names them first. */
export function orderFields({ input }: DescMethod): ReadonlySet<string> {
  const [first = ""] = orderComment(input.field.orderBy).split(/, separated|\. /);
  return new Set([...first.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!));
}

function orderComment(field: DescField | undefined): string {
  return field === undefined ? "" : commentOf(field);
}
