import type { DescField } from "@bufbuild/protobuf";
import { Group, Stack, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { singularOf, title, useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { ButtonLink } from "../links.tsx";
import { NotFound } from "../not-found.tsx";
import { defaultColumns } from "./columns.ts";
import { ColumnsMenu } from "./columns-menu.tsx";
import { EmptyList } from "./empty.tsx";
import { Filters } from "./filters.tsx";
import { pages } from "./pages.ts";
import { Paging } from "./paging.tsx";
import { orderFields } from "./search.ts";
import { ResourceTable } from "./table.tsx";
import { useList } from "./use-list.ts";

const route = getRouteApi("/list/$resource");

/** The list of a resource. */
export function ListPage() {
  const { resource } = route.useParams();
  const entry = useContract().byPlural.get(resource);
  if (entry?.methods.List === undefined) return <NotFound />;
  const Page = pages[entry.type] ?? List;
  return <Page key={resource} entry={entry} />;
}

function List({ entry }: { readonly entry: ResourceEntry }) {
  const { search, filter, missing, items, isStale, error, paging, retry, change } = useList(entry);
  const names = search.columns;
  const columns = useMemo(
    () => (names === undefined ? defaultColumns(entry) : fieldsNamed(entry, names)),
    [entry, names],
  );
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1} size="h2">
          {title(entry.plural)}
        </Title>
        <Group gap="xs">
          <ColumnsMenu entry={entry} columns={columns} choose={(chosen) => change({ columns: chosen })} />
          {entry.methods.Create && (
            <ButtonLink to="/create/$resource" params={{ resource: entry.plural }}>
              {`Create ${singularOf(entry)}`}
            </ButtonLink>
          )}
        </Group>
      </Group>
      <Filters
        key={JSON.stringify(filter)}
        entry={entry}
        filter={filter}
        missing={missing}
        apply={(next) => change({ filter: next })}
      />
      {error !== null ? (
        <ErrorPanel error={error} retry={retry} />
      ) : missing.length > 0 || items?.length === 0 ? (
        <EmptyList
          entry={entry}
          missing={missing}
          isFiltered={Object.keys(filter).length > 0}
          clear={() => change({ filter: {} })}
        />
      ) : (
        <>
          <ResourceTable
            entry={entry}
            columns={columns}
            items={items}
            isStale={isStale}
            orderable={orderFields(entry.methods.List!)}
            order={search.order}
            changeOrder={(next) => change({ order: next })}
          />
          <Paging {...paging} />
        </>
      )}
    </Stack>
  );
}

function fieldsNamed({ schema }: ResourceEntry, names: readonly string[]): readonly DescField[] {
  return schema.fields.filter(({ name }) => names.includes(name));
}
