import { expect, test } from "vitest";
import { ImportReport, summaryText } from "../../../src/feeds/import/report.ts";

function reportTo(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const report = new ImportReport({ isTTY, columns, write: (text) => written.push(text) }, () => clock.ms);
  return { written, clock, report };
}

test("read is the sum of added, changed, unchanged and refused", () => {
  const { report } = reportTo(false);
  report.count("added", 2);
  report.count("changed");
  report.count("unchanged", 3);
  report.count("removed", 4);
  report.refuse("a", "b");
  expect(report.summary).toEqual({
    read: 7,
    added: 2,
    changed: 1,
    unchanged: 3,
    removed: 4,
    refused: 1,
    unread: 0,
    passedOver: 0,
  });
  expect(summaryText(report.summary)).toBe("read 7, added 2, changed 1, unchanged 3, removed 4, refused 1, unread 0");
  report.skip("c");
  expect(summaryText(report.summary)).toMatch(/, refused 1, unread 0, skipped 1 file$/);
  report.skip("d");
  expect(summaryText(report.summary)).toMatch(/, skipped 2 files$/);
});

test("without a terminal, progress is printed every five seconds", () => {
  const { written, clock, report } = reportTo(false);
  for (clock.ms = 0; clock.ms < 11_000; clock.ms += 1000) report.count("added", 10);
  report.end();
  expect(written).toEqual(["60 read, 0 refused, 12/s\n", "110 read, 0 refused, 11/s\n"]);
});

test("on a terminal, one line with a bar is rewritten, and cleared for refusals and at the end", () => {
  const { written, clock, report } = reportTo(true, 50);
  report.advance(0.5);
  clock.ms = 100;
  report.count("added");
  report.refuse("a.json", "is not JSON");
  report.end();
  const bar = `${"#".repeat(12)}${" ".repeat(12)}`;
  expect(written).toEqual([
    `\r${`[${bar}] 50%, 1 read, 0 refused, 10/s`.slice(0, 49)}\x1b[K`,
    "\r\x1b[K",
    "refused: a.json: is not JSON\n",
  ]);
});

test("a hundred refusals are printed and all are counted", () => {
  const { written, report } = reportTo(false);
  for (let n = 1; n <= 250; n++) report.refuse(`${n}`, "no");
  expect(written).toHaveLength(101);
  expect(written.slice(-2)).toEqual(["refused: 100: no\n", "refused: … and more\n"]);
  expect(report.summary.refused).toBe(250);
});

test("unknown members are printed once with count and first location, at most twenty", () => {
  const { written, report } = reportTo(false);
  report.unread("a[].b", "1.json");
  for (let n = 0; n < 3; n++) report.unread("c\nd", `${n}.json`);
  report.end();
  expect(written).toEqual(["unread: c\\nd: 3 times, first in 0.json\n", "unread: a[].b: once, first in 1.json\n"]);
  expect([report.summary.unread, report.summary.read]).toEqual([4, 0]);
  for (let n = 0; n < 5000; n++) report.unread(`member ${n}`, "1.json");
  written.length = 0;
  report.end();
  expect([written.length, written.at(-1), report.summary.unread]).toEqual([21, "unread: … and more\n", 5004]);
});
