import type { DescField, JsonObject } from "@bufbuild/protobuf";
import { getRouteApi } from "@tanstack/react-router";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { behaves, FieldBehavior } from "../contract.ts";
import { itemsOf, useCall } from "../queries.ts";
import type { PagingProps } from "./paging.tsx";
import type { ListSearch } from "./search.ts";

const route = getRouteApi("/list/$resource");

const defaultSize = 50;

/** The page of a list that the address names. */
export interface ListState {
  readonly search: ListSearch;
  /** Fields of the request that filter, in JSON. */
  readonly filter: JsonObject;
  /** Required fields of the request that are not given: nothing is read without them. */
  readonly missing: readonly DescField[];
  /** The results; undefined while the first page is read. */
  readonly items: readonly JsonObject[] | undefined;
  /** Whether the results are those of the page before. */
  readonly isStale: boolean;
  readonly error: Error | null;
  readonly paging: PagingProps;
  retry(): void;
  /** Changes the address; unless it says so, the list begins with the first page again. */
  change(changes: ListSearch, options?: { readonly replace?: boolean }): void;
}

/** Reads the page of a list that the address names. */
export function useList(entry: ResourceEntry): ListState {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change: ListState["change"] = (changes, options) => {
    const { token: _token, at: _at, ...kept } = search;
    void navigate({ to: ".", search: { ...kept, ...changes }, ...options });
  };

  const list = entry.methods.List!;
  const { order, size = defaultSize, token, at = 0 } = search;
  const filter = (search.filter ?? {}) as JsonObject;
  const missing = list.input.fields.filter(
    (field) => behaves(field, FieldBehavior.REQUIRED) && filter[field.jsonName] === undefined,
  );
  const request: JsonObject = {
    ...filter,
    pageSize: size,
    ...(order !== undefined && { orderBy: order }),
    ...(token === undefined ? { skip: at } : { pageToken: token }),
  };
  const { data, error, isPlaceholderData, isFetching, refetch } = useCall(list, request, missing.length === 0);
  const items = data && itemsOf(entry, data);
  const count = items?.length ?? 0;
  const total = Number(data?.totalCount ?? 0);
  return {
    search,
    filter,
    missing,
    items,
    isStale: isPlaceholderData && isFetching,
    error,
    paging: {
      at,
      count,
      total,
      size,
      // While the page is read, the results are of another one, and so is their token.
      hasNext: isPlaceholderData ? at + size < total : Boolean(data?.nextPageToken),
      previous: () => change({ at: Math.max(at - size, 0) }),
      next: () =>
        change(isPlaceholderData ? { at: at + size } : { token: String(data?.nextPageToken), at: at + count }),
      changeSize: (next) => change({ size: next }),
    },
    retry: () => void refetch(),
    change,
  };
}
