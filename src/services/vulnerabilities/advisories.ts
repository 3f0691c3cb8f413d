/**
 * Advisories: the state of one vulnerability in one artifact. Feeds write them, each into a group; the API only reads
 * them.
 */
import { create, type Message } from "@bufbuild/protobuf";
import {
  AdvisoriesService,
  AdvisorySchema,
  EventTypeFilter,
  ListAdvisoriesRequestSchema,
  SeveritySchema,
} from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { defineResource, type Filter, implement } from "../../resource/index.ts";
import type { Condition } from "../../store/index.ts";
import { severitiesOf } from "../advisory/severities.ts";
import { groups } from "../iam/groups.ts";
import {
  type EventFilter,
  eventAuthorTerms,
  eventFilterTerms,
  latestEventTerm,
  type Tag,
  term,
  termsOf,
} from "./advisory-terms.ts";

export const advisories = defineResource({
  schema: AdvisorySchema,
  list: ListAdvisoriesRequestSchema,
  parent: groups,
  onParentDelete: "block",
  columns: {
    advisory_id: { text: ({ advisoryId }) => advisoryId },
    artifact_name: { text: ({ artifactName }) => artifactName },
    terms: { texts: termsOf },
    search: {
      search: ({ artifactName, componentName, aliases }) => searchable(artifactName, componentName, ...aliases),
    },
  },
  filters: {
    advisoryIds: anyOf("advisory_id"),
    legacyAdvisoryIds: anyOf("legacy_advisory_id"),
    artifactNames: (names, { origin }) => (origin === undefined ? having("artifact_name", names) : []),
    artifactTypes: anyOf("artifact_type"),
    artifactArchitectures: anyOf("artifact_architecture"),
    artifactVersions: anyOf("artifact_version"),
    componentNames: anyOf("component_name"),
    componentTypes: anyOf("component_type"),
    componentLocations: anyOf("component_location"),
    aliases: anyOf("alias"),
    // The artifacts of feeds are packages, by the name of the package that they are built from.
    origin: (name) => having("artifact_name", [name]),
    eventReviewStates: ofOneEvent("eventReviewStates"),
    eventAuthors: ofOneEvent("eventAuthors"),
    excludeEventAuthors: (authors) => [{ column: "terms", hasNone: eventAuthorTerms(authors) }],
    eventReviewers: ofOneEvent("eventReviewers"),
    eventTypes: ofOneEvent("eventTypes"),
    latestEventType: (type) =>
      type === EventTypeFilter.UNSPECIFIED ? [] : [{ column: "terms", hasAny: [latestEventTerm(type)] }],
    query: (text) =>
      text.includes(separator) ? [{ column: "terms", hasAny: [] }] : [{ column: "search", contains: searchable(text) }],
  },
  hasFeeds: true,
  sortNames: { advisory_id: "advisory_id", artifact_name: "artifact_name" },
  async hydrate(messages, _rows, session) {
    const severities = await severitiesOf(
      session,
      messages.map(({ advisoryId, aliases }) => [advisoryId, ...aliases]),
    );
    for (const [i, advisory] of messages.entries())
      advisory.severities = severities[i]!.map(({ type, score }) => create(SeveritySchema, { type, score }));
  },
});

export const advisoriesService = implement(AdvisoriesService, [advisories]);

/** Separates the values that are searched, so that no match spans two of them. */
const separator = "\n";

/** The form of texts for a search that ignores case. */
function searchable(...texts: readonly string[]): string {
  return texts.join(separator).toLowerCase();
}

/** An empty value matches nothing, not even an advisory with an empty value. */
function having(tag: Tag, values: readonly string[]): readonly Condition<"terms">[] {
  return [{ column: "terms", hasAny: values.filter(Boolean).map((value) => term(tag, value)) }];
}

function anyOf(tag: Tag): Filter<readonly string[], Message, "terms"> {
  return (values) => having(tag, values);
}

const eventFields = ["eventTypes", "eventReviewStates", "eventAuthors", "eventReviewers"] as const;

/** The filters on events make one condition together. The first of them that is set returns it. */
function ofOneEvent(field: keyof EventFilter): Filter<unknown, EventFilter & Message, "terms"> {
  return (_value, request) => {
    const first = eventFields.find((name) => request[name].length > 0);
    return first === field ? [{ column: "terms", hasAny: eventFilterTerms(request) }] : [];
  };
}
