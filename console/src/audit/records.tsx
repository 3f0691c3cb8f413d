import type { JsonObject } from "@bufbuild/protobuf";
import { Table, Text } from "@mantine/core";
import { useContract } from "../contract.ts";
import { CopyText, Uid } from "../copy.tsx";
import { DataTable } from "../data-table.tsx";
import { Reference } from "../links.tsx";
import { Time } from "../time.tsx";

/** A record of AuditService in JSON. */
export type AuditRecord = JsonObject;

/** Who did what, and how it ended. */
export function RecordTable({ records }: { readonly records: readonly AuditRecord[] }) {
  return (
    <DataTable
      label="Audit records"
      columns={["Time", "Caller", "Method", "Resource", "Result", "Request"]}
      minWidth={760}
    >
      {records.map((record) => (
        <RecordRow key={String(record.id)} record={record} />
      ))}
    </DataTable>
  );
}

function RecordRow({ record }: { readonly record: AuditRecord }) {
  const { time, requestId, result } = record;
  const count = Number(record.count ?? 1);
  return (
    <Table.Tr>
      <Table.Td>
        <Time time={String(time)} />
      </Table.Td>
      <Table.Td>
        <Caller record={record} />
      </Table.Td>
      <Table.Td>
        <Method record={record} />
        {count > 1 && (
          <Text size="xs" c="dimmed">
            {`${count.toLocaleString("en")} calls`}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Subject record={record} />
      </Table.Td>
      <Table.Td>
        <Text span size="sm" {...(result !== "OK" && { c: "var(--mantine-color-error)" })}>
          {String(result ?? "–")}
        </Text>
      </Table.Td>
      <Table.Td>
        {typeof requestId === "string" && (
          <CopyText
            label="request id"
            text={requestId}
            shown={requestId.length > 8 ? `${requestId.slice(0, 8)}…` : requestId}
          />
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function Caller({ record: { caller, method } }: { readonly record: AuditRecord }) {
  if (typeof caller !== "string") return "Nobody signed in";
  if (caller.startsWith("cli")) return "The operator";
  const isProvider = String(method).startsWith("scim/");
  return <Reference type={`iam.platform.internal/${isProvider ? "IdentityProvider" : "Identity"}`} uid={caller} />;
}

/** The name of a method of the contract without its service, which is shown on hover. */
function Method({ record: { method } }: { readonly record: AuditRecord }) {
  if (typeof method !== "string") return "Refused and failed calls";
  return <span title={method}>{method.startsWith("platform.") ? method.slice(method.indexOf("/") + 1) : method}</span>;
}

/** What was created, changed or deleted, or where it was refused. */
function Subject({ record: { resource, scope, method } }: { readonly record: AuditRecord }) {
  const { byType } = useContract();
  const uid = resource ?? scope;
  if (typeof uid !== "string") return "–";
  const [, kind] = /\/(?:Create|Update|Delete)([A-Za-z]+)$/.exec(String(method)) ?? [];
  const entry = resource && [...byType.values()].find((other) => other.kind === kind);
  return entry ? <Reference type={entry.type} uid={uid} /> : <Uid uid={uid} />;
}
