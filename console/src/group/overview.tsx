import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";
import { PlatformError } from "../../../src/client/index.ts";
import { type Grant, GrantTable } from "../access/grants.tsx";
import { useMay } from "../access/use-may.ts";
import { type AuditRecord, RecordTable } from "../audit/records.tsx";
import { useMethod } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { TextLink } from "../links.tsx";
import { useCall } from "../queries.ts";
import { Section } from "../section.tsx";
import { Contents } from "../view/contents.tsx";
import type { TabProps } from "../view/tab-props.ts";

const OpenBySeverity = lazy(() => import("../advisory/open-by-severity.tsx"));

/** How many rows of a list are shown. */
const pageSize = 5;

/** What is in a group, who has access to it, and what has changed. */
export function GroupOverview({ entry, resource }: TabProps) {
  const scope = String(resource.uid);
  const access = useMethod("platform.access.v1.AccessService", "listAccess");
  const audit = useMethod("platform.audit.v1.AuditService", "listAuditRecords");
  const mayAudit = useMay("CAP_AUDIT_LIST", scope);
  return (
    <Stack gap="xl">
      {resource.description && <Text className="comment">{String(resource.description)}</Text>}
      <Section name="What is in it">
        <Contents entry={entry} uid={scope} />
      </Section>
      <Section name="Open advisories">
        <Suspense fallback={<Skeleton height={24} maw={400} />}>
          <OpenBySeverity group={scope} />
        </Suspense>
      </Section>
      <Excerpt
        title="Who has access"
        tab="Access"
        method={access}
        request={{ scope, pageSize }}
        isAllowed
        refused="You may not see who has access here."
      >
        {({ grants, totalCount }) => (
          <>
            <GrantTable label="Access" grants={(grants ?? []) as Grant[]} />
            <Text size="sm" c="dimmed">
              {Number(totalCount) > pageSize && `The first ${pageSize} of ${Number(totalCount).toLocaleString("en")}`}
            </Text>
          </>
        )}
      </Excerpt>
      <Excerpt
        title="Latest changes"
        tab="Audit"
        method={audit}
        request={{ scope, result: "OK", pageSize }}
        isAllowed={mayAudit}
        refused="You may not read the audit log here."
      >
        {({ records }) =>
          records === undefined ? (
            <Text size="sm">Nothing has changed lately.</Text>
          ) : (
            <RecordTable records={records as AuditRecord[]} />
          )
        }
      </Excerpt>
    </Stack>
  );
}

interface ExcerptProps {
  readonly title: string;
  /** The tab that shows all of it. */
  readonly tab: string;
  readonly method: DescMethod;
  readonly request: JsonObject;
  /** Whether the caller may call it; undefined while that is not known. */
  readonly isAllowed: boolean | undefined;
  /** What is said to somebody who may not see it. */
  readonly refused: string;
  children(page: JsonObject): ReactNode;
}

/** The first rows of a list, with a link to all of them. */
function Excerpt({ title, tab, method, request, isAllowed, refused, children }: ExcerptProps) {
  const { data, error, refetch } = useCall(method, request, isAllowed === true);
  const isRefused = isAllowed === false || (error instanceof PlatformError && error.code === Code.PermissionDenied);
  return (
    <section aria-label={title}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          {title}
        </Title>
        {!isRefused && (
          <TextLink from="/view/$resource/$" to="." search={{ tab }} size="sm">
            {`All in ${tab}`}
          </TextLink>
        )}
      </Group>
      {isRefused ? (
        <Text size="sm" c="dimmed">
          {refused}
        </Text>
      ) : error !== null ? (
        <ErrorPanel error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton height={160} />
      ) : (
        children(data)
      )}
    </section>
  );
}
