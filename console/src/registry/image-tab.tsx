import { Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { parentOf } from "../../../src/uid.ts";
import { useContract } from "../contract.ts";
import { CopyText } from "../copy.tsx";
import { ErrorPanel } from "../error-panel.tsx";
import { TextLink, ViewLink } from "../links.tsx";
import { itemsOf, useCall } from "../queries.ts";
import { Section } from "../section.tsx";
import type { TabProps } from "../view/tab-props.ts";
import { type ImageProps, ImageSize, useArchitectures } from "./images.tsx";
import { ScanReports } from "./scan-reports.tsx";

/** The image that a tag names: its platforms, its other tags, and what scanners found in it. */
export function ImageTab({ resource }: TabProps) {
  const uid = String(resource.uid);
  const image: ImageProps = { repoUid: parentOf(uid), digest: String(resource.digest) };
  return (
    <Stack>
      <Group>
        <CopyText label="digest" text={image.digest} shown={image.digest.slice(0, 19)} />
      </Group>
      <Platforms {...image} />
      <Tags {...image} />
      <ScanReports {...image} tag={String(resource.name)} />
    </Stack>
  );
}

function Platforms(image: ImageProps) {
  const { architectures, error } = useArchitectures(image);
  return (
    <Section name="Architectures">
      {error !== null ? (
        <ErrorPanel error={error} />
      ) : architectures === undefined ? (
        <Skeleton height={60} />
      ) : architectures.length === 0 ? (
        <Text c="dimmed">Not known, or you may not see them. Importing the registry brings them.</Text>
      ) : (
        <Table maw={400}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Architecture</Table.Th>
              <Table.Th>Size</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {architectures.map((architecture) => (
              <Table.Tr key={architecture}>
                <Table.Td>{architecture}</Table.Td>
                <Table.Td>
                  <ImageSize {...image} architecture={architecture} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}

/** The tags of an image that are shown; a link leads to all of them. */
const maxTags = 20;

function Tags({ repoUid, digest }: ImageProps) {
  const entry = useContract().byPlural.get("tags")!;
  const filter = { uidp: { childrenOf: repoUid }, digest };
  const { data, error } = useCall(entry.methods.List, { ...filter, orderBy: "name", pageSize: maxTags });
  const total = Number(data?.totalCount ?? 0);
  return (
    <Section name="Tags">
      {error !== null && <ErrorPanel error={error} />}
      <Group gap="xs">
        {itemsOf(entry, data).map(({ uid, name }) => (
          <ViewLink key={String(uid)} resource="tags" uid={String(uid)} underline="always">
            <span className="cell">{String(name)}</span>
          </ViewLink>
        ))}
        {total > maxTags && (
          <TextLink to="/list/$resource" params={{ resource: "tags" }} search={{ filter }} underline="always">
            {`All ${total.toLocaleString("en")}`}
          </TextLink>
        )}
      </Group>
    </Section>
  );
}
