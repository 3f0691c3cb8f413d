import type { JsonObject } from "@bufbuild/protobuf";
import { Skeleton, Stack, Text, Title, UnstyledButton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useContract } from "./contract.ts";
import { ErrorPanel } from "./error-panel.tsx";
import { FoundGroups, GroupSearchInput } from "./group/search.tsx";
import { TextLink, ViewLink } from "./links.tsx";
import { MoreButton } from "./more-button.tsx";
import { itemsOf, usePages } from "./queries.ts";

/** The groups as a tree. Those in a group are read when it is opened. */
export function TreePage() {
  const { name } = route.useSearch();
  return (
    <>
      <Title order={1} size="h2" mb="xs">
        Group tree
      </Title>
      <Text c="dimmed" size="sm" mb="md">
        A group without a parent is an organisation. Open a group to see the groups in it.
      </Text>
      <GroupSearchInput />
      {name === undefined ? (
        <Groups filter={{ inRoot: true }} otherwise={<Reachable />} />
      ) : (
        <FoundGroups name={name} />
      )}
    </>
  );
}

const route = getRouteApi("/tree");
const groupType = "iam.platform.internal/Group";
const pageSize = 50;

/** The groups that a filter by place finds. `otherwise`: what is shown if there are none. */
function Groups({ filter, otherwise }: { readonly filter: JsonObject; readonly otherwise: React.ReactNode }) {
  const { items, error, isPending, refetch, ...list } = useGroups({ uidp: filter, orderBy: "name", pageSize });
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (isPending) return <Skeleton height={20} my={6} maw={240} aria-label="Reading groups" />;
  if (items.length === 0) return otherwise;
  return (
    <>
      <ul className="tree">
        {items.map((group) => (
          <Node key={String(group.uid)} group={group} />
        ))}
      </ul>
      <MoreButton list={list} />
    </>
  );
}

/** The topmost groups of somebody who may see no organisation as a whole. */
function Reachable() {
  const { items, error, isPending, refetch } = useGroups({ orderBy: "uid", pageSize: 200 });
  const uids = items.map(({ uid }) => String(uid));
  const topmost = items.filter(({ uid }) => !uids.some((other) => String(uid).startsWith(`${other}/`)));
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (isPending) return <Skeleton height={20} maw={240} aria-label="Reading groups" />;
  if (topmost.length === 0)
    return (
      <Stack align="flex-start">
        <Text>There are no groups that you may see.</Text>
        <TextLink to="/create/$resource" params={{ resource: "groups" }}>
          Create a group
        </TextLink>
      </Stack>
    );
  return (
    <ul className="tree">
      {topmost.map((group) => (
        <Node key={String(group.uid)} group={group} />
      ))}
    </ul>
  );
}

function Node({ group }: { readonly group: JsonObject }) {
  const [isOpen, setOpen] = useState(false);
  const uid = String(group.uid);
  const name = String(group.name);
  return (
    <li>
      <UnstyledButton
        className="twisty"
        aria-expanded={isOpen}
        aria-label={`Groups in ${name}`}
        onClick={() => setOpen(!isOpen)}
      >
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
      </UnstyledButton>
      <ViewLink resource="groups" uid={uid}>
        {name}
      </ViewLink>
      {isOpen && (
        <Groups
          filter={{ childrenOf: uid }}
          otherwise={
            <Text size="sm" c="dimmed" pl="xl">
              No groups in it
            </Text>
          }
        />
      )}
    </li>
  );
}

function useGroups(request: JsonObject) {
  const entry = useContract().byType.get(groupType)!;
  const { pages, ...query } = usePages(entry.methods.List!, request);
  return { ...query, items: pages.flatMap((page) => itemsOf(entry, page)) };
}
