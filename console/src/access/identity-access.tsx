import type { JsonObject } from "@bufbuild/protobuf";
import { Group, Paper, Skeleton, Stack, Table, Text, Title } from "@mantine/core";
import { parentOf } from "../../../src/uid.ts";
import { useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { GroupPath } from "../group/path.tsx";
import { ButtonLink, TextLink } from "../links.tsx";
import { MoreButton } from "../more-button.tsx";
import { itemsOf, usePages } from "../queries.ts";
import { Time } from "../time.tsx";
import type { TabProps } from "../view/tabs.ts";
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
      <Table.ScrollContainer minWidth={500} type="native" tabIndex={0} role="region" aria-label="Role bindings">
        <Table verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Role</Table.Th>
              <Table.Th>Group</Table.Th>
              <Table.Th>Since</Table.Th>
              <Table.Th aria-label="Role binding" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {bindings.map((binding) => (
              <BindingRow key={String(binding.uid)} binding={binding} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
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
        <TextLink to="/view/$resource/$" params={{ resource: "role-bindings", _splat: uid }}>
          Role binding
        </TextLink>
      </Table.Td>
    </Table.Tr>
  );
}
