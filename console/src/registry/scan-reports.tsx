import type { JsonObject } from "@bufbuild/protobuf";
import { Button, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import { RatingBadge } from "../advisory/severity.tsx";
import { useKnownVulnerabilities, VulnerabilityId } from "../advisory/vulnerability-id.tsx";
import { useMethod } from "../contract.ts";
import { CopyText } from "../copy.tsx";
import { DataTable } from "../data-table.tsx";
import { ErrorPanel } from "../error-panel.tsx";
import { ForeignLink } from "../markdown/foreign-link.tsx";
import { useCall } from "../queries.ts";
import { Section } from "../section.tsx";
import { Time } from "../time.tsx";
import { ratingOf, textsOf } from "./findings.ts";
import type { ImageProps } from "./images.tsx";

/**
 * What scanners found in the image of a tag: the newest report of each scanner about what the tag names or has named.
 */
export function ScanReports({ repoUid, digest, tag }: ImageProps & { readonly tag: string }) {
  const list = useMethod("platform.registry.v1.Vulnerabilities", "listVulnReports");
  const { data, error, refetch } = useCall(list, { repoId: repoUid, tag });
  const reports = (data?.items ?? []) as JsonObject[];
  return (
    <Section name="Vulnerabilities">
      {error !== null ? (
        <ErrorPanel error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton height={100} aria-label="Reading reports" />
      ) : reports.length === 0 ? (
        <Text c="dimmed">No report of a scanner has been imported that you may see.</Text>
      ) : (
        reports.map((report) => (
          <Report
            key={JSON.stringify([report.scanner, report.createdAt, report.digest])}
            report={report}
            digest={digest}
          />
        ))
      )}
    </Section>
  );
}

/** As many findings as are shown at first. */
const maxFindings = 50;

/** @param digest of the image that the tag names now. */
function Report({ report, digest }: { readonly report: JsonObject; readonly digest: string }) {
  const [isWhole, setWhole] = useState(false);
  const findings = (report.vulnerabilities ?? []) as JsonObject[];
  const shown = isWhole ? findings : findings.slice(0, maxFindings);
  const known = useKnownVulnerabilities(shown.map(({ id }) => String(id)));
  const scanner = (report.scanner ?? {}) as JsonObject;
  const counts = Map.groupBy(findings, ratingOf);
  return (
    <Stack gap="xs" mb="md">
      <Group gap="xs">
        <Text fw={600} size="sm">
          {`${String(scanner.name ?? "Scanner")} ${String(scanner.version ?? "")}`}
        </Text>
        <Text size="sm" c="dimmed" component="div">
          <Time time={String(report.createdAt)} />
        </Text>
        {report.digest !== digest && <CopyText label="digest" text={String(report.digest)} shown="Another digest" />}
        {[...counts].map(([rating, { length }]) => (
          <RatingBadge key={rating} rating={rating} text={`${length} ${rating.toLowerCase()}`} />
        ))}
      </Group>
      {findings.length === 0 ? (
        <Text c="dimmed">It found nothing.</Text>
      ) : (
        <DataTable
          label="Findings"
          columns={["Severity", "Vulnerability", "Packages", "Fixed in", "References"]}
          minWidth={700}
        >
          {shown.map((finding) => (
            <Finding key={String(finding.id)} finding={finding} isKnown={known.has(String(finding.id))} />
          ))}
        </DataTable>
      )}
      {shown.length < findings.length && (
        <Button variant="default" size="xs" onClick={() => setWhole(true)}>
          {`Show all ${findings.length.toLocaleString("en")}`}
        </Button>
      )}
    </Stack>
  );
}

function Finding({ finding, isKnown }: { readonly finding: JsonObject; readonly isKnown: boolean }) {
  const fix = (finding.fix ?? {}) as JsonObject;
  return (
    <Table.Tr>
      <Table.Td>
        <RatingBadge rating={ratingOf(finding)} />
      </Table.Td>
      <Table.Td>
        <VulnerabilityId id={String(finding.id)} isKnown={isKnown} />
        <Text size="xs" c="dimmed" className="cell" title={String(finding.description ?? "")}>
          {String(finding.description ?? "")}
        </Text>
      </Table.Td>
      <Table.Td>{textsOf(finding.purls).join(", ")}</Table.Td>
      <Table.Td>{textsOf(fix.versions).join(", ") || "–"}</Table.Td>
      <Table.Td>
        <Group gap={6}>
          {textsOf(finding.relatedUrls).map((url, i) => (
            <ForeignLink key={url} href={url} title={url}>
              {`[${i + 1}]`}
            </ForeignLink>
          ))}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
