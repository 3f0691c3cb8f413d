import type { JsonObject } from "@bufbuild/protobuf";
import { Badge, Button, Group, List, Table, Text, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { CopyText, Uid } from "../copy.tsx";
import { DataTable } from "../data-table.tsx";
import { Time } from "../time.tsx";
import { useDeliveryCall } from "./use-delivery-call.ts";

/** Deliveries, each with its attempts when it is opened. */
export function DeliveryTable({ deliveries }: { readonly deliveries: readonly JsonObject[] }) {
  return (
    <DataTable
      label="Deliveries"
      columns={["Event", "Time", "Subject", "State", "Last attempt"]}
      action="Replay"
      minWidth={760}
    >
      {deliveries.map((delivery) => (
        <DeliveryRows key={String(delivery.eventId)} delivery={delivery} />
      ))}
    </DataTable>
  );
}

/** What stands for a state: a mark and a word. */
const states: Readonly<Record<string, readonly [mark: string, word: string]>> = {
  STATE_PENDING: ["○", "Pending"],
  STATE_DELIVERED: ["✓", "Delivered"],
  STATE_FAILED: ["✕", "Failed"],
};

function DeliveryRows({ delivery }: { readonly delivery: JsonObject }) {
  const [isOpen, setOpen] = useState(false);
  const { subscription, eventId, type, subject, eventTime, state } = delivery;
  const attempts = (delivery.attempts ?? []) as JsonObject[];
  const replay = useDeliveryCall("replayDelivery", () => "The event is sent again");
  const [mark, word] = states[String(state)] ?? ["", String(state)];
  const name = type === undefined ? "An event that is no longer kept" : shortType(String(type));
  return (
    <>
      <Table.Tr>
        <Table.Td>
          <Group gap={4} wrap="nowrap">
            <UnstyledButton
              className="twisty"
              aria-expanded={isOpen}
              aria-label={`Attempts to deliver ${name}`}
              onClick={() => setOpen(!isOpen)}
            >
              <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
            </UnstyledButton>
            <span title={String(type ?? "")}>{name}</span>
          </Group>
        </Table.Td>
        <Table.Td>
          <Time time={String(eventTime)} />
        </Table.Td>
        <Table.Td>{typeof subject === "string" ? <Uid uid={subject} /> : "–"}</Table.Td>
        <Table.Td>
          <Badge variant="default" tt="none" fw={500} radius="sm" leftSection={<span aria-hidden="true">{mark}</span>}>
            {word}
          </Badge>
        </Table.Td>
        <Table.Td>{attempts.length === 0 ? "None yet" : <Result attempt={attempts.at(-1)!} />}</Table.Td>
        <Table.Td>
          <Button
            size="compact-xs"
            variant="default"
            loading={replay.isPending}
            onClick={() => replay.mutate({ subscription: subscription!, eventId: eventId! })}
          >
            Replay
          </Button>
        </Table.Td>
      </Table.Tr>
      {isOpen && (
        <Table.Tr>
          <Table.Td colSpan={6}>
            <Attempts delivery={delivery} attempts={attempts} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

interface AttemptsProps {
  readonly delivery: JsonObject;
  readonly attempts: readonly JsonObject[];
}

function Attempts({ delivery: { eventId, source, nextAttemptTime }, attempts }: AttemptsProps) {
  return (
    <section aria-label="Attempts">
      <Group gap="xs" mb="xs">
        <CopyText label="event id" text={String(eventId)} shown={String(eventId)} />
        {typeof source === "string" && (
          <Text size="xs" c="dimmed">
            {source}
          </Text>
        )}
      </Group>
      <List type="ordered" size="sm">
        {attempts.map((attempt) => (
          <List.Item key={String(attempt.time)}>
            <Time time={String(attempt.time)} />: <Result attempt={attempt} />
            {typeof attempt.duration === "string" &&
              `, after ${Math.round(Number.parseFloat(attempt.duration) * 1000)} ms`}
          </List.Item>
        ))}
      </List>
      {attempts.length === 0 && <Text size="sm">It has not been tried yet.</Text>}
      {typeof nextAttemptTime === "string" && (
        <Text size="sm" mt="xs">
          The next attempt is due <Time time={nextAttemptTime} />.
        </Text>
      )}
    </section>
  );
}

/** What the receiver answered, or why it did not. */
function Result({ attempt: { statusCode, error } }: { readonly attempt: JsonObject }) {
  const isAccepted = Number(statusCode) >= 200 && Number(statusCode) < 300;
  const text = statusCode === undefined ? String(error) : `status ${statusCode}`;
  return (
    <Text span size="sm" {...(!isAccepted && { c: "var(--mantine-color-error)" })}>
      {text}
    </Text>
  );
}

/** `iam.group.created` for `dev.platform.api.iam.group.created.v1`. */
function shortType(type: string): string {
  return type.replace(/^dev\.platform\.api\./, "").replace(/\.v1$/, "");
}
