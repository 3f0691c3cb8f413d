import type { DescField } from "@bufbuild/protobuf";
import { Button, Checkbox, Popover, Stack } from "@mantine/core";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { title } from "../contract.ts";

interface ColumnsMenuProps {
  readonly entry: ResourceEntry;
  readonly columns: readonly DescField[];
  choose(names: string[]): void;
}

/** Chooses the columns of a list. */
export function ColumnsMenu({ entry, columns, choose }: ColumnsMenuProps) {
  return (
    <Popover position="bottom-end" trapFocus>
      <Popover.Target>
        <Button variant="default">Columns</Button>
      </Popover.Target>
      <Popover.Dropdown mah="60vh" style={{ overflowY: "auto" }}>
        <Checkbox.Group
          aria-label="Columns"
          value={columns.map(({ name }) => name)}
          onChange={(names) => names.length > 0 && choose(names)}
        >
          <Stack gap="xs">
            {entry.schema.fields.map(({ name }) => (
              <Checkbox key={name} value={name} label={title(name)} size="sm" />
            ))}
          </Stack>
        </Checkbox.Group>
      </Popover.Dropdown>
    </Popover>
  );
}
