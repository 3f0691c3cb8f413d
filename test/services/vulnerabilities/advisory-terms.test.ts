import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { expect, it, test } from "vitest";
import {
  AdvisoryEventSchema,
  AdvisorySchema,
  EventTypeFilter,
  ReviewState,
} from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import {
  type EventFilter,
  eventFilterTerms,
  latestEventTerm,
  term,
  termsOf,
} from "../../../src/services/vulnerabilities/advisory-terms.ts";

type EventType = NonNullable<MessageInitShape<typeof AdvisoryEventSchema>["type"]>;

const types: readonly (readonly [EventTypeFilter, EventType])[] = [
  [EventTypeFilter.DETECTION, { case: "detection", value: { type: { case: "manual", value: {} } } }],
  [EventTypeFilter.TRUE_POSITIVE_DETERMINATION, { case: "truePositiveDetermination", value: {} }],
  [EventTypeFilter.FIXED, { case: "fixed", value: { fixedVersion: "1" } }],
  [EventTypeFilter.FALSE_POSITIVE_DETERMINATION, { case: "falsePositiveDetermination", value: {} }],
  [EventTypeFilter.ANALYSIS_NOT_PLANNED, { case: "analysisNotPlanned", value: {} }],
  [EventTypeFilter.FIX_NOT_PLANNED, { case: "fixNotPlanned", value: {} }],
  [EventTypeFilter.PENDING_UPSTREAM_FIX, { case: "pendingUpstreamFix", value: {} }],
  [EventTypeFilter.PATCHED, { case: "patched", value: {} }],
];
const states = [ReviewState.PENDING, ReviewState.APPROVED, ReviewState.REQUEST_CHANGES, ReviewState.REJECTED];
/** With the characters that terms are made of, and longer than they hold. */
const people = ["ann", "bob", '"', '","', "null", "a".repeat(200), `${"a".repeat(200)}b`];

interface Happening {
  readonly type: EventTypeFilter;
  readonly state: ReviewState;
  readonly author: string;
  readonly reviewer: string;
}

const happening = fc.record<Happening>({
  type: fc.constantFrom(...types.map(([type]) => type)),
  state: fc.constantFrom(...states),
  author: fc.constantFrom(...people),
  reviewer: fc.constantFrom("", ...people),
});
const filter: fc.Arbitrary<EventFilter> = fc.record({
  eventTypes: fc.subarray(
    types.map(([type]) => type),
    { maxLength: 3 },
  ),
  eventReviewStates: fc.subarray(states),
  eventAuthors: fc.subarray(people, { maxLength: 3 }),
  eventReviewers: fc.subarray(people, { maxLength: 3 }),
});

function advisoryWith(happenings: readonly Happening[]) {
  const events = happenings.map(({ type, state, author, reviewer }, i) =>
    create(AdvisoryEventSchema, {
      author,
      reviewer,
      reviewState: state,
      createTime: timestampFromMs(i),
      type: new Map(types).get(type)!,
    }),
  );
  return create(AdvisorySchema, { advisoryId: "A", artifactName: "openssl", events });
}

function meets(event: Happening, { eventTypes, eventReviewStates, eventAuthors, eventReviewers }: EventFilter) {
  const allows = <T>(given: readonly T[], value: T) => given.length === 0 || given.includes(value);
  return (
    allows(eventTypes, event.type) &&
    allows(eventReviewStates, event.state) &&
    allows(eventAuthors, event.author) &&
    allows(eventReviewers, event.reviewer)
  );
}

test("an advisory has a term of an event filter exactly when one and the same event meets all of it", () => {
  const isAboutEvents = (wanted: EventFilter) => Object.values(wanted).some((values) => values.length > 0);
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 4 }), filter.filter(isAboutEvents), (happenings, wanted) => {
      const terms = new Set(termsOf(advisoryWith(happenings)));
      const isFound = eventFilterTerms(wanted).some((wantedTerm) => terms.has(wantedTerm));
      expect(isFound).toBe(happenings.some((event) => meets(event, wanted)));
    }),
    { numRuns: 2000 },
  );
});

test("authors and reviewers that are too many to combine are refused", () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}`);
  const any: EventFilter = { eventTypes: [], eventReviewStates: [], eventAuthors: [], eventReviewers: [] };
  expect(eventFilterTerms({ ...any, eventAuthors: [...many(200), ...many(200)] })).toHaveLength(200);
  expect(eventFilterTerms({ ...any, eventReviewers: many(200), eventAuthors: ["ann", "ann"] })).toHaveLength(6400);
  expect(() => eventFilterTerms({ ...any, eventReviewers: many(20), eventAuthors: many(20) })).toThrow(/event_authors/);
});

it.each([
  ["nothing happened", [], undefined],
  ["nothing approved", [{ type: 3, state: ReviewState.PENDING, at: 1 }], undefined],
  [
    "the newest is approved",
    [
      { type: 1, state: ReviewState.APPROVED, at: 1 },
      { type: 3, state: ReviewState.APPROVED, at: 2 },
    ],
    EventTypeFilter.FIXED,
  ],
  [
    "the newest is rejected",
    [
      { type: 1, state: ReviewState.APPROVED, at: 1 },
      { type: 3, state: ReviewState.REJECTED, at: 2 },
    ],
    EventTypeFilter.DETECTION,
  ],
  [
    "they are not in order",
    [
      { type: 3, state: ReviewState.APPROVED, at: 2 },
      { type: 1, state: ReviewState.APPROVED, at: 1 },
    ],
    EventTypeFilter.FIXED,
  ],
  [
    "two happened at once",
    [
      { type: 1, state: ReviewState.APPROVED, at: 1 },
      { type: 3, state: ReviewState.APPROVED, at: 1 },
    ],
    EventTypeFilter.FIXED,
  ],
  [
    "one has no time",
    [
      { type: 1, state: ReviewState.APPROVED, at: 1 },
      { type: 3, state: ReviewState.APPROVED, at: undefined },
    ],
    EventTypeFilter.DETECTION,
  ],
])("the latest event where %s", (_, happenings, expected) => {
  const events = happenings.map(({ type, state, at }) =>
    create(AdvisoryEventSchema, {
      reviewState: state,
      author: "ann",
      type: new Map(types).get(type as EventTypeFilter)!,
      ...(at !== undefined && { createTime: timestampFromMs(at) }),
    }),
  );
  const latest = termsOf(create(AdvisorySchema, { events })).filter((text) => text.startsWith("latest_event"));
  expect(latest).toEqual(expected === undefined ? [] : [latestEventTerm(expected)]);
});

test("terms of different values differ, however long", () => {
  const long = "a".repeat(300);
  const values = ["", "a", "a:b", "#", long, `${long}b`, "é", "e\u0301"];
  const terms = values.flatMap((value) => [term("alias", value), term("advisory_id", value)]);
  expect(new Set(terms).size).toBe(terms.length);
  expect(Math.max(...terms.map((text) => text.length))).toBeLessThan(120);
});

test("a value that is two things has a term as each", () => {
  const advisory = create(AdvisorySchema, {
    advisoryId: "X",
    aliases: ["X", "X", "Y"],
    artifactName: "go",
    componentName: "go",
    legacyAdvisoryId: "old",
  });
  expect(termsOf(advisory)).toEqual(
    expect.arrayContaining([
      "advisory_id:X",
      "alias:X",
      "alias:Y",
      "artifact_name:go",
      "component_name:go",
      "legacy_advisory_id:old",
    ]),
  );
  expect(new Set(termsOf(advisory)).size).toBe(termsOf(advisory).length);
});
