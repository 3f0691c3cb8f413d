import { Table } from "@mantine/core";
import type { ReactNode } from "react";

interface DataTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** What the last column is for, if it has no heading. */
  readonly action?: string | undefined;
  /** In pixels; where there is less room it scrolls. */
  readonly minWidth: number;
  /** Its rows. */
  readonly children: ReactNode;
}

/** A table whose rows are not ordered by its headings. */
export function DataTable({ label, columns, action, minWidth, children }: DataTableProps) {
  return (
    <Table.ScrollContainer minWidth={minWidth} type="native" tabIndex={0} role="region" aria-label={label}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column}>{column}</Table.Th>
            ))}
            {action && <Table.Th aria-label={action} />}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
