/** Sums of the counts of repos are those of a model that looks at each day by itself. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Finding_Level } from "../../../../gen/platform/findings/v1/findings_pb.ts";
import { countsOf, type DayCounts } from "../../../../src/services/findings/summary/stored-counts.ts";
import {
  type Dimension,
  dimensions,
  Summary,
  type SummedCounts,
} from "../../../../src/services/findings/summary/summary.ts";

const group = "0".repeat(40);
const repos = [`${group}/${"1".repeat(16)}`, `${group}/${"2".repeat(16)}`, `${"3".repeat(40)}/${"4".repeat(16)}`];
const levels = [Finding_Level.LOW, Finding_Level.CRITICAL];

/** The counts of a repo from a day on, up to those of the next day that has any. */
interface StoredDay extends DayCounts {
  readonly repo: string;
}

const levelCounts = fc.array(fc.constantFrom(...levels), { maxLength: 3 }).map((some) => countsOf(some));
const days: fc.Arbitrary<StoredDay[]> = fc.uniqueArray(
  fc.record({
    repo: fc.constantFrom(...repos),
    day: fc.integer({ min: 0, max: 12 }),
    open: levelCounts,
    opened: levelCounts,
    resolved: levelCounts,
  }),
  { selector: ({ repo, day }) => `${repo} ${day}`, maxLength: 12 },
);

function endOf({ repo, day }: StoredDay, all: readonly StoredDay[]): number {
  return Math.min(...all.filter((other) => other.repo === repo && other.day > day).map((other) => other.day));
}

/** The rows, each day and level by itself. */
function expectedRows(all: readonly StoredDay[], by: ReadonlySet<Dimension>, from: number, to: number): SummedCounts[] {
  const rows = new Map<string, SummedCounts>();
  for (let day = from; day <= to; day++)
    for (const stored of all)
      for (const level of levels) {
        const isInForce = stored.day <= day && day < endOf(stored, all);
        const place = {
          ...(by.has("day") && { day }),
          ...(by.has("group") && { group: stored.repo.slice(0, 40) }),
          ...(by.has("repo") && { repo: stored.repo }),
          ...(by.has("level") && { level }),
        };
        const key = JSON.stringify(place);
        const { open, opened, resolved } = rows.get(key) ?? { open: 0, opened: 0, resolved: 0 };
        rows.set(key, {
          ...place,
          open: open + (isInForce && (by.has("day") || day === to) ? stored.open[level]! : 0),
          opened: opened + (stored.day === day ? stored.opened[level]! : 0),
          resolved: resolved + (stored.day === day ? stored.resolved[level]! : 0),
        });
      }
  const order = ({ day = 0, group = "", repo = "", level = 0 }: SummedCounts) =>
    `${String(day).padStart(2, "0")} ${group} ${repo} ${9 - level}`;
  return [...rows.values()]
    .filter(({ open, opened, resolved }) => open + opened + resolved > 0)
    .sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

describe("a summary", () => {
  const by = fc.subarray([...dimensions]).map((some) => new Set(some));

  test("is that of each day by itself, whatever was stored and is asked for", () => {
    fc.assert(
      fc.property(days, by, fc.nat(14), fc.nat(14), (all, by, from, to) => {
        const summary = new Summary({ by, from, to });
        for (const { repo, ...counts } of all) summary.add(repo, counts, endOf({ repo, ...counts }, all));
        expect(summary.rows(1000)).toEqual(expectedRows(all, by, from, to));
      }),
      { numRuns: 500 },
    );
  });

  test("has no more rows than it may", () => {
    const none = countsOf([]);
    const summary = new Summary({ by: new Set(["day"]), from: 1, to: 10 });
    summary.add(repos[0]!, { day: 1, open: countsOf([Finding_Level.HIGH]), opened: none, resolved: none });
    expect(summary.rows(10)).toHaveLength(10);
    expect(summary.rows(9)).toBeUndefined();
  });
});
