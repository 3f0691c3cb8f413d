/** Where an advisory stands: what its newest event says. */
import type { JsonObject } from "@bufbuild/protobuf";

/** What a status means for those who run the package. */
export type Phase = "open" | "fixed" | "dismissed";

/** A status, named by the event that leads to it. */
export interface Status {
  /** The name of the event in JSON: `truePositiveDetermination`. */
  readonly event: string;
  readonly label: string;
  readonly phase: Phase;
}

/** Every status, in the order in which they are mostly reached. */
export const statuses: readonly Status[] = [
  { event: "detection", label: "Detected", phase: "open" },
  { event: "truePositiveDetermination", label: "Affected", phase: "open" },
  { event: "pendingUpstreamFix", label: "Fix pending upstream", phase: "open" },
  { event: "analysisNotPlanned", label: "Analysis not planned", phase: "open" },
  { event: "fixNotPlanned", label: "Fix not planned", phase: "open" },
  { event: "patched", label: "Patched", phase: "fixed" },
  { event: "fixed", label: "Fixed", phase: "fixed" },
  { event: "falsePositiveDetermination", label: "Not affected", phase: "dismissed" },
];

/** The status that an event leads to; undefined for an event of a kind that came later. */
export function statusOfEvent(event: JsonObject): Status | undefined {
  return statuses.find(({ event: name }) => event[name] !== undefined);
}

/** The events of an advisory that count, newest first: those that are approved, where events are reviewed. */
export function approvedEvents({ events }: JsonObject): readonly JsonObject[] {
  const all = (events ?? []) as JsonObject[];
  return all.filter(({ reviewState = "REVIEW_STATE_APPROVED" }) => reviewState === "REVIEW_STATE_APPROVED");
}

/** The status of an advisory; undefined while no event of it is approved. */
export function statusOf(advisory: JsonObject): Status | undefined {
  const [newest] = approvedEvents(advisory);
  return newest && statusOfEvent(newest);
}

/** When an event happened, in RFC 3339; undefined where the feed does not say. */
export function timeOf({ createTime, timestamp }: JsonObject): string | undefined {
  return (createTime ?? timestamp) as string | undefined;
}

/** The value of the filter by status, of the enum EventTypeFilter. */
export function filterOf({ event }: Status): string {
  return `EVENT_TYPE_FILTER_${event.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
}
