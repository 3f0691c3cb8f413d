import type { JsonObject } from "@bufbuild/protobuf";
import { Skeleton, Stack, Text } from "@mantine/core";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { Chart } from "./chart.tsx";
import { historyOf } from "./history.ts";
import { useAdvisories } from "./read-advisories.ts";

/** The advisories that filters find, over time. */
export function ListHistory({ entry, filter }: { readonly entry: ResourceEntry; readonly filter: JsonObject }) {
  const { data, error, refetch } = useAdvisories(entry, filter);
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
