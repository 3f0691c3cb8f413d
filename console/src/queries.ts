/** What pages read from the server. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ResourceEntry } from "../../src/remote/catalog/resources.ts";
import { isUid } from "../../src/uid.ts";
import { nameField, useContract } from "./contract.ts";
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

/** The fields of a list request that find resources by a name, or by a uid; undefined if there are none for it. */
export function nameSearch(entry: ResourceEntry, text: string): JsonObject | undefined {
  if (isUid(text)) return hasUids(entry) ? { uidp: { ids: [text] } } : undefined;
  const { field } = entry.methods.List!.input;
  const filter = field[nameField(entry)?.localName ?? ""];
  return filter && { [filter.jsonName]: text };
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
