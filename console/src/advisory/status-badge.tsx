import type { JsonObject } from "@bufbuild/protobuf";
import { Badge, Text } from "@mantine/core";
import { type Phase, statusOf } from "./status.ts";

const marks: Readonly<Record<Phase, string>> = { open: "○", fixed: "✓", dismissed: "–" };

/** Where an advisory stands. */
export function StatusBadge({ advisory }: { readonly advisory: JsonObject }) {
  const status = statusOf(advisory);
  if (status === undefined)
    return (
      <Text span size="sm" c="dimmed">
        No approved event
      </Text>
    );
  return (
    <Badge
      variant="default"
      tt="none"
      fw={500}
      radius="sm"
      miw="max-content"
      leftSection={<span aria-hidden="true">{marks[status.phase]}</span>}
    >
      {status.label}
    </Badge>
  );
}
