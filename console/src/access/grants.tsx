import type { JsonObject } from "@bufbuild/protobuf";
import { Badge, Button, Stack, Table, Text } from "@mantine/core";
import { shortUid } from "../copy.tsx";
import { DataTable } from "../data-table.tsx";
import { GroupPath } from "../group/path.tsx";
import { ViewLink } from "../links.tsx";
import { Time } from "../time.tsx";

/** A grant of AccessService in JSON. */
export type Grant = JsonObject;

interface GrantTableProps {
  readonly label: string;
  readonly grants: readonly Grant[];
  /** Explains what an identity may do. */
  explain?(identity: string): void;
}

/** Who has which role, where it was granted, and whether it counts. */
export function GrantTable({ label, grants, explain }: GrantTableProps) {
  return (
    <DataTable
      label={label}
      columns={["Who", "Role", "Granted at", "Source", "Counts"]}
      action={explain && "Explain"}
      minWidth={640}
    >
      {grants.map((grant) => (
        <Table.Tr key={keyOf(grant)}>
          <Table.Td>
            <Who grant={grant} />
          </Table.Td>
          <Table.Td>{grant.role && <Named resource="roles" it={grant.role as JsonObject} />}</Table.Td>
          <Table.Td>
            <Place grant={grant} />
          </Table.Td>
          <Table.Td>
            <Source grant={grant} />
          </Table.Td>
          <Table.Td>
            <State grant={grant} />
          </Table.Td>
          {explain && (
            <Table.Td>
              {grant.identity && (
                <Button
                  size="compact-xs"
                  variant="default"
                  onClick={() => explain(String((grant.identity as JsonObject).uid))}
                >
                  Why?
                </Button>
              )}
            </Table.Td>
          )}
        </Table.Tr>
      ))}
    </DataTable>
  );
}

/** A resource in brief, by its name where the answer has it. */
export function Named({ resource, it }: { readonly resource: string; readonly it: JsonObject }) {
  const uid = String(it.uid);
  return (
    <ViewLink resource={resource} uid={uid} title={uid}>
      {it.name ? String(it.name) : <span className="uid">{shortUid(uid)}</span>}
    </ViewLink>
  );
}

function Who({ grant }: { readonly grant: Grant }) {
  const identity = grant.identity as JsonObject | undefined;
  if (identity !== undefined)
    return (
      <>
        <Named resource="identities" it={identity} />
        {identity.email && (
          <Text size="xs" c="dimmed">
            {String(identity.email)}
          </Text>
        )}
      </>
    );
  if (grant.source === "GRANT_SOURCE_GROUP_INVITE") return String(grant.email ?? "Whoever has the code");
  if (grant.source === "GRANT_SOURCE_GROUP_MAPPING")
    return grant.externalGroup ? `Members of ${grant.externalGroup}` : "Members of an external group";
  return "Users of the identity provider";
}

function Place({ grant }: { readonly grant: Grant }) {
  const group = grant.group as JsonObject | undefined;
  if (group === undefined) return "The whole platform";
  return (
    <>
      <GroupPath uid={String(group.uid)} />
      {grant.inherited && (
        <Text size="xs" c="dimmed">
          inherited
        </Text>
      )}
    </>
  );
}

/** What a grant comes from: what is written, the resource, and the field of the grant that has its uid. */
const sources: Readonly<Record<string, readonly [label: string, resource: string, field: string]>> = {
  GRANT_SOURCE_ROLE_BINDING: ["Role binding", "role-bindings", "binding"],
  GRANT_SOURCE_DEFAULT_ROLE: ["Default role", "identity-providers", "identityProvider"],
  GRANT_SOURCE_GROUP_MAPPING: ["Group mapping", "external-group-role-mappings", "groupMapping"],
  GRANT_SOURCE_GROUP_INVITE: ["Group invite", "group-invites", "groupInvite"],
  GRANT_SOURCE_ADMINISTRATOR: ["Administrator", "role-bindings", "binding"],
};

function Source({ grant }: { readonly grant: Grant }) {
  const [label, resource, field] = sources[String(grant.source)] ?? [String(grant.source), "", ""];
  const uid = grant[field];
  if (typeof uid !== "string" || uid === "") return label;
  return (
    <ViewLink resource={resource} uid={uid} title={uid}>
      {label}
    </ViewLink>
  );
}

const states: Readonly<Record<string, string>> = {
  GRANT_STATE_ACTIVE: "Yes",
  GRANT_STATE_CONDITIONAL: "If a condition is met",
  GRANT_STATE_PENDING: "Not yet",
  GRANT_STATE_INEFFECTIVE: "No",
};

function State({ grant }: { readonly grant: Grant }) {
  return (
    <Stack gap={2} align="flex-start">
      <Badge variant="default" tt="none" fw={500} radius="sm">
        {states[String(grant.state)] ?? String(grant.state)}
      </Badge>
      {grant.condition && (
        <Text size="xs" c="dimmed">
          {String(grant.condition)}
        </Text>
      )}
      {grant.expireTime && (
        <Text size="xs" c="dimmed">
          expires <Time time={String(grant.expireTime)} />
        </Text>
      )}
    </Stack>
  );
}

/** A grant is one of an identity or of something that grants, of a role, in a group. */
function keyOf({ source, identity, role, group, binding, identityProvider, groupMapping, groupInvite }: Grant): string {
  return JSON.stringify([source, identity, role, group, binding, identityProvider, groupMapping, groupInvite]);
}
