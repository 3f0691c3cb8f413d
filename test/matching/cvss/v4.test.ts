/** Scores of CVSS 4.0 against the calculator of FIRST (github.com/FIRSTdotorg/cvss-v4-calculator). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cvssScore } from "../../../src/matching/cvss/score.ts";

test("vectors of all kinds have the score that the calculator of FIRST computes", () => {
  const lines = readFileSync(new URL("v4-verdicts.txt", import.meta.url), "utf8")
    .trim()
    .split("\n");
  const verdicts = lines.map((line) => line.split(" "));
  const differing = verdicts.filter(([vector, score]) => cvssScore(vector!)?.score !== Number(score));
  expect(verdicts.length).toBeGreaterThan(200);
  expect(differing).toEqual([]);
});

test("half a decimal is rounded up, also where binary numbers are slightly less", () => {
  // 8.6 - 0.05 is 8.549999999999999; the revised calculator rounds so (RedHatProductSecurity/cvss-v4-calculator#66).
  expect(cvssScore("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:P/VC:H/VI:L/VA:N/SC:H/SI:H/SA:H")?.score).toBe(8.6);
});
