import type { JsonObject } from "@bufbuild/protobuf";
import { Skeleton, Table, Text } from "@mantine/core";
import { memo } from "react";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { ViewLink } from "../links.tsx";
import { Heading, type Ordering } from "../list/table.tsx";
import { Time } from "../time.tsx";
import { SeverestBadge } from "./severity.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { aliasesOf, useKnownVulnerabilities, VulnerabilityIds } from "./vulnerability-id.tsx";

interface AdvisoryTableProps {
  readonly entry: ResourceEntry;
  /** Undefined while the first page is read. */
  readonly items: readonly JsonObject[] | undefined;
  /** Whether the items are those of the page before. */
  readonly isStale: boolean;
  /** Absent where the order cannot be chosen. */
  readonly ordering?: Ordering;
}

const unordered: Ordering = { orderable: new Set(), order: undefined, changeOrder: () => {} };

/** A page of advisories. */
export function AdvisoryTable({ entry, items, isStale, ordering = unordered }: AdvisoryTableProps) {
  const known = useKnownVulnerabilities((items ?? []).flatMap(aliasesOf));
  const { field } = entry.schema;
  if (items === undefined) return <Skeleton height={400} aria-label="Reading advisories" />;
  return (
    <Table.ScrollContainer minWidth={800} type="native" tabIndex={0} aria-label="Advisories">
      <Table highlightOnHover verticalSpacing="xs" aria-busy={isStale} opacity={isStale ? 0.6 : 1}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Severity</Table.Th>
            <Heading field={field.advisoryId!} {...ordering} />
            <Table.Th>Vulnerability</Table.Th>
            <Heading field={field.artifactName!} {...ordering} />
            <Table.Th>Status</Table.Th>
            <Heading field={field.updateTime!} {...ordering} />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((advisory) => (
            <AdvisoryRow key={String(advisory.uid)} advisory={advisory} known={known} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface AdvisoryRowProps {
  readonly advisory: JsonObject;
  /** Ids of vulnerabilities that there is metadata about. */
  readonly known: ReadonlySet<string>;
}

const AdvisoryRow = memo(({ advisory, known }: AdvisoryRowProps) => {
  const { artifactName, artifactVersion, componentName } = advisory;
  return (
    <Table.Tr>
      <Table.Td>
        <SeverestBadge severities={advisory.severities} />
      </Table.Td>
      <Table.Td>
        <ViewLink resource="advisories" uid={String(advisory.uid)} className="uid" fw={500}>
          {String(advisory.advisoryId)}
        </ViewLink>
      </Table.Td>
      <Table.Td>
        <VulnerabilityIds ids={aliasesOf(advisory)} known={known} />
      </Table.Td>
      <Table.Td>
        <span className="cell">{[artifactName, artifactVersion].filter(Boolean).join(" ")}</span>
        {componentName !== undefined && componentName !== artifactName && (
          <Text size="xs" c="dimmed" className="cell">
            {String(componentName)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <StatusBadge advisory={advisory} />
      </Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <Time time={String(advisory.updateTime)} />
      </Table.Td>
    </Table.Tr>
  );
});
