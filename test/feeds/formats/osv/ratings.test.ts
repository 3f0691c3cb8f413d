import { expect, test } from "vitest";
import { ratingSource, readRatings, readWord } from "../../../../src/feeds/formats/osv/ratings.ts";
import { Fields } from "../../../../src/feeds/records/fields.ts";

test.each([
  ["CVE-2026-1", "nvd"],
  ["GHSA-aaaa-bbbb-cccc", "ghsa"],
  ["DEBIAN-CVE-2026-1", "debian"],
  ["DSA-5000-1", "debian"],
  ["USN-6000-1", "ubuntu"],
  ["UBUNTU-CVE-2026-1", "ubuntu"],
  ["RHSA-2026:1", "redhat"],
  ["ALSA-2026:1", "almalinux"],
  ["CGA-aaaa-bbbb-cccc", "chainguard"],
  ["PYSEC-2026-1", "pysec"],
  ["openSUSE-SU-2026:1-1", "opensuse"],
  ["NEW", "new"],
])("%s is of %s", (id, source) => {
  expect(ratingSource(id)).toBe(source);
});

test("vectors have the publisher as source, words their own, and others are reported", () => {
  const unread: string[] = [];
  const vector = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N";
  const severity = [
    { type: "CVSS_V4", score: vector },
    { type: "CVSS_V3", score: "9.8" },
    { type: "Ubuntu", score: "medium" },
    { type: "Ubuntu", score: "untriaged" },
    { type: "Else", score: "bad" },
  ];
  expect(readRatings(new Fields({ severity }), "ghsa", "severity[].score", (member) => unread.push(member))).toEqual([
    { source: "ghsa", vector },
    { source: "ubuntu", vector: "", word: "medium" },
  ]);
  expect(unread).toEqual(["severity[].score", "severity[].score"]);
});

test.each<[unknown, unknown[]]>([
  [{ severity: "MODERATE" }, [{ source: "ghsa", vector: "", word: "MODERATE" }]],
  [{ severity: "none of these" }, []],
  [{ severity: 9.8 }, []],
  [{}, []],
  ["HIGH", []],
  [undefined, []],
])("GitHub's word in %j", (specific, expected) => {
  expect(readWord(specific, "ghsa")).toEqual(expected);
});
