import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StatusEvent } from "../../src/matching/facts.ts";
import { isOpen, statusOfEvents } from "../../src/matching/statuses.ts";

const kinds: Readonly<Record<string, Partial<StatusEvent> & Pick<StatusEvent, "kind">>> = {
  detection: { kind: "DETECTION" },
  true: { kind: "TRUE_POSITIVE" },
  false: { kind: "FALSE_POSITIVE", justification: "INLINE_MITIGATIONS_EXIST" },
  pending: { kind: "PENDING_UPSTREAM" },
  "no-fix": { kind: "FIX_NOT_PLANNED" },
  "no-analysis": { kind: "ANALYSIS_NOT_PLANNED" },
};

/** Events of a line: `detection 1, fixed 2.0-r0 2`. The last number is the time; none without `@`. */
function eventsOf(line: string): StatusEvent[] {
  return line.split(", ").map((text) => {
    const [event = "", time] = text.split("@");
    const [, fixedVersion] = /^fixed (.+)$/.exec(event) ?? [];
    const timeMs = time === undefined ? undefined : Number(time);
    return fixedVersion === undefined ? { ...kinds[event]!, timeMs } : { kind: "FIXED", fixedVersion, timeMs };
  });
}

function statusOf(line: string, version: string) {
  const status = statusOfEvents(eventsOf(line), "apk", version)!;
  return `${status.state} ${status.fixState} ${status.fixedVersion}`.trim();
}

