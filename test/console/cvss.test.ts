/** Scores of CVSS, against those that are published for the vectors. */
import { expect, test } from "vitest";
import { scoreOf } from "../../console/src/advisory/cvss.ts";

test.each([
  // FIRST, "CVSS v3.1 Examples".
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", 6.1, "Medium"],
  ["CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N", 6.4, "Medium"],
  ["CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N", 3.1, "Low"],
  ["CVSS:3.1/AV:L/AC:L/PR:N/UI:R/S:U/C:H/I:H/A:H", 7.8, "High"],
  ["CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H", 9.9, "Critical"],
  ["CVSS:3.1/AV:P/AC:L/PR:N/UI:N/S:U/C:N/I:H/A:N", 4.6, "Medium"],
  ["CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", 9.8, "Critical"],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", 10, "Critical"],
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:N/I:N/A:N", 0, "None"],
  // With temporal metrics, which do not change the base score.
  ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H/E:P/RL:O", 7.5, "High"],
  // FIRST, "CVSS v2", 3.3.
  ["AV:N/AC:L/Au:N/C:N/I:N/A:C", 7.8, "High"],
  ["AV:N/AC:L/Au:N/C:C/I:C/A:C", 10, "High"],
  ["AV:L/AC:H/Au:N/C:C/I:C/A:C", 6.2, "Medium"],
  ["AV:N/AC:L/Au:N/C:N/I:N/A:N", 0, "Low"],
])("%s is %d, %s", (vector, score, rating) => {
  expect(scoreOf(vector)).toEqual({ score, rating });
});

test.each([
  "",
  "9.8",
  "CVSS:3.1/AV:X/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
  "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/C:H/I:H/A:H",
  "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N",
  "AV:N/AC:L/Au:N/C:constructor/I:N/A:N",
])("%j has no score", (vector) => {
  expect(scoreOf(vector)).toBeUndefined();
});
