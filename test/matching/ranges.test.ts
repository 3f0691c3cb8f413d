import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AffectedRange, RangeEvent } from "../../src/matching/facts.ts";
import { CompiledRange } from "../../src/matching/ranges.ts";
import { comparePackageVersions, parsePackageVersion } from "../../src/versions/index.ts";
import { ascending } from "../versions/ascending.ts";

function contains(range: AffectedRange, type: string, version: string) {
  const compiled = new CompiledRange(range, type);
  return compiled.contains(compiled.read(version, type, parsePackageVersion(type, version)));
}

/** Events as a line: `introduced 0, fixed 1.2`. */
function eventsOf(line: string): RangeEvent[] {
  return line.split(", ").map((event) => {
    const [kind = "", version = ""] = event.split(" ");
    return { [kind]: version } as unknown as RangeEvent;
  });
}

const ecosystem = (line: string): AffectedRange => ({ kind: "ECOSYSTEM", events: eventsOf(line) });

describe("a range", () => {
  test.each([
    ["introduced 0", "0.0.0-0", true],
    ["introduced 0, fixed 1.0.2", "1.0.1", true],
    ["introduced 0, fixed 1.0.2", "1.0.2", false],
    ["introduced 0, fixed 1.0.2", "1.0.2-rc.1", true],
    ["introduced 1.0.0, fixed 1.0.2, introduced 3.0.0, fixed 3.2.5", "1.0.0", true],
    ["introduced 1.0.0, fixed 1.0.2, introduced 3.0.0, fixed 3.2.5", "2.0.0", false],
    ["introduced 1.0.0, fixed 1.0.2, introduced 3.0.0, fixed 3.2.5", "3.2.4", true],
    ["introduced 1.0.0, fixed 1.0.2, introduced 3.0.0, fixed 3.2.5", "3.2.5", false],
    // In any order.
    ["fixed 3.2.5, introduced 3.0.0, fixed 1.0.2, introduced 1.0.0", "2.0.0", false],
    ["fixed 3.2.5, introduced 3.0.0, fixed 1.0.2, introduced 1.0.0", "3.0.0", true],
    // The last affected version is affected, also if it is the only one.
    ["introduced 1.0.0, last_affected 1.2.0", "1.2.0", true],
    ["introduced 1.0.0, last_affected 1.2.0", "1.2.1", false],
    ["last_affected 1.2.0, introduced 1.2.0", "1.2.0", true],
    ["last_affected 1.2.0, introduced 1.2.0", "1.2.1", false],
    // Fixed in one branch and introduced in the next at the same version.
    ["introduced 0, fixed 2.0.0, introduced 2.0.0, fixed 3.0.0", "2.0.0", true],
    ["introduced 0, limit 2.0.0", "1.0.0", true],
    ["introduced 0, limit 2.0.0", "2.0.0", false],
    ["introduced 0, limit 1.0.0, limit 2.0.0", "1.5.0", true],
    ["introduced 0, fixed 1.0.0, limit *", "0.5.0", true],
    ["introduced 0, limit *", "9.0.0", true],
  ])("of %s: %s is in it: %j", (line, version, expected) => {
    expect(contains(ecosystem(line), "npm", version)).toBe(expected);
  });

  test("of commits contains no version", () => {
    expect(contains({ kind: "GIT", events: eventsOf("introduced 0") }, "npm", "1.0.0")).toBe(false);
  });

  test("without events contains no version", () => {
    expect(contains({ kind: "ECOSYSTEM", events: [] }, "npm", "1.0.0")).toBe(false);
  });

  test.each([
    ["npm", "introduced 0, fixed 1.0.0", "latest", "has a version that is not one of its type"],
    ["npm", "introduced 0, fixed one", "1.0.0", "is compared with a version that is not one of its type"],
    ["npm", "introduced 0, limit one", "1.0.0", "is compared with a version that is not one of its type"],
    ["github", "introduced 0, fixed 1.0.0", "1.0.0", "has a type whose versions have no order"],
    ["generic", "introduced 1", "1", "has a type whose versions have no order"],
  ])("of %s, %s: %s %s", (type, line, version, reason) => {
    expect(contains(ecosystem(line), type, version)).toBe(reason);
  });

  test("of all versions contains what is no version, too", () => {
    expect(contains(ecosystem("introduced 0"), "github", "main")).toBe(true);
    expect(contains(ecosystem("introduced 0"), "npm", "latest")).toBe(true);
  });

  test("of Semantic Versioning has its order where the type has none", () => {
    const range: AffectedRange = { kind: "SEMVER", events: eventsOf("introduced 1.2.0, fixed 1.10.0") };
    expect(contains(range, "github", "1.9.0")).toBe(true);
    expect(contains(range, "github", "v1.10.0")).toBe(false);
    expect(contains(range, "github", "main")).toBe("has a version that is not one of its type");
    // Bitnami's revisions are after the release.
    expect(contains(range, "bitnami", "1.10.0-2")).toBe(false);
    expect(contains(range, "npm", "1.10.0-2")).toBe(true);
  });
});

describe("a range and a naive reading of the schema", () => {
  /** `IsVulnerable` of the schema, for events in order. */
  function naive(events: readonly RangeEvent[], type: string, version: string): boolean {
    const atLeast = (other: string) => comparePackageVersions(type, version, other)! >= 0;
    const isBefore = (other: string) => comparePackageVersions(type, version, other)! < 0;
    const limits = events.flatMap((event) => ("limit" in event ? [event.limit] : []));
    if (limits.length > 0 && !limits.some((limit) => limit === "*" || isBefore(limit))) return false;
    let isVulnerable = false;
    for (const event of events) {
      if ("introduced" in event && (event.introduced === "0" || atLeast(event.introduced))) isVulnerable = true;
      else if ("fixed" in event && atLeast(event.fixed)) isVulnerable = false;
      else if (
        "last_affected" in event &&
        atLeast(event.last_affected) &&
        comparePackageVersions(type, version, event.last_affected) !== 0
      )
        isVulnerable = false;
    }
    return isVulnerable;
  }

  for (const [type, groups] of Object.entries(ascending)) {
    test(`are the same for ${type}`, () => {
      const places = fc.uniqueArray(fc.nat(groups.length - 1), { minLength: 1, maxLength: 6 });
      const versionAt = (place: number) => fc.constantFrom(...groups[place]!);
      const sorted = places.chain((some) => {
        const events = some
          .toSorted((a, b) => a - b)
          .map((place) => fc.tuple(fc.constantFrom("introduced", "fixed", "last_affected", "limit"), versionAt(place)));
        return fc.tuple(fc.boolean(), ...events);
      });
      const version = fc.nat(groups.length - 1).chain(versionAt);
      fc.assert(
        fc.property(sorted, version, fc.nat(), ([fromZero, ...some], text, seed) => {
          const events = some.map(([kind, at]) => ({ [kind]: at }) as unknown as RangeEvent);
          if (fromZero) events.unshift({ introduced: "0" });
          const turned = [...events.slice(seed % events.length || 0), ...events.slice(0, seed % events.length || 0)];
          const hasSteps = events.some((event) => !("limit" in event));
          const expected = hasSteps && naive(events, type, text);
          expect(contains({ kind: "ECOSYSTEM", events: turned }, type, text)).toBe(expected);
        }),
        { numRuns: 300 },
      );
    });
  }
});
