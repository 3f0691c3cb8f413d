import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupAliases } from "../../src/matching/alias-groups.ts";

/** Records of a line: `GO-1=CVE-2024-1,GHSA-a GHSA-a`. */
const recordsOf = (line: string) =>
  line.split(" ").map((text) => {
    const [id = "", aliases = ""] = text.split("=");
    return { id, aliases: aliases.split(",").filter(Boolean) };
  });
const groupsOf = (line: string) => groupAliases(recordsOf(line)).map(({ id, ids }) => `${id}: ${ids.join(" ")}`);

describe("groups of aliases", () => {
  test.each([
    ["CVE-2024-1", ["CVE-2024-1: CVE-2024-1"]],
    ["GHSA-a=CVE-2024-1", ["CVE-2024-1: CVE-2024-1 GHSA-a"]],
    // Joined over others, whichever record claims it.
    ["GO-1=GHSA-a GHSA-a=CVE-2024-1 PYSEC-1=GO-1", ["CVE-2024-1: CVE-2024-1 GHSA-a GO-1 PYSEC-1"]],
    ["GO-1=GHSA-a PYSEC-1=GHSA-a", ["GHSA-a: GHSA-a GO-1 PYSEC-1"]],
    ["PYSEC-1=GO-1", ["GO-1: GO-1 PYSEC-1"]],
    ["GO-1 GO-2", ["GO-1: GO-1", "GO-2: GO-2"]],
    // An id of two CVEs does not merge them.
    ["GHSA-a=CVE-2024-1,CVE-2024-2", ["CVE-2024-1: CVE-2024-1 GHSA-a", "CVE-2024-2: CVE-2024-2 GHSA-a"]],
    ["CVE-2024-1=GHSA-a CVE-2024-2=GHSA-a", ["CVE-2024-1: CVE-2024-1 GHSA-a", "CVE-2024-2: CVE-2024-2 GHSA-a"]],
    [
      "GHSA-a=CVE-2024-1,CVE-2024-2 GO-1=GHSA-a PYSEC-1=GHSA-a,CVE-2024-1",
      ["CVE-2024-1: CVE-2024-1 GHSA-a GO-1 PYSEC-1", "CVE-2024-2: CVE-2024-2 GHSA-a GO-1"],
    ],
    // Nor does a CVE that claims another.
    ["CVE-2024-1=CVE-2024-2", ["CVE-2024-1: CVE-2024-1", "CVE-2024-2: CVE-2024-2"]],
    // Each id goes with the nearest CVE.
    [
      "CVE-2024-1=GHSA-a GHSA-a=GO-1 GO-1=GHSA-b GHSA-b=CVE-2024-2",
      ["CVE-2024-1: CVE-2024-1 GHSA-a GO-1", "CVE-2024-2: CVE-2024-2 GHSA-b GO-1"],
    ],
  ])("of %s are %j", (line, expected) => {
    expect(groupsOf(line)).toEqual(expected);
  });

  test("are the same in any order of records, have one CVE at most, and all ids", () => {
    const id = fc.constantFrom("CVE-2024-1", "CVE-2024-2", "CVE-2024-3", "GHSA-a", "GHSA-b", "GO-1", "GO-2", "PYSEC-1");
    const records = fc.array(fc.record({ id, aliases: fc.array(id, { maxLength: 3 }) }), { maxLength: 8 });
    fc.assert(
      fc.property(records, (some) => {
        const groups = groupAliases(some);
        expect(groupAliases(some.toReversed())).toEqual(groups);
        for (const { ids } of groups) expect(ids.filter((each) => each.startsWith("CVE-")).length).toBeLessThan(2);
        const all = some.flatMap((record) => [record.id, ...record.aliases]);
        expect(new Set(groups.flatMap(({ ids }) => ids))).toEqual(new Set(all));
      }),
    );
  });
});
