import type { DescField } from "@bufbuild/protobuf";
import { Button, Paper, Stack, Text } from "@mantine/core";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { title } from "../contract.ts";
import { ButtonLink } from "../links.tsx";

interface EmptyListProps {
  readonly entry: ResourceEntry;
  /** Fields that the server needs, and that are not given. */
  readonly missing: readonly DescField[];
  readonly isFiltered: boolean;
  clear(): void;
}

/** What to do where a list has nothing to show. */
export function EmptyList({ entry, missing, isFiltered, clear }: EmptyListProps) {
  const many = title(entry.plural).toLowerCase();
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="sm">
        {missing.length > 0 ? (
          <Text>{`Choose a filter to list ${many}: ${missing.map(({ name }) => title(name)).join(", ")}`}</Text>
        ) : isFiltered ? (
          <>
            <Text>{`No ${many} match these filters.`}</Text>
            <Button variant="default" onClick={clear}>
              Clear filters
            </Button>
          </>
        ) : (
          <>
            <Text>{`There are no ${many} that you may see.`}</Text>
            {entry.methods.Create ? (
              <ButtonLink variant="light" to="/create/$resource" params={{ resource: entry.plural }}>
                Create the first
              </ButtonLink>
            ) : (
              <Text size="sm" c="dimmed">
                They are imported, or made by the server.
              </Text>
            )}
          </>
        )}
      </Stack>
    </Paper>
  );
}
