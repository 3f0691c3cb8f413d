import { Group, Skeleton, Stack, Text } from "@mantine/core";
import { useEffect } from "react";
import { useMethod } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { MoreButton } from "../more-button.tsx";
import { usePages } from "../queries.ts";
import type { TabProps } from "../view/tab-props.ts";
import { useFilter } from "../view/use-filter.ts";
import { AuditFilters } from "./filters.tsx";
import { type AuditRecord, RecordTable } from "./records.tsx";

/** The audit records of a group, the newest first. */
export function GroupAudit({ resource }: TabProps) {
  const [filter] = useFilter();
  return (
    <Stack>
      <AuditFilters />
      <Records scope={String(resource.uid)} filter={filter} />
    </Stack>
  );
}

/** How many records a call looks at, at most. */
const examined = 1000;
/** How many pages without a record are read in a row before somebody is asked. */
const maxEmptyPages = 10;

interface RecordsProps {
  readonly scope: string;
  readonly filter: Readonly<Record<string, string>>;
}

function Records({ scope, filter }: RecordsProps) {
  const { pages, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage, refetch } = usePages(
    useMethod("platform.audit.v1.AuditService", "listAuditRecords"),
    { ...filter, scope },
  );
  const records = pages.flatMap((page) => (page.records ?? []) as AuditRecord[]);
  const emptyPages = pages.length - 1 - pages.findLastIndex((page) => page.records !== undefined);
  const goesOn = hasNextPage && error === null && emptyPages % maxEmptyPages > 0;
  useEffect(() => {
    if (goesOn && !isFetchingNextPage) void fetchNextPage();
  }, [goesOn, isFetchingNextPage, fetchNextPage]);
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (isPending) return <Skeleton height={240} aria-label="Reading audit records" />;
  const isBusy = goesOn || isFetchingNextPage;
  return (
    <>
      {records.length > 0 && <RecordTable records={records} />}
      {records.length === 0 && !hasNextPage && (
        <Text>
          {Object.keys(filter).length > 0
            ? "No records match these filters. Clear some of them to see others."
            : "Nothing has been recorded here. Calls that change something are, and calls that are denied."}
        </Text>
      )}
      {hasNextPage && (
        <Group>
          <MoreButton label="Show older" list={{ hasNextPage, isFetchingNextPage: isBusy, fetchNextPage }} />
          {emptyPages > 0 && (
            <Text size="sm" c="dimmed" aria-live="polite">
              {isBusy
                ? "Looking further back"
                : `Nothing matches in another ${(emptyPages * examined).toLocaleString("en")} records`}
            </Text>
          )}
        </Group>
      )}
    </>
  );
}
