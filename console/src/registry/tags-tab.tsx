import "@mantine/core/styles/Chip.css";
import type { JsonObject } from "@bufbuild/protobuf";
import { Badge, Chip, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import { useContract } from "../contract.ts";
import { CopyText } from "../copy.tsx";
import { ErrorPanel } from "../error-panel.tsx";
import { TextLink, ViewLink } from "../links.tsx";
import { Paging } from "../list/paging.tsx";
import { itemsOf, useCall } from "../queries.ts";
import { Time } from "../time.tsx";
import type { TabProps } from "../view/tab-props.ts";
import { ImageSize, useArchitectures } from "./images.tsx";

/** The tags that can be left out, by the field of the request. */
const hidable: Readonly<Record<string, string>> = {
  excludeReferrers: "Hide signatures and attachments",
  excludeDates: "Hide dated tags",
  excludeEpochs: "Hide build numbers",
};

/** The tags of a repo, with the images that they name. */
export function TagsTab({ resource }: TabProps) {
  const repoUid = String(resource.uid);
  const [hidden, setHidden] = useState<string[]>([]);
  const [{ size, at, token }, setPage] = useState<{ size: number; at: number; token?: string }>({ size: 25, at: 0 });
  const entry = useContract().byPlural.get("tags")!;
  const filter = { uidp: { childrenOf: repoUid }, ...Object.fromEntries(hidden.map((name) => [name, true])) };
  const { data, error, refetch } = useCall(entry.methods.List, {
    ...filter,
    orderBy: "update_time desc",
    pageSize: size,
    ...(token === undefined ? { skip: at } : { pageToken: token }),
  });
  const tags = itemsOf(entry, data);
  const hide = (names: string[]) => {
    setHidden(names);
    setPage({ size, at: 0 });
  };
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          <Chip.Group multiple value={hidden} onChange={hide}>
            {Object.entries(hidable).map(([name, label]) => (
              <Chip key={name} value={name} size="xs" variant="outline">
                {label}
              </Chip>
            ))}
          </Chip.Group>
        </Group>
        <TextLink to="/list/$resource" params={{ resource: "tags" }} search={{ filter }}>
          All filters
        </TextLink>
      </Group>
      {data === undefined ? (
        <Skeleton height={200} aria-label="Reading tags" />
      ) : tags.length === 0 ? (
        <Text c="dimmed">
          {hidden.length > 0 ? "Every tag is hidden." : "No tags. Push an image to the registry, or create a tag."}
        </Text>
      ) : (
        <>
          <TagTable tags={tags} repoUid={repoUid} />
          <Paging
            at={at}
            count={tags.length}
            total={Number(data.totalCount ?? 0)}
            size={size}
            hasNext={Boolean(data.nextPageToken)}
            previous={() => setPage({ size, at: Math.max(at - size, 0) })}
            next={() => setPage({ size, at: at + tags.length, token: String(data.nextPageToken) })}
            changeSize={(next) => setPage({ size: next, at: 0 })}
          />
        </>
      )}
    </Stack>
  );
}

function TagTable({ tags, repoUid }: { readonly tags: readonly JsonObject[]; readonly repoUid: string }) {
  return (
    <Table.ScrollContainer minWidth={640} type="native" tabIndex={0} aria-label="Tags">
      <Table highlightOnHover verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            {["Tag", "Digest", "Architectures", "Size", "Updated"].map((label) => (
              <Table.Th key={label}>{label}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tags.map((tag) => (
            <TagRow key={String(tag.uid)} tag={tag} repoUid={repoUid} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function TagRow({ tag, repoUid }: { readonly tag: JsonObject; readonly repoUid: string }) {
  const image = { repoUid, digest: String(tag.digest) };
  const { architectures, error } = useArchitectures(image);
  const [first] = architectures ?? [];
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <ViewLink resource="tags" uid={String(tag.uid)} fw={500}>
            <span className="cell">{String(tag.name)}</span>
          </ViewLink>
          {tag.deprecated === true && (
            <Badge variant="default" tt="none" radius="sm">
              Deprecated
            </Badge>
          )}
        </Group>
      </Table.Td>
      <Table.Td>
        <CopyText label="digest" text={image.digest} shown={image.digest.slice(0, 19)} />
      </Table.Td>
      <Table.Td>
        {error !== null ? "not readable" : (architectures?.join(", ") ?? <Skeleton height={14} />) || "–"}
      </Table.Td>
      <Table.Td>{first === undefined ? "–" : <ImageSize {...image} architecture={first} />}</Table.Td>
      <Table.Td>
        <Time time={String(tag.updateTime)} />
      </Table.Td>
    </Table.Tr>
  );
}
