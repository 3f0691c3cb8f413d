import { expect, test } from "vitest";
import { maxKeyBytes, type VersionScheme, versionOrder } from "../../src/versions/order.ts";
import { expectRising } from "./in-order.ts";

const schemes: readonly VersionScheme[] = ["maven", "pep440", "semver"];

test.each(["pep440", "semver"] as const)("%s: a text that is not a version sorts before all versions", (scheme) => {
  expectRising(scheme, ["", "1.0.0-", "1.0.0-01a_", "latest", "zzz", "é", "0.0.0", "0.0.1"]);
});

test.each(schemes)("%s: the key of a long text is bounded", (scheme) => {
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
    expect(Buffer.byteLength(versionOrder(scheme, version).key), version.slice(0, 9)).toBeLessThanOrEqual(maxKeyBytes);
});

test("numbers of any size compare exactly", () => {
  const digits = "1234567890".repeat(20);
  expectRising("maven", [digits, `${digits.slice(0, -1)}1`, `${digits}0`]);
  expectRising("pep440", [`1.${digits}`, `1.${digits.slice(0, -1)}1`, `1.${digits}0`, `${digits}!0`]);
});
