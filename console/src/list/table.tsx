import type { DescField, JsonObject } from "@bufbuild/protobuf";
import { Group, Skeleton, Table, UnstyledButton } from "@mantine/core";
import { memo } from "react";
import { parentType, type ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { parentOf } from "../../../src/uid.ts";
import { nameField, referenceType, title } from "../contract.ts";
import { CopyText, shortUid } from "../copy.tsx";
import { Reference, ViewLink } from "../links.tsx";
import { isEmpty, Value } from "../value.tsx";

/** How a list is ordered. */
export interface Ordering {
  /** Names of the fields that the server can order by. */
  readonly orderable: ReadonlySet<string>;
  readonly order: string | undefined;
  changeOrder(order: string): void;
}

interface ResourceTableProps extends Ordering {
  readonly entry: ResourceEntry;
  readonly columns: readonly DescField[];
  /** Undefined while the first page is read. */
  readonly items: readonly JsonObject[] | undefined;
  /** Whether the items are those of the page before. */
  readonly isStale: boolean;
}

/** Rows of skeletons. */
const placeholders = ["1", "2", "3", "4", "5", "6", "7", "8"];

/** A page of resources. The server orders them. */
export function ResourceTable({ entry, columns, items, isStale, ...ordering }: ResourceTableProps) {
  const container = parentType(entry);
  return (
    <Table.ScrollContainer minWidth={600} type="native" tabIndex={0} aria-label={title(entry.plural)}>
      <Table
        highlightOnHover
        verticalSpacing="xs"
        aria-busy={items === undefined || isStale}
        opacity={isStale ? 0.6 : 1}
      >
        <Table.Thead>
          <Table.Tr>
            {columns.map((field) => (
              <Heading key={field.name} field={field} {...ordering} />
            ))}
            {container !== undefined && <Table.Th>In</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items === undefined
            ? placeholders.map((key) => (
                <Table.Tr key={key}>
                  {columns.map(({ name }) => (
                    <Table.Td key={name}>
                      <Skeleton height={14} />
                    </Table.Td>
                  ))}
                  {container !== undefined && <Table.Td />}
                </Table.Tr>
              ))
            : items.map((item) => (
                <Row key={String(item.uid)} entry={entry} columns={columns} item={item} container={container} />
              ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface RowProps extends Pick<ResourceTableProps, "entry" | "columns"> {
  readonly item: JsonObject;
  /** The type of what the item is in. */
  readonly container: string | undefined;
}

const Row = memo(({ entry, columns, item, container }: RowProps) => (
  <Table.Tr>
    {columns.map((field, i) => (
      <Table.Td key={field.name}>
        <Cell entry={entry} field={field} item={item} isFirst={i === 0} />
      </Table.Td>
    ))}
    {container !== undefined && (
      <Table.Td>
        <Container type={container} uid={String(item.uid)} />
      </Table.Td>
    )}
  </Table.Tr>
));

interface HeadingProps extends Ordering {
  readonly field: DescField;
}

/** The heading of a column, which orders the list if the server can. */
export function Heading({ field, orderable, order = "", changeOrder }: HeadingProps) {
  // A reference is shown by its name.
  const label = title(referenceType(field) === undefined ? field.name : field.name.replace(/_uid$/, ""));
  if (!orderable.has(field.name)) return <Table.Th>{label}</Table.Th>;
  const [by, direction] = order.split(" ");
  const isOrdered = by === field.name;
  const isDescending = isOrdered && direction === "desc";
  return (
    <Table.Th aria-sort={isOrdered ? (isDescending ? "descending" : "ascending") : "none"}>
      <UnstyledButton
        fz="sm"
        fw={700}
        onClick={() => changeOrder(isOrdered && !isDescending ? `${field.name} desc` : field.name)}
      >
        {label} <span aria-hidden="true">{isOrdered ? (isDescending ? "↓" : "↑") : "↕"}</span>
      </UnstyledButton>
    </Table.Th>
  );
}

interface CellProps {
  readonly entry: ResourceEntry;
  readonly field: DescField;
  readonly item: JsonObject;
  /** Whether it leads to the resource. */
  readonly isFirst: boolean;
}

function Cell({ entry, field, item, isFirst }: CellProps) {
  const uid = String(item.uid);
  const value = item[field.jsonName];
  if (!isFirst) return <Value field={field} value={value} isShort />;
  const isText = field === nameField(entry) && !isEmpty(value);
  return (
    <Group gap="xs" wrap="nowrap">
      <ViewLink resource={entry.plural} uid={uid} fw={500}>
        {isText ? <span className="cell">{String(value)}</span> : shortUid(uid)}
      </ViewLink>
      <CopyText label="uid" text={uid} shown="" />
    </Group>
  );
}

/** What a resource is in: its uid begins with that of its container. */
function Container({ type, uid }: { readonly type: string; readonly uid: string }) {
  const container = parentOf(uid);
  return container === "" ? "–" : <Reference type={type} uid={container} />;
}
