import { Button, Skeleton, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { itemsOf, nameSearch, usePages } from "../queries.ts";
import { GroupPath } from "./path.tsx";

const route = getRouteApi("/tree");

/** Takes the name of a group into the address. */
export function GroupSearchInput() {
  const { name = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const [text, setText] = useState(name);
  const search = useDebouncedCallback(
    (next: string) => void navigate({ to: ".", search: next === "" ? {} : { name: next }, replace: true }),
    200,
  );
  return (
    <TextInput
      type="search"
      label="Find a group"
      placeholder="Its whole name, or a uid"
      maw={420}
      mb="md"
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        search(value.trim());
      }}
    />
  );
}

/** The groups that the server finds by a name, each with its path. */
export function FoundGroups({ name }: { readonly name: string }) {
  const entry = useContract().byType.get("iam.platform.internal/Group")!;
  const { pages, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage, refetch } = usePages(
    entry.methods.List!,
    { ...nameSearch(entry, name), orderBy: "name", pageSize: 50 },
  );
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (isPending) return <Skeleton height={20} maw={240} aria-label="Searching" />;
  const groups = pages.flatMap((page) => itemsOf(entry, page));
  const total = Number(pages.at(-1)?.totalCount ?? groups.length);
  return (
    <section aria-label="Groups found">
      <Text size="sm" c="dimmed" mb="xs" aria-live="polite">
        {total === 0
          ? `No group that you may see has this name.`
          : total === 1
            ? "1 group"
            : `${total.toLocaleString("en")} groups`}
      </Text>
      <ul className="tree">
        {groups.map(({ uid }) => (
          <li key={String(uid)}>
            <GroupPath uid={String(uid)} />
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button variant="default" size="compact-sm" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </section>
  );
}
