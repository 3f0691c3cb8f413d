/** What changes of the open vulnerabilities of a repo are. */
import { expect, test } from "vitest";
import { Finding_Level } from "../../../../gen/platform/findings/v1/findings_pb.ts";
import { changesSince, firstChanges } from "../../../../src/services/findings/summary/open-vulnerabilities.ts";
import { countsOf, msOfDay } from "../../../../src/services/findings/summary/stored-counts.ts";

const { LOW, HIGH } = Finding_Level;
const open = (id: string, level: Finding_Level, aliases: string[] = [], firstSeenMs = 0) =>
  [id, { level, aliases, firstSeenMs }] as const;
const none = countsOf([]);

test.each([
  ["nothing", [], [], none, none],
  ["a new one", [], [open("A", HIGH)], countsOf([HIGH]), none],
  ["one that is gone", [["A", LOW]], [], none, countsOf([LOW])],
  ["another level", [["A", LOW]], [open("A", HIGH)], none, none],
  ["another id", [["A", LOW]], [open("B", LOW, ["A"])], none, none],
  ["two that were one", [["A", LOW]], [open("B", HIGH, ["A"]), open("C", HIGH, ["A"])], countsOf([HIGH]), none],
  [
    "one that were two",
    [
      ["A", LOW],
      ["B", HIGH],
    ],
    [open("C", HIGH, ["A", "B"])],
    none,
    countsOf([HIGH]),
  ],
  ["an alias that is still there", [["A", LOW]], [open("A", LOW), open("B", LOW, ["A"])], countsOf([LOW]), none],
] as const)("%s", (_title, before, now, opened, resolved) => {
  expect(changesSince(new Map<string, Finding_Level>(before), new Map(now))).toEqual({ opened, resolved });
});

test("of a repo, where counting begins, are those first seen on the day", () => {
  const now = new Map([
    open("A", HIGH, [], msOfDay(7) - 1),
    open("B", HIGH, [], msOfDay(7)),
    open("C", LOW, [], msOfDay(8) - 1),
  ]);
  expect(firstChanges(now, 7)).toEqual({ opened: countsOf([HIGH, LOW]), resolved: none });
});
