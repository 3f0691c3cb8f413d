import "@mantine/core/styles/Chip.css";
import { Button, Chip, Group, Skeleton, Stack, TextInput, Title } from "@mantine/core";
import { useDebouncedCallback, useDisclosure } from "@mantine/hooks";
import { lazyRouteComponent } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { EmptyList } from "../list/empty.tsx";
import { Filters } from "../list/filters.tsx";
import { Paging } from "../list/paging.tsx";
import { orderFields } from "../list/search.ts";
import { useList } from "../list/use-list.ts";
import { AdvisoryTable } from "./list-table.tsx";
import { filterOf, statuses } from "./status.ts";

const ListHistory = lazyRouteComponent(() => import("./list-history.tsx"), "ListHistory");

/** After as many milliseconds without a key what has been typed is searched. */
const typingMs = 300;

/** The advisories: found by vulnerability and package, and by status. */
export function AdvisoryList({ entry }: { readonly entry: ResourceEntry }) {
  const { search, filter, items, isStale, error, paging, retry, change } = useList(entry);
  const [isHistoryOpen, { toggle }] = useDisclosure(false);
  const { query, latestEventType, ...others } = filter;
  const find = (text: string) => {
    const { query: _query, ...rest } = filter;
    change({ filter: text === "" ? rest : { ...rest, query: text } }, { replace: true });
  };
  const showStatus = (value: string) =>
    change({ filter: { ...others, ...(query !== undefined && { query }), ...(value && { latestEventType: value }) } });
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1} size="h2">
          Advisories
        </Title>
        <Button variant="default" onClick={toggle} aria-expanded={isHistoryOpen}>
          Over time
        </Button>
      </Group>
      <SearchInput query={String(query ?? "")} find={find} />
      <Chip.Group value={String(latestEventType ?? "")} onChange={showStatus}>
        <Group gap="xs" role="radiogroup" aria-label="Status">
          <Chip value="" size="xs" variant="outline">
            Any status
          </Chip>
          {statuses.map((status) => (
            <Chip key={status.event} value={filterOf(status)} size="xs" variant="outline">
              {status.label}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <Filters
        key={JSON.stringify(others)}
        entry={entry}
        filter={others}
        missing={[]}
        apply={(next) =>
          change({
            filter: {
              ...(query !== undefined && { query }),
              ...(latestEventType !== undefined && { latestEventType }),
              ...next,
            },
          })
        }
      />
      {isHistoryOpen && (
        <Suspense fallback={<Skeleton height={280} />}>
          <ListHistory entry={entry} filter={filter} />
        </Suspense>
      )}
      {error !== null ? (
        <ErrorPanel error={error} retry={retry} />
      ) : items?.length === 0 ? (
        <EmptyList
          entry={entry}
          missing={[]}
          isFiltered={Object.keys(filter).length > 0}
          clear={() => change({ filter: {} })}
        />
      ) : (
        <>
          <AdvisoryTable
            entry={entry}
            items={items}
            isStale={isStale}
            ordering={{
              orderable: orderFields(entry.methods.List!),
              order: search.order,
              changeOrder: (order) => change({ order }),
            }}
          />
          <Paging {...paging} />
        </>
      )}
    </Stack>
  );
}

interface SearchInputProps {
  /** What is searched. */
  readonly query: string;
  find(query: string): void;
}

/** Searches while somebody types; without the focus it shows what is searched. */
function SearchInput({ query, find }: SearchInputProps) {
  const [typed, setTyped] = useState<string>();
  const findSoon = useDebouncedCallback((text: string) => find(text.trim()), typingMs);
  return (
    <TextInput
      type="search"
      aria-label="Search advisories"
      placeholder="CVE, other alias, package or component"
      value={typed ?? query}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        findSoon(currentTarget.value);
      }}
      onBlur={() => {
        findSoon.flush();
        setTyped(undefined);
      }}
    />
  );
}