describe("events of an advisory", () => {
  const [below, at, above] = ["1.9-r9", "2.0-r0", "2.0-r1"];

  test.each([
    // The newest event is a fix.
    ["fixed 2.0-r0@1", below, "AFFECTED FIXED 2.0-r0"],
    ["fixed 2.0-r0@1", at, "FIXED FIXED 2.0-r0"],
    ["fixed 2.0-r0@1", above, "FIXED FIXED 2.0-r0"],
    ["detection@1, fixed 2.0-r0@2", below, "AFFECTED FIXED 2.0-r0"],
    ["true@1, fixed 2.0-r0@2", at, "FIXED FIXED 2.0-r0"],
    ["false@1, fixed 2.0-r0@2", below, "AFFECTED FIXED 2.0-r0"],
    // Without a fix.
    ["detection@1", at, "UNDER_INVESTIGATION UNKNOWN"],
    ["true@1", at, "AFFECTED NOT_FIXED"],
    ["false@1", at, "NOT_AFFECTED UNKNOWN"],
    ["pending@1", at, "AFFECTED PENDING"],
    ["no-fix@1", at, "AFFECTED WONT_FIX"],
    ["no-analysis@1", at, "AFFECTED ANALYSIS_NOT_PLANNED"],
    ["false@1, detection@2", at, "UNDER_INVESTIGATION UNKNOWN"],
    ["detection@1, false@2", at, "NOT_AFFECTED UNKNOWN"],
    ["pending@1, no-fix@2", at, "AFFECTED WONT_FIX"],
    // After a fix.
    ["fixed 2.0-r0@1, detection@2", below, "UNDER_INVESTIGATION UNKNOWN"],
    ["fixed 2.0-r0@1, detection@2", above, "UNDER_INVESTIGATION UNKNOWN"],
    ["fixed 2.0-r0@1, true@2", above, "AFFECTED NOT_FIXED"],
    ["fixed 2.0-r0@1, false@2", below, "NOT_AFFECTED UNKNOWN"],
    ["fixed 2.0-r0@1, pending@2", above, "AFFECTED PENDING"],
    // Several fixes.
    ["fixed 1.0-r0@1, detection@2, fixed 2.0-r0@3", below, "AFFECTED FIXED 2.0-r0"],
    ["fixed 2.0-r0@1, fixed 1.0-r0@2", below, "FIXED FIXED 1.0-r0"],
    // At one time, or without times.
    ["fixed 1.0-r0, fixed 2.0-r0", below, "AFFECTED FIXED 2.0-r0"],
    ["fixed 2.0-r0, fixed 1.0-r0", below, "AFFECTED FIXED 2.0-r0"],
    ["false@1, detection@1", at, "NOT_AFFECTED UNKNOWN"],
    ["fixed 2.0-r0@1, true@1", above, "FIXED FIXED 2.0-r0"],
    ["fixed 2.0-r0, detection@1", above, "UNDER_INVESTIGATION UNKNOWN"],
    // Never affected, by secdb.
    ["fixed 0", at, "NOT_AFFECTED UNKNOWN"],
    ["fixed 0, fixed 2.0-r0", below, "AFFECTED FIXED 2.0-r0"],
  ])("%s: %s is %s", (line, version, expected) => {
    expect(statusOf(line, version)).toBe(expected);
    expect(statusOf(line.split(", ").reverse().join(", "), version)).toBe(expected);
  });

  test("say nothing if there are none", () => {
    expect(statusOfEvents([], "apk", "1")).toBeUndefined();
  });

  test("keep the justification", () => {
    expect(statusOfEvents(eventsOf("false@1"), "apk", "1")).toEqual({
      state: "NOT_AFFECTED",
      fixState: "UNKNOWN",
      fixedVersion: "",
      justification: "INLINE_MITIGATIONS_EXIST",
      sinceMs: 1,
    });
  });

  test.each([
    ["detection@1, true@2, pending@3", "1-r0", 1],
    ["detection@1, fixed 2-r0@2", "1-r0", 1],
    ["detection@1, fixed 2-r0@2", "2-r0", 2],
    ["detection@1, false@2, detection@3, true@4", "1-r0", 3],
    ["detection@1, fixed 2-r0@2, detection@3", "2-r0", 3],
    ["detection@1, fixed 2-r0@2, detection@3", "1-r0", 1],
    ["fixed 2-r0@2, false@3", "2-r0", 2],
    ["fixed 2-r0", "1-r0", undefined],
    ["fixed 2-r0, detection@3", "1-r0", undefined],
  ])("%s: %s is so since %j", (line, version, since) => {
    expect(statusOfEvents(eventsOf(line), "apk", version)!.sinceMs).toBe(since);
  });

  test("with a fix that cannot be compared leave it under investigation", () => {
    expect(statusOfEvents([{ kind: "FIXED", fixedVersion: "one", timeMs: 1 }], "npm", "1.0.0")).toEqual({
      state: "UNDER_INVESTIGATION",
      fixState: "FIXED",
      fixedVersion: "one",
      justification: "",
      versionUnordered: true,
      sinceMs: 1,
    });
    expect(statusOfEvents([{ kind: "FIXED", fixedVersion: "one" }], "npm", "one")).toMatchObject({ state: "FIXED" });
  });

  test("say the same in any order", () => {
    const event = fc.record({
      kind: fc.constantFrom<StatusEvent["kind"]>(
        "DETECTION",
        "TRUE_POSITIVE",
        "FALSE_POSITIVE",
        "FIXED",
        "FIX_NOT_PLANNED",
      ),
      timeMs: fc.option(fc.nat(3), { nil: undefined }),
      fixedVersion: fc.constantFrom("0", "1-r0", "2-r0", "3-r0"),
    });
    fc.assert(
      fc.property(
        fc.array(event, { minLength: 1, maxLength: 6 }),
        fc.constantFrom("1-r0", "2-r0", "9"),
        (events, version) => {
          const cleaned = events.map(({ fixedVersion, ...more }) =>
            more.kind === "FIXED" ? { ...more, fixedVersion } : more,
          );
          const status = statusOfEvents(cleaned, "apk", version)!;
          expect(statusOfEvents(cleaned.toReversed(), "apk", version)).toEqual(status);
        },
      ),
    );
  });
});

test.each([
  ["AFFECTED", true],
  ["UNDER_INVESTIGATION", true],
  ["FIXED", false],
  ["NOT_AFFECTED", false],
] as const)("a finding that is %s is open: %j", (state, expected) => {
  expect(isOpen({ state })).toBe(expected);
});
