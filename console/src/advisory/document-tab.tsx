import "@mantine/core/styles/Accordion.css";
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { Accordion, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { lazyRouteComponent } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { TabProps } from "../view/tab-props.ts";
import { Events } from "./events.tsx";
import { historyOf } from "./history.ts";
import { StatusBadge } from "./status-badge.tsx";
import { aliasesOf, useKnownVulnerabilities, VulnerabilityIds } from "./vulnerability-id.tsx";

const Chart = lazyRouteComponent(() => import("./chart.tsx"), "Chart");

/** As many advisories as are shown at first, and added by each click. */
const stepSize = 50;

/** The advisories of a package, and how many of them were open and fixed over time. */
export function DocumentTab({ entry, resource }: TabProps) {
  const [shown, setShown] = useState(stepSize);
  const advisories = (resource.advisories ?? []) as JsonObject[];
  const schema = entry.schema.field.advisories!.message!.field.events!.message!;
  if (advisories.length === 0) return <Text c="dimmed">The package has no advisories.</Text>;
  return (
    <Stack>
      <Suspense fallback={<Skeleton height={280} />}>
        <Chart points={historyOf(advisories)} />
      </Suspense>
      <Accordion multiple variant="separated" keepMounted={false}>
        {advisories.slice(0, shown).map((advisory) => (
          <Accordion.Item key={keyOf(advisory)} value={keyOf(advisory)}>
            <Accordion.Control>
              <Group gap="sm">
                <Text span className="uid" fw={500}>
                  {String(advisory.id)}
                </Text>
                <Text span size="sm">
                  {aliasesOf(advisory).join(", ")}
                </Text>
                {isOfVersion(advisory) && (
                  <Text span size="sm" c="dimmed" className="uid">
                    {[advisory.packageUrl, advisory.subcomponent].filter(Boolean).join(" › ")}
                  </Text>
                )}
                <StatusBadge advisory={advisory} />
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              <Advisory advisory={advisory} schema={schema} />
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
      {shown < advisories.length && (
        <Button variant="default" onClick={() => setShown(shown + stepSize)}>
          {`Show more of ${advisories.length.toLocaleString("en")}`}
        </Button>
      )}
    </Stack>
  );
}

/** What distinguishes the advisories of a document. */
function keyOf({ id, packageUrl, subcomponent }: JsonObject): string {
  return JSON.stringify([id, packageUrl, subcomponent]);
}

/** Whether an advisory is about one version or one component of the package. */
function isOfVersion({ packageUrl, subcomponent }: JsonObject): boolean {
  return subcomponent !== undefined || /^[^?#]*@/.test(String(packageUrl));
}

/** @param schema of its events. */
function Advisory({ advisory, schema }: { readonly advisory: JsonObject; readonly schema: DescMessage }) {
  const ids = aliasesOf(advisory);
  const known = useKnownVulnerabilities(ids);
  return (
    <Stack gap="sm">
      <VulnerabilityIds ids={ids} known={known} />
      <Events schema={schema} events={(advisory.events ?? []) as JsonObject[]} />
    </Stack>
  );
}
