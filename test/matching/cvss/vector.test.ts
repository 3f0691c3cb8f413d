import { expect, test } from "vitest";
import { cvssVersion } from "../../../src/matching/cvss/vector.ts";

const v3 = "AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
const v4 = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N";

test.each([
  ["AV:N/AC:L/Au:N/C:P/I:P/A:P", "2.0"],
  ["AV:N/AC:L/Au:N/C:P/I:P/A:P/E:POC/RL:OF/RC:C", "2.0"],
  [`CVSS:3.0/${v3}`, "3.0"],
  [`CVSS:3.1/${v3}`, "3.1"],
  [`CVSS:3.1/${v3}/E:P/RL:O/RC:C/MAV:L`, "3.1"],
  ["CVSS:3.1/A:H/I:H/C:H/S:U/UI:N/PR:N/AC:L/AV:N", "3.1"],
  [v4, "4.0"],
  [`${v4}/E:P/U:Amber`, "4.0"],
  [v3, undefined],
  [`CVSS:3.2/${v3}`, undefined],
  [`CVSS:2.0/${v3}`, undefined],
  [`CVSS:3.1/${v3}/`, undefined],
  [`CVSS:3.1/${v3}/AV:N`, undefined],
  [`CVSS:3.1/${v3}/E:POC`, undefined],
  ["CVSS:3.1/AV:N", undefined],
  [`CVSS:4.0/${v3}`, undefined],
  ["9.8", undefined],
  ["constructor:N", undefined],
  ["", undefined],
])("%j is a vector of version %s", (vector, version) => {
  expect(cvssVersion(vector)).toBe(version);
});
