import type { JsonObject } from "@bufbuild/protobuf";
import { Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { itemsOf } from "../queries.ts";
import type { Api } from "../session/api.ts";
import { useSession } from "../session/session.tsx";
import { Chart } from "./chart.tsx";
import { historyOf } from "./history.ts";

/** As many advisories as are read for a chart. */
const maxAdvisories = 2000;
const pageSize = 200;

/** The advisories that filters find, over time. */
export function ListHistory({ entry, filter }: { readonly entry: ResourceEntry; readonly filter: JsonObject }) {
  const { api } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: [entry.schema.typeName, "history", filter],
    queryFn: ({ signal }) => readAdvisories(api, entry, filter, signal),
    staleTime: 60_000,
  });
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={280} aria-label="Reading advisories" />;
  const { advisories, total } = data;
  return (
    <Stack gap="xs">
      <Chart points={historyOf(advisories)} />
      {advisories.length < total && (
        <Text size="sm" c="dimmed">
          {`Counted from the ${advisories.length.toLocaleString("en")} that were changed last, of ${total.toLocaleString("en")}. Filters narrow them down.`}
        </Text>
      )}
    </Stack>
  );
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
