/** Resources that are found by their names or uids. */
import type { JsonObject } from "@bufbuild/protobuf";
import { useQueries } from "@tanstack/react-query";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { title, useContract } from "../contract.ts";
import { shortUid } from "../copy.tsx";
import { displayName } from "../links.tsx";
import { callKey, itemsOf, nameSearch } from "../queries.ts";
import { useSession } from "../session/session.tsx";
import type { Entry } from "./entries.ts";

/** The most resources of one type that are offered. */
const maxOfType = 5;

/** Asks the server for resources with a name or a uid. A type that the caller may not list has none. */
export function useSearch(text: string): { readonly found: readonly Entry[]; readonly isPending: boolean } {
  const { api } = useSession();
  const searches = [...useContract().byType.values()].flatMap((entry) => {
    const request = requestOf(entry, text);
    return request === undefined ? [] : [{ entry, request }];
  });
  return useQueries({
    queries: searches.map(({ entry: { methods }, request }) => ({
      queryKey: callKey(methods.List, request),
      queryFn: ({ signal }: { signal: AbortSignal }) => api.call(methods.List!, request, signal),
    })),
    combine: (results) => ({
      found: results.flatMap(({ data }, i) => itemsOf(searches[i]!.entry, data).map(entryOf(searches[i]!.entry))),
      isPending: results.some(({ isPending }) => isPending),
    }),
  });
}

/** The request for resources with a name or a uid; undefined if they cannot be asked for so. */
function requestOf(entry: ResourceEntry, text: string): JsonObject | undefined {
  const { List, Get } = entry.methods;
  if (List === undefined || Get === undefined || text === "") return undefined;
  const filter = nameSearch(entry, text);
  return filter && { ...filter, pageSize: maxOfType };
}

function entryOf(entry: ResourceEntry) {
  return (resource: JsonObject): Entry => ({
    label: `${displayName(entry, resource)} (${shortUid(String(resource.uid))})`,
    kind: title(entry.singular),
    path: `/view/${entry.plural}/${resource.uid}`,
  });
}
