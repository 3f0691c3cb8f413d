/** What pages read from the server. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ResourceEntry } from "../../src/remote/catalog/resources.ts";
import { isUid } from "../../src/uid.ts";
import { nameField, useContract, useMethod } from "./contract.ts";
import type { Api } from "./session/api.ts";
import { useSession } from "./session/session.tsx";

/** The answer of a method that changes nothing; the one before it is kept while another is read. */
export function useCall(method: DescMethod | undefined, request: JsonObject, isEnabled = true) {
  const { api } = useSession();
  return useQuery({
    queryKey: callKey(method, request),
    queryFn: ({ signal }) => api.call(method!, request, signal),
    enabled: isEnabled && method !== undefined,
    placeholderData: keepPreviousData,
  });
}

/**
 * The answers of a method that lists, from its first page on; `fetchNextPage` reads another one. They are read again
 * whenever somebody comes back to the window.
 * @param pauseMs after how many milliseconds they are read again; false for not at all.
 */
export function usePages(
  method: DescMethod,
  request: JsonObject,
  pauseMs: (pages: readonly JsonObject[]) => number | false = () => false,
) {
  const { api } = useSession();
  const { data, ...query } = useInfiniteQuery({
    queryKey: [method.parent.typeName, method.name, "pages", request],
    queryFn: ({ pageParam, signal }) => api.call(method, { ...request, pageToken: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => (nextPageToken as string | undefined) || undefined,
    staleTime: 0,
    refetchInterval: ({ state }) => pauseMs(state.data?.pages ?? []),
  });
  return { ...query, pages: data?.pages ?? [] };
}

/** The key of an answer among what has been read. */
export function callKey(method: DescMethod | undefined, request: JsonObject) {
  return [method?.parent.typeName, method?.name, request] as const;
}

/** The resources on a page of a list, in JSON. */
export function itemsOf({ methods: { List } }: ResourceEntry, page: JsonObject | undefined): readonly JsonObject[] {
  const items = List?.output.fields.find(({ fieldKind, message }) => fieldKind === "list" && message !== undefined);
  return (items === undefined ? undefined : (page?.[items.jsonName] as JsonObject[] | undefined)) ?? [];
}

/** A resource that was found by its name, its id or its uid. */
export interface Found {
  readonly entry: ResourceEntry;
  /** The uid and the name of the resource, perhaps more of it, in JSON. */
  readonly resource: JsonObject;
}

/**
 * What the server finds by a text, of one type or of all: names that begin with it, whole ids, and uids. Nothing is
 * asked for "". `fetchNextPage` reads more names.
 */
export function useNameSearch(text: string, entry?: ResourceEntry) {
  const { api } = useSession();
  const { byType } = useContract();
  const searchNames = useMethod("platform.search.v1.SearchService", "searchNames");
  const entries = entry === undefined ? [...byType.values()] : [entry];
  const isAboutNames = !isUid(text) && (entry === undefined || hasNames(entry));
  const { data, ...query } = useInfiniteQuery({
    queryKey: [searchNames.parent.typeName, entry?.type, text],
    queryFn: async ({ pageParam, signal }) => {
      const request = { prefix: text, types: entry === undefined ? [] : [entry.type], pageToken: pageParam };
      const [exact, page] = await Promise.all([
        pageParam === "" ? findExactly(api, entries, text, signal) : [],
        isAboutNames ? api.call(searchNames, request, signal) : undefined,
      ]);
      const named = ((page?.results ?? []) as JsonObject[]).flatMap((resource): readonly Found[] => {
        const entry = byType.get(String(resource.type));
        return entry === undefined ? [] : [{ entry, resource }];
      });
      return { found: [...exact, ...named], nextPageToken: page?.nextPageToken as string | undefined };
    },
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken,
    enabled: text !== "",
    staleTime: 0,
  });
  return { ...query, found: data?.pages.flatMap(({ found }) => found) ?? [] };
}

/** The resources with a uid, or with an id where those of a type have ids instead of names. */
async function findExactly(
  api: Api,
  entries: readonly ResourceEntry[],
  text: string,
  signal: AbortSignal,
): Promise<readonly Found[]> {
  const lists = entries.flatMap((entry) => {
    const filter = exactFilter(entry, text);
    return filter === undefined ? [] : [{ entry, filter }];
  });
  const pages = await Promise.all(lists.map(({ entry, filter }) => api.call(entry.methods.List!, filter, signal)));
  return lists.flatMap(({ entry }, i) => itemsOf(entry, pages[i]).map((resource) => ({ entry, resource })));
}

/** The fields of a list request for a uid or an id; undefined if those of the type are not found so. */
function exactFilter(entry: ResourceEntry, text: string): JsonObject | undefined {
  if (isUid(text)) return hasUids(entry) ? { uidp: { ids: [text] } } : undefined;
  return nameField(entry)?.name === "id" && hasFilter(entry, "id") ? { id: text } : undefined;
}

/** Whether the server finds resources by the beginning of their names. */
function hasNames(entry: ResourceEntry): boolean {
  return nameField(entry)?.name === "name" && hasFilter(entry, "name");
}

function hasFilter({ methods: { List } }: ResourceEntry, name: string): boolean {
  return List?.input.field[name] !== undefined;
}

/** The name of a resource; undefined while it is read, and if it has none or the caller may not see it. */
export function useName(type: string | undefined, uid: string): string | undefined {
  const { api } = useSession();
  const entry = useContract().byType.get(type ?? "");
  const isNamed = entry !== undefined && nameField(entry) !== undefined && hasUids(entry);
  const { data } = useQuery({
    queryKey: [entry?.schema.typeName, "name", uid],
    queryFn: () => readName(api, entry!, uid),
    enabled: isNamed && uid !== "",
    staleTime: 60_000,
  });
  return data ?? undefined;
}

/** Whether resources can be listed by their uids. */
export function hasUids({ methods: { List } }: ResourceEntry): boolean {
  const { fields = [] } = List?.input.field.uidp?.message ?? {};
  return fields.some(({ name }) => name === "ids");
}

/** As many as a page has at most. */
const maxUids = 200;
let waiting: { readonly entry: ResourceEntry; readonly uid: string; resolve(name: string | null): void }[] = [];

/** Reads a name, together with the others that are asked for at the same time. A name that cannot be read is null. */
function readName(api: Api, entry: ResourceEntry, uid: string): Promise<string | null> {
  if (waiting.length === 0) setTimeout(() => readNames(api), 0);
  return new Promise((resolve) => waiting.push({ entry, uid, resolve }));
}

function readNames(api: Api): void {
  const asked = Map.groupBy(waiting, ({ entry }) => entry);
  waiting = [];
  for (const [entry, all] of asked)
    for (let start = 0; start < all.length; start += maxUids) {
      const some = all.slice(start, start + maxUids);
      const request = { uidp: { ids: some.map(({ uid }) => uid) }, pageSize: maxUids };
      void api
        .call(entry.methods.List!, request)
        .then((page) => new Map(itemsOf(entry, page).map((item) => [item.uid, item[nameField(entry)!.jsonName]])))
        .catch(() => new Map())
        .then((names) => {
          for (const { uid, resolve } of some) resolve((names.get(uid) as string | undefined) ?? null);
        });
    }
}
