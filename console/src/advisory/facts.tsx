import "./facts.css";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Group } from "@mantine/core";
import type { ReactNode } from "react";
import { SeverityBadge } from "./severity.tsx";

/** Facts with their names; those without a value are left out. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, ReactNode>> }) {
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== undefined && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** All ratings of a vulnerability, with their vectors. */
export function Severities({ severities }: { readonly severities: JsonValue | undefined }) {
  const all = (severities ?? []) as JsonObject[];
  if (all.length === 0) return "No rating has been imported";
  return all.map((severity) => (
    <Group key={String(severity.score)} gap="xs">
      <SeverityBadge severity={severity} />
      <span className="uid">{String(severity.score)}</span>
    </Group>
  ));
}
