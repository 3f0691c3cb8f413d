import { Skeleton, Text } from "@mantine/core";
import { useContract } from "../contract.ts";
import { useCall } from "../queries.ts";
import { capabilityLabel } from "./capabilities.ts";

/** What a role grants: actions by resource. Nothing if the caller may not read the role. */
export default function RoleCapabilities({ uid }: { readonly uid: string }) {
  const entry = useContract().byType.get("iam.platform.internal/Role");
  const { data, error, isPlaceholderData } = useCall(entry?.methods.Get, { uid });
  if (error !== null) return null;
  if (data === undefined || isPlaceholderData) return <Skeleton height={60} aria-label="Reading the role" />;
  return <Capabilities values={(data.capabilities as string[] | undefined) ?? []} />;
}

/** Capabilities in their JSON form, as actions by resource. */
export function Capabilities({ values }: { readonly values: readonly string[] }) {
  if (values.length === 0)
    return (
      <Text size="sm" c="dimmed">
        This role grants nothing.
      </Text>
    );
  const actions = values.map(capabilityLabel).sort().map(parts);
  const byResource = Map.groupBy(actions, ({ resource }) => resource);
  return (
    <section className="capabilities" aria-label="What the role grants">
      <Text
        size="sm"
        fw={600}
      >{`Grants ${values.length === 1 ? "1 capability" : `${values.length} capabilities`}`}</Text>
      <dl>
        {[...byResource].map(([resource, all]) => (
          <div key={resource}>
            <dt>{resource}</dt>
            <dd>{all.map(({ action }) => action).join(", ")}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** `repo` and `list` of `repo.list`. */
function parts(label: string): { readonly resource: string; readonly action: string } {
  const dot = label.lastIndexOf(".");
  return { resource: label.slice(0, Math.max(dot, 0)) || label, action: label.slice(dot + 1) };
}
