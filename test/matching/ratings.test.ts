import { expect, test } from "vitest";
import { type Rating, ratingThatCounts } from "../../src/matching/ratings.ts";

const v2 = "AV:N/AC:L/Au:N/C:C/I:C/A:C";
const v3 = "AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
const v4 = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:L/SC:N/SI:N/SA:N";
const nvd: Rating = { kind: "NVD", source: "nvd", vector: `CVSS:3.1/${v3}` };
const ghsa: Rating = { kind: "GHSA", source: "ghsa", vector: v4 };
const cna: Rating = { kind: "CNA", source: "vendor", vector: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:N/A:N" };
const redhat: Rating = { kind: "DISTRIBUTION", source: "redhat", word: "Low" };
const scanner: Rating = { kind: "SCANNER", source: "grype", score: 9.1 };

test.each([
  [[scanner, nvd, ghsa, redhat], { rating: redhat, level: "LOW" }],
  [[scanner, nvd, ghsa], { rating: ghsa, level: "MEDIUM", score: 6.9, version: "4.0" }],
  [[scanner, nvd], { rating: nvd, level: "CRITICAL", score: 9.8, version: "3.1" }],
  [[scanner], { rating: scanner, level: "CRITICAL", score: 9.1 }],
  // CNA and GHSA are equal: the later version of CVSS.
  [[cna, ghsa], { rating: ghsa, level: "MEDIUM", score: 6.9, version: "4.0" }],
  [[cna, { ...ghsa, vector: v2 }], { rating: cna, level: "MEDIUM", score: 5.3, version: "3.1" }],
  [[cna, { ...cna, source: "other", vector: nvd.vector }], { level: "CRITICAL", score: 9.8 }],
  [
    [
      { ...cna, source: "b" },
      { ...cna, source: "a" },
    ],
    { rating: { ...cna, source: "a" } },
  ],
  // Within a source: 4.0, 3.1, 3.0, 2.0, a score, a word.
  [
    [
      { ...nvd, vector: v2 },
      { ...nvd, vector: `CVSS:3.0/${v3}` },
    ],
    { version: "3.0" },
  ],
  [[{ ...nvd, vector: `CVSS:3.0/${v3}` }, nvd], { version: "3.1" }],
  [[nvd, { ...nvd, vector: v4 }], { version: "4.0" }],
  [
    [
      { ...nvd, vector: undefined, score: 9 },
      { ...nvd, vector: v2 },
    ],
    { version: "2.0", level: "HIGH" },
  ],
  [
    [
      { ...redhat, word: "critical" },
      { ...redhat, word: undefined, score: 5 },
    ],
    { score: 5, level: "MEDIUM" },
  ],
  [[{ ...scanner, score: 0 }], { score: 0, level: "NONE" }],
  // A vector that is not valid counts as none, and a word that is none is no rating.
  [[{ ...nvd, vector: "CVSS:3.1/AV:N", score: 4.2, word: "high" }], { score: 4.2, level: "MEDIUM" }],
  [[{ ...redhat, word: "not yet assigned" }, nvd], { rating: nvd }],
])("of %j counts %j", (ratings, expected) => {
  expect(ratingThatCounts(ratings as Rating[])).toMatchObject(expected);
  expect(ratingThatCounts((ratings as Rating[]).toReversed())).toMatchObject(expected);
});

test("a group chooses the order of sources, and others follow", () => {
  expect(ratingThatCounts([redhat, nvd, ghsa], [["NVD"]])).toMatchObject({ rating: nvd });
  expect(ratingThatCounts([redhat, ghsa], [["NVD"], ["GHSA"]])).toMatchObject({ rating: ghsa });
  expect(ratingThatCounts([redhat], [["NVD"]])).toMatchObject({ rating: redhat });
});

test("without ratings none counts", () => {
  expect(ratingThatCounts([])).toBeUndefined();
  expect(ratingThatCounts([{ kind: "SCANNER", source: "grype", score: 11, word: "" }])).toBeUndefined();
});
