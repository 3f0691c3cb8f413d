import type { JsonObject } from "@bufbuild/protobuf";
import { Group, Paper, Skeleton, Stack, Table, Text, Title } from "@mantine/core";
import { parentOf } from "../../../src/uid.ts";
import { useContract } from "../contract.ts";
import { DataTable } from "../data-table.tsx";
import { ErrorPanel } from "../error-panel.tsx";
import { GroupPath } from "../group/path.tsx";
import { ButtonLink, ViewLink } from "../links.tsx";
import { MoreButton } from "../more-button.tsx";
import { itemsOf, usePages } from "../queries.ts";
import { Time } from "../time.tsx";
import type { TabProps } from "../view/tab-props.ts";
import { Explain } from "./explain.tsx";
import { Named } from "./grants.tsx";

/** What an identity can do, and where: its role bindings that the caller may see. */
export function IdentityAccess({ resource }: TabProps) {
  const uid = String(resource.uid);
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed" size="sm">
          Its role bindings in the groups where you may list them. A role counts in its group and in everything below.
        </Text>
        <ButtonLink variant="light" to="/create/$resource" params={{ resource: "role-bindings" }}>
          Bind a role
        </ButtonLink>
      </Group>
      <Bindings identity={uid} />
      <Paper withBorder p="md" component="section" aria-label="Explain access" maw={720}>
        <Title order={2} size="h4" mb="xs">
          May it do something there, and why?
        </Title>
        <Explain scope="" identity={uid} />
      </Paper>
    </Stack>
  );
}

function Bindings({ identity }: { readonly identity: string }) {
  const entry = useContract().byType.get("iam.platform.internal/RoleBinding")!;
  const list = usePages(entry.methods.List!, { identity });
  if (list.error !== null) return <ErrorPanel error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Skeleton height={120} aria-label="Reading role bindings" />;
  const bindings = list.pages.flatMap((page) => itemsOf(entry, page));
  if (bindings.length === 0) return <Text>It has no role that you may see. Bind a role to give it access.</Text>;
  return (
    <>
      <DataTable label="Role bindings" columns={["Role", "Group", "Since"]} action="Role binding" minWidth={500}>
        {bindings.map((binding) => (
          <BindingRow key={String(binding.uid)} binding={binding} />
        ))}
      </DataTable>
      <MoreButton list={list} />
    </>
  );
}

function BindingRow({ binding }: { readonly binding: JsonObject }) {
  const uid = String(binding.uid);
  return (
    <Table.Tr>
      <Table.Td>
        <Named resource="roles" it={(binding.role as JsonObject | undefined) ?? { uid: binding.roleUid! }} />
      </Table.Td>
      <Table.Td>
        <GroupPath uid={parentOf(uid)} />
      </Table.Td>
      <Table.Td>
        <Time time={String(binding.createTime)} />
      </Table.Td>
      <Table.Td>
        <ViewLink resource="role-bindings" uid={uid}>
          Role binding
        </ViewLink>
      </Table.Td>
    </Table.Tr>
  );
}
