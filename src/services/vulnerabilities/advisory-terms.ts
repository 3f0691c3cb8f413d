/**
 * Terms: the values that an advisory can be found by exactly, as one set. `artifact_name:openssl` is the term of the
 * name of an artifact. A filter is a list of terms, one of which an advisory must have.
 *
 * Filters on several properties of events must be met by a single event. So an event has a term for each combination of
 * properties that can be filtered at once: `event:[3,2]` is its type and review state, `event:[3,2,"ann"]` and
 * `event:[3,2,null,"bob"]` add its author or its reviewer. A filter that does not restrict types or states expands to
 * all of them, which are few. Authors have terms of their own, because they can be excluded.
 */
import { createHash } from "node:crypto";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Advisory,
  type AdvisoryEvent,
  EventTypeFilter,
  type ListAdvisoriesRequest,
  ReviewState,
} from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { invalid } from "../../errors.ts";

/** The property that a term is about. */
export type Tag =
  | "advisory_id"
  | "legacy_advisory_id"
  | "artifact_name"
  | "artifact_type"
  | "artifact_architecture"
  | "artifact_version"
  | "component_name"
  | "component_type"
  | "component_location"
  | "alias"
  | "event"
  | "event_author"
  | "latest_event";

/** A longer value is replaced by its SHA-256 in its term. */
const maxValueLength = 80;
/** The maximum of terms in one filter. */
const maxTerms = 10_000;

const eventTypes: Readonly<Record<NonNullable<AdvisoryEvent["type"]["case"]>, EventTypeFilter>> = {
  detection: EventTypeFilter.DETECTION,
  truePositiveDetermination: EventTypeFilter.TRUE_POSITIVE_DETERMINATION,
  fixed: EventTypeFilter.FIXED,
  falsePositiveDetermination: EventTypeFilter.FALSE_POSITIVE_DETERMINATION,
  analysisNotPlanned: EventTypeFilter.ANALYSIS_NOT_PLANNED,
  fixNotPlanned: EventTypeFilter.FIX_NOT_PLANNED,
  pendingUpstreamFix: EventTypeFilter.PENDING_UPSTREAM_FIX,
  patched: EventTypeFilter.PATCHED,
};
const allTypes = Object.values(eventTypes);
const allStates = [ReviewState.PENDING, ReviewState.APPROVED, ReviewState.REQUEST_CHANGES, ReviewState.REJECTED];

/** The term of one value. */
export function term(tag: Tag, value: string): string {
  return value.length <= maxValueLength
    ? `${tag}:${value}`
    : `${tag}#${createHash("sha256").update(value).digest("base64url")}`;
}

/** The distinct terms of an advisory. */
export function termsOf(advisory: Advisory): string[] {
  const latest = latestApproved(advisory.events);
  return [
    ...new Set([
      term("advisory_id", advisory.advisoryId),
      ...(advisory.legacyAdvisoryId === undefined ? [] : [term("legacy_advisory_id", advisory.legacyAdvisoryId)]),
      term("artifact_name", advisory.artifactName),
      term("artifact_type", advisory.artifactType),
      term("artifact_architecture", advisory.artifactArchitecture),
      ...(advisory.artifactVersion === undefined ? [] : [term("artifact_version", advisory.artifactVersion)]),
      term("component_name", advisory.componentName),
      term("component_type", advisory.componentType),
      term("component_location", advisory.componentLocation),
      ...advisory.aliases.map((alias) => term("alias", alias)),
      ...advisory.events.flatMap(eventTerms),
      ...eventAuthorTerms(advisory.events.map(({ author }) => author)),
      ...(latest === undefined ? [] : [latestEventTerm(typeOf(latest))]),
    ]),
  ];
}

/** The term of advisories whose newest approved event has this type. */
export function latestEventTerm(type: EventTypeFilter): string {
  return term("latest_event", String(type));
}

/** The terms of advisories with an event by one of these authors. */
export function eventAuthorTerms(authors: readonly string[]): string[] {
  return [...new Set(authors)].filter(Boolean).map((author) => term("event_author", author));
}

/** The filters on events; an empty list does not restrict. */
export type EventFilter = Pick<
  ListAdvisoriesRequest,
  "eventTypes" | "eventReviewStates" | "eventAuthors" | "eventReviewers"
>;

/**
 * The terms of a filter that restricts something: an advisory has one of them when one of its events meets the filter.
 * Errors: INVALID_ARGUMENT when there are too many combinations of authors and reviewers.
 */
export function eventFilterTerms(filter: EventFilter): string[] {
  const { eventTypes: given, eventReviewStates, eventAuthors, eventReviewers } = filter;
  if (given.length + eventReviewStates.length + eventReviewers.length === 0) return eventAuthorTerms(eventAuthors);
  const types = orAll(given, allTypes);
  const states = orAll(eventReviewStates, allStates);
  const authors = orAll<string | undefined>(eventAuthors, [undefined]);
  const reviewers = orAll<string | undefined>(eventReviewers, [undefined]);
  if (types.length * states.length * authors.length * reviewers.length > maxTerms)
    throw invalid({
      field: "event_authors",
      description: `event_authors, event_reviewers, event_types and event_review_states have more than ${maxTerms} combinations`,
    });
  return types.flatMap((type) =>
    states.flatMap((state) =>
      authors.flatMap((author) => reviewers.map((reviewer) => eventTerm(type, state, author, reviewer))),
    ),
  );
}

/** The given values, or all when there are none. An empty text matches nothing. */
function orAll<T>(given: readonly T[], all: readonly T[]): readonly T[] {
  return given.length === 0 ? all : [...new Set(given)].filter((value) => value !== "");
}

function eventTerms(event: AdvisoryEvent): string[] {
  const type = typeOf(event);
  const { reviewState, author, reviewer } = event;
  const terms = [eventTerm(type, reviewState), eventTerm(type, reviewState, author)];
  if (reviewer !== "")
    terms.push(eventTerm(type, reviewState, undefined, reviewer), eventTerm(type, reviewState, author, reviewer));
  return terms;
}

function eventTerm(type: EventTypeFilter, state: ReviewState, author?: string, reviewer?: string): string {
  const people = reviewer === undefined ? (author === undefined ? [] : [author]) : [author ?? null, reviewer];
  return term("event", JSON.stringify([type, state, ...people]));
}

function typeOf({ type }: AdvisoryEvent): EventTypeFilter {
  return type.case === undefined ? EventTypeFilter.UNSPECIFIED : eventTypes[type.case];
}

/** The newest approved event; of two with the same time the later in the list. Events without a time are the oldest. */
function latestApproved(events: readonly AdvisoryEvent[]): AdvisoryEvent | undefined {
  let latest: AdvisoryEvent | undefined;
  for (const event of events)
    if (event.reviewState === ReviewState.APPROVED && (latest === undefined || timeOf(event) >= timeOf(latest)))
      latest = event;
  return latest;
}

function timeOf({ createTime }: AdvisoryEvent): number {
  return createTime === undefined ? Number.NEGATIVE_INFINITY : timestampMs(createTime);
}
