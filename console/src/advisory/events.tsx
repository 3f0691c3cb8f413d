import "@mantine/core/styles/Timeline.css";
import "./timeline.css";
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { Badge, Group, Text, Timeline } from "@mantine/core";
import { shortName } from "../../../src/remote/catalog/enums.ts";
import { title } from "../contract.ts";
import { ForeignLink } from "../markdown/foreign-link.tsx";
import { Time } from "../time.tsx";
import { isEmpty, Value } from "../value.tsx";
import { statusOfEvent, timeOf } from "./status.ts";

interface EventsProps {
  /** The message of the events. */
  readonly schema: DescMessage;
  /** Newest first. */
  readonly events: readonly JsonObject[];
}

/** The events of an advisory as a timeline, newest first. */
export function Events({ schema, events }: EventsProps) {
  if (events.length === 0) return <Text c="dimmed">Nothing has been found or decided yet.</Text>;
  return (
    <Timeline active={-1} bulletSize={14} lineWidth={2} className="timeline">
      {events.map((event, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: events of a document have no other key
        <Timeline.Item key={i} title={titleOf(event)}>
          <EventFacts schema={schema} event={event} />
        </Timeline.Item>
      ))}
    </Timeline>
  );
}

function EventFacts({ schema, event }: { readonly schema: DescMessage; readonly event: JsonObject }) {
  const time = timeOf(event);
  const { author, reviewState, issue } = event;
  return (
    <>
      <Group gap="xs" mb={4}>
        <Text size="sm" c="dimmed" component="div">
          {time === undefined ? "at a time that is not known" : <Time time={time} />}
          {author !== undefined && ` by ${String(author)}`}
        </Text>
        {typeof reviewState === "string" && reviewState !== "REVIEW_STATE_APPROVED" && (
          <Badge variant="default" tt="none" radius="sm">
            {title(shortName(schema.field.reviewState!.enum!, reviewState))}
          </Badge>
        )}
        {issue !== undefined && <ForeignLink href={String(issue)}>Discussion</ForeignLink>}
      </Group>
      <Data schema={schema} message={event} />
    </>
  );
}

/** What a message has in its oneof, without the levels that only say what it is. */
function Data({ schema, message }: { readonly schema: DescMessage; readonly message: JsonObject }) {
  const field = schema.oneofs[0]?.fields.find(({ jsonName }) => message[jsonName] !== undefined);
  if (field?.message === undefined) return null;
  const value = message[field.jsonName] as JsonObject;
  if (field.message.oneofs.length > 0) return <Data schema={field.message} message={value} />;
  return Object.values(value).every(isEmpty) ? null : <Value field={field} value={value} />;
}

/** Who detected a vulnerability, by the kind of the detection. */
const detectors: Readonly<Record<string, string>> = {
  scanv1: "by a scanner",
  nvdapi: "by a search of the national vulnerability database",
  manual: "by a person",
};

function titleOf(event: JsonObject): string {
  const label = statusOfEvent(event)?.label ?? "Other event";
  const [kind = ""] = Object.keys((event.detection ?? {}) as JsonObject);
  return [label, detectors[kind]].filter(Boolean).join(" ");
}
