/** Resources that are found by their names or uids. */
import { title } from "../contract.ts";
import { shortUid } from "../copy.tsx";
import { displayName } from "../links.tsx";
import { type Found, useNameSearch } from "../queries.ts";
import type { Entry } from "./entries.ts";

/** Asks the server for resources with a name or a uid. A type that the caller may not list has none. */
export function useSearch(text: string): { readonly found: readonly Entry[]; readonly isLoading: boolean } {
  const { found, isLoading } = useNameSearch(text);
  return { found: found.filter(({ entry }) => entry.methods.Get !== undefined).map(entryOf), isLoading };
}

function entryOf({ entry, resource }: Found): Entry {
  return {
    label: `${displayName(entry, resource)} (${shortUid(String(resource.uid))})`,
    kind: title(entry.singular),
    path: `/view/${entry.plural}/${resource.uid}`,
  };
}
