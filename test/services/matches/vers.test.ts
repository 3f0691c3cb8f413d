import { expect, test } from "vitest";
import { parseVers, type RangeEvent, VersRange } from "../../../src/matching/index.ts";
import { fixesOf, versOf } from "../../../src/services/matches/vers.ts";

const text = (...events: RangeEvent[]) => versOf("npm", { events });

test.each<[RangeEvent[], string]>([
  [[{ introduced: "0" }], "vers:npm/*"],
  [[{ introduced: "0" }, { limit: "*" }], "vers:npm/*"],
  [[{ introduced: "0" }, { fixed: "1.2.3" }], "vers:npm/<1.2.3"],
  [[{ introduced: "4.0.0" }, { fixed: "4.17.21" }], "vers:npm/>=4.0.0|<4.17.21"],
  [[{ introduced: "1.0.0" }, { last_affected: "2.0.0" }], "vers:npm/>=1.0.0|<=2.0.0"],
  [[{ introduced: "1.0.0" }, { limit: "2.0.0" }], "vers:npm/>=1.0.0|<2.0.0"],
  [[{ introduced: "1.0.0" }], "vers:npm/>=1.0.0"],
  [
    [{ fixed: "2.1.0" }, { introduced: "2.0.0" }, { fixed: "1.1.0" }, { introduced: "0" }],
    "vers:npm/<1.1.0|>=2.0.0|<2.1.0",
  ],
  [[{ introduced: "0" }, { fixed: "1.0.0" }, { fixed: "1.5.0" }, { introduced: "2.0.0" }], "vers:npm/<1.0.0|>=2.0.0"],
  [[{ introduced: "1.0.0-a+b" }], "vers:npm/>=1.0.0-a%2Bb"],
])("%j", (events, expected) => {
  expect(text(...events)).toBe(expected);
  expect(parseVers(expected)).toBeInstanceOf(VersRange);
});

test("events that affect nothing have no text", () => {
  expect(text()).toBeUndefined();
  expect(text({ fixed: "1.0.0" })).toBeUndefined();
});

test("the fixes of ranges, each once", () => {
  const kind = "SEMVER" as const;
  const ranges = [
    { kind, events: [{ introduced: "0" }, { fixed: "1.0.0" }] },
    { kind, events: [{ introduced: "2.0.0" }, { fixed: "2.1.0" }, { introduced: "3.0.0" }, { fixed: "1.0.0" }] },
  ];
  expect(fixesOf(ranges)).toEqual(["1.0.0", "2.1.0"]);
});
