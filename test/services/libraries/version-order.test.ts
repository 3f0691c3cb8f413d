import { expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { maxKeyBytes, versionOrder } from "../../../src/services/libraries/version-order.ts";
import { expectRising } from "./in-order.ts";

const ecosystems = [Ecosystem.JAVA, Ecosystem.PYTHON, Ecosystem.JAVASCRIPT];

test.each([Ecosystem.PYTHON, Ecosystem.JAVASCRIPT])(
  "ecosystem %i: no version stands above one, by their letters",
  (ecosystem) => {
    expectRising(ecosystem, ["", "1.0.0-", "1.0.0-01a_", "latest", "zzz", "é", "0.0.0", "0.0.1"]);
  },
);

test.each(ecosystems)("ecosystem %i: however long a text is, its key is bounded", (ecosystem) => {
  const long = [
    "9".repeat(255),
    "9".repeat(1_000_000),
    "1.".repeat(127),
    "1-".repeat(100_000),
    "ü".repeat(255),
    "-".repeat(255),
    "1a".repeat(127),
  ];
  for (const version of long)
    expect(Buffer.byteLength(versionOrder(ecosystem, version).key), version.slice(0, 9)).toBeLessThanOrEqual(
      maxKeyBytes,
    );
});

test("numbers of any size compare exactly", () => {
  const digits = "1234567890".repeat(20);
  expectRising(Ecosystem.JAVA, [digits, `${digits.slice(0, -1)}1`, `${digits}0`]);
  expectRising(Ecosystem.PYTHON, [`1.${digits}`, `1.${digits.slice(0, -1)}1`, `1.${digits}0`, `${digits}!0`]);
});
