import type { JsonObject } from "@bufbuild/protobuf";
import { Table, Text } from "@mantine/core";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { Comment } from "../comment.tsx";
import { title } from "../contract.ts";
import { Value } from "../value.tsx";

/** Every field of a resource with its comment. */
export function FieldList({ entry, resource }: { readonly entry: ResourceEntry; readonly resource: JsonObject }) {
  return (
    <Table layout="fixed" verticalSpacing="sm" className="field-list">
      <Table.Tbody>
        {entry.schema.fields.map((field) => (
          <Table.Tr key={field.name}>
            <Table.Th scope="row">
              {title(field.name)}
              <Text size="xs" c="dimmed" fw={400} className="comment">
                <Comment field={field} />
              </Text>
            </Table.Th>
            <Table.Td>
              <Value field={field} value={resource[field.jsonName]} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
