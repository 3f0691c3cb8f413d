/** Scores of CVSS, against those that are published for the vectors. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cvssScore } from "../../../src/matching/cvss/score.ts";

test.each([
  // FIRST, "CVSS v3.1 Examples".
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", 6.1],
  ["CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N", 6.4],
  ["CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N", 3.1],
  ["CVSS:3.1/AV:L/AC:L/PR:N/UI:R/S:U/C:H/I:H/A:H", 7.8],
  ["CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H", 9.9],
  ["CVSS:3.1/AV:P/AC:L/PR:N/UI:N/S:U/C:N/I:H/A:N", 4.6],
  ["CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", 9.8],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", 10],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:N/I:N/A:N", 0],
  // With temporal metrics, which do not change the base score.
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H/E:P/RL:O", 7.5],
  // FIRST, "CVSS v2", 3.3.
  ["AV:N/AC:L/Au:N/C:N/I:N/A:C", 7.8],
  ["AV:N/AC:L/Au:N/C:C/I:C/A:C", 10],
  ["AV:L/AC:H/Au:N/C:C/I:C/A:C", 6.2],
  ["AV:L/AC:H/Au:M/C:N/I:N/A:N", 0],
  // FIRST, "CVSS v4.0 Examples".
  ["CVSS:4.0/AV:N/AC:L/AT:P/PR:N/UI:P/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N", 7.7],
  ["CVSS:4.0/AV:N/AC:L/AT:P/PR:N/UI:P/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N/E:U", 5.2],
  ["CVSS:4.0/AV:L/AC:L/AT:N/PR:L/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N", 8.5],
  ["CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:L/VA:L/SC:N/SI:N/SA:N", 8.8],
  ["CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:H/SI:H/SA:H", 10],
  ["CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:N/SC:N/SI:N/SA:N", 0],
  ["CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:N/SC:H/SI:L/SA:H", 7.9],
  ["CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:L/VA:L/SC:N/SI:N/SA:N/MAV:P/MSI:S/CR:L", 7.1],
])("%s is %d", (vector, score) => {
  expect(cvssScore(vector)?.score).toBe(score);
});

test.each(["", "9.8", "CVSS:3.1/AV:X/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"])("%j has no score", (vector) => {
  expect(cvssScore(vector)).toBeUndefined();
});

test("vectors of all kinds have the scores of other calculators", () => {
  // Of CVSS 4.0 by FIRST's (github.com/FIRSTdotorg/cvss-v4-calculator), of others by that of Red Hat.
  const lines = readFileSync(new URL("verdicts.txt", import.meta.url), "utf8")
    .trim()
    .split("\n");
  const verdicts = lines.map((line) => line.split(" "));
  const differing = verdicts.filter(([vector, score]) => cvssScore(vector!)?.score !== Number(score));
  expect(verdicts.length).toBeGreaterThan(300);
  expect(differing).toEqual([]);
});

test("half a decimal is rounded up, also where binary numbers are slightly less", () => {
  // 8.6 - 0.05 is 8.549999999999999; the revised calculator rounds so (RedHatProductSecurity/cvss-v4-calculator#66).
  expect(cvssScore("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:P/VC:H/VI:L/VA:N/SC:H/SI:H/SA:H")?.score).toBe(8.6);
});
