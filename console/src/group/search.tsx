import { Skeleton, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { MoreButton } from "../more-button.tsx";
import { useNameSearch } from "../queries.ts";
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
      placeholder="The beginning of its name, or a uid"
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

/** The groups that the server finds by the beginning of a name or by a uid, each with its path. */
export function FoundGroups({ name }: { readonly name: string }) {
  const entry = useContract().byType.get("iam.platform.internal/Group")!;
  const { found, error, isPending, refetch, ...list } = useNameSearch(name, entry);
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (isPending) return <Skeleton height={20} maw={240} aria-label="Searching" />;
  return (
    <section aria-label="Groups found">
      <Text size="sm" c="dimmed" mb="xs" aria-live="polite">
        {countOf(found.length, list.hasNextPage)}
      </Text>
      <ul className="tree">
        {found.map(({ resource: { uid } }) => (
          <li key={String(uid)}>
            <GroupPath uid={String(uid)} />
          </li>
        ))}
      </ul>
      <MoreButton list={list} />
    </section>
  );
}

function countOf(count: number, hasMore: boolean): string {
  if (count === 0) return "No group that you may see has a name that begins so, or this uid.";
  if (count === 1 && !hasMore) return "1 group";
  return `${hasMore ? "More than " : ""}${count.toLocaleString("en")} groups`;
}
