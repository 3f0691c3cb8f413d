import type { DescField, JsonObject } from "@bufbuild/protobuf";
import { Group, Stack, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { behaves, FieldBehavior, singularOf, title, useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { ButtonLink } from "../links.tsx";
import { NotFound } from "../not-found.tsx";
import { itemsOf, useCall } from "../queries.ts";
import { defaultColumns } from "./columns.ts";
import { ColumnsMenu } from "./columns-menu.tsx";
import { EmptyList } from "./empty.tsx";
import { Filters } from "./filters.tsx";
import { Paging } from "./paging.tsx";
import { type ListSearch, orderFields } from "./search.ts";
import { ResourceTable } from "./table.tsx";

const route = getRouteApi("/list/$resource");

/** The list of a resource. */
export function ListPage() {
  const { resource } = route.useParams();
  const entry = useContract().byPlural.get(resource);
  return entry?.methods.List === undefined ? <NotFound /> : <List key={resource} entry={entry} />;
}

const defaultSize = 50;

function List({ entry }: { readonly entry: ResourceEntry }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  /** Changes the list; unless it says so, it begins with the first page again. */
  const change = (changes: ListSearch) => {
    const { token: _token, at: _at, ...kept } = search;
    void navigate({ to: ".", search: { ...kept, ...changes } });
  };

  const list = entry.methods.List!;
  const { filter = {}, order, columns: names, size = defaultSize, token, at = 0 } = search;
  const request: JsonObject = {
    ...(filter as JsonObject),
    pageSize: size,
    ...(order !== undefined && { orderBy: order }),
    ...(token === undefined ? { skip: at } : { pageToken: token }),
  };
  const missing = list.input.fields.filter(
    (field) => behaves(field, FieldBehavior.REQUIRED) && filter[field.jsonName] === undefined,
  );
  const { data, error, isPlaceholderData, isFetching, refetch } = useCall(list, request, missing.length === 0);
  const items = itemsOf(entry, data);
  const columns = names === undefined ? defaultColumns(entry) : fieldsNamed(entry, names);
  const total = Number(data?.totalCount ?? 0);
  const isEmpty = missing.length > 0 || (data !== undefined && items.length === 0);

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
        filter={filter as JsonObject}
        missing={missing}
        apply={(next) => change({ filter: next })}
      />
      {error !== null ? (
        <ErrorPanel error={error} retry={() => void refetch()} />
      ) : isEmpty ? (
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
            items={data === undefined ? undefined : items}
            isStale={isPlaceholderData && isFetching}
            orderable={orderFields(list)}
            order={order}
            changeOrder={(next) => change({ order: next })}
          />
          <Paging
            at={at}
            count={items.length}
            total={total}
            size={size}
            hasNext={Boolean(data?.nextPageToken)}
            previous={() => change({ at: Math.max(at - size, 0) })}
            next={() => change({ token: String(data?.nextPageToken), at: at + items.length })}
            changeSize={(next) => change({ size: next })}
          />
        </>
      )}
    </Stack>
  );
}

function fieldsNamed({ schema }: ResourceEntry, names: readonly string[]): readonly DescField[] {
  return schema.fields.filter(({ name }) => names.includes(name));
}
