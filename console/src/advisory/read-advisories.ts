/** Many advisories at once, for what is counted from them. */
import type { JsonObject } from "@bufbuild/protobuf";
import { useQuery } from "@tanstack/react-query";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { itemsOf } from "../queries.ts";
import type { Api } from "../session/api.ts";
import { useSession } from "../session/session.tsx";

/** As many advisories as are read. */
const maxAdvisories = 2000;
const pageSize = 200;

/** The advisories that filters find, at most 2,000 of them, those that were changed last, and how many there are. */
export function useAdvisories(entry: ResourceEntry, filter: JsonObject) {
  const { api } = useSession();
  return useQuery({
    queryKey: [entry.schema.typeName, "all", filter],
    queryFn: ({ signal }) => readAdvisories(api, entry, filter, signal),
    staleTime: 60_000,
  });
}

async function readAdvisories(api: Api, entry: ResourceEntry, filter: JsonObject, signal: AbortSignal) {
  const advisories: JsonObject[] = [];
  let pageToken = "";
  let total = 0;
  do {
    const request = { ...filter, orderBy: "update_time desc", pageSize, pageToken };
    const page = await api.call(entry.methods.List!, request, signal);
    advisories.push(...itemsOf(entry, page));
    pageToken = String(page.nextPageToken ?? "");
    total = Number(page.totalCount ?? 0);
  } while (pageToken !== "" && advisories.length < maxAdvisories);
  return { advisories, total };
}
