import type { JsonObject } from "@bufbuild/protobuf";
import { Stack, Title } from "@mantine/core";
import type { TabProps } from "../view/tab-props.ts";
import { Events } from "./events.tsx";
import { Facts, Severities } from "./facts.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { aliasesOf, useKnownVulnerabilities, VulnerabilityIds } from "./vulnerability-id.tsx";

/** What an advisory is about, how severe it is, and its status. */
export function AdvisoryTab({ entry, resource }: TabProps) {
  const { artifactName, artifactVersion, artifactType, artifactArchitecture, componentName, componentType } = resource;
  const ids = aliasesOf(resource);
  const known = useKnownVulnerabilities(ids);
  return (
    <Stack>
      <Facts
        facts={{
          Status: <StatusBadge advisory={resource} />,
          Severity: <Severities severities={resource.severities} />,
          Vulnerability: <VulnerabilityIds ids={ids} known={known} />,
          Package: [artifactName, artifactVersion, artifactType, artifactArchitecture].filter(Boolean).join(" · "),
          Component: [componentName, componentType].filter(Boolean).join(" · "),
        }}
      />
      <Title order={2} size="h4">
        History
      </Title>
      <Events schema={entry.schema.field.events!.message!} events={(resource.events ?? []) as JsonObject[]} />
    </Stack>
  );
}
