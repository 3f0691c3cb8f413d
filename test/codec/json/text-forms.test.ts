import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatBytes,
  formatDuration,
  formatFieldMask,
  formatTimestamp,
  parseBytes,
  parseDuration,
  parseFieldMask,
  parseTimestamp,
} from "../../../src/codec/json/text-forms.ts";

describe("timestamps", () => {
  test.each([
    [0n, 0, "1970-01-01T00:00:00.000Z"],
    [1_714_000_000n, 987_654_321, "2024-04-24T23:06:40.987Z"],
    [1_714_000_000n, 999_999_999, "2024-04-24T23:06:40.999Z"],
    [-1n, 1_000_000, "1969-12-31T23:59:59.001Z"],
    [951_782_400n, 50_000_000, "2000-02-29T00:00:00.050Z"],
    [-62_135_596_800n, 0, "0001-01-01T00:00:00.000Z"],
    [253_402_300_799n, 999_000_000, "9999-12-31T23:59:59.999Z"],
  ])("%s s and %s ns are %s", (seconds, nanos, text) => {
    expect(formatTimestamp({ seconds, nanos })).toBe(text);
  });

  test.each([
    [-62_135_596_801n, 0],
    [253_402_300_800n, 0],
    [0n, -1],
    [0n, 1_000_000_000],
  ])("%s s and %s ns are out of range", (seconds, nanos) => {
    expect(() => formatTimestamp({ seconds, nanos })).toThrow(RangeError);
  });

  test("agree with Date", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
        (date) => {
          const seconds = Math.floor(date.getTime() / 1000);
          const value = { seconds: BigInt(seconds), nanos: (date.getTime() - seconds * 1000) * 1e6 };
          expect(formatTimestamp(value)).toBe(date.toISOString());
          expect(parseTimestamp(date.toISOString())).toEqual(value);
        },
      ),
    );
  });

  test.each([
    ["1970-01-01T00:00:00Z", 0n, 0],
    ["1970-01-01T00:00:00.1Z", 0n, 100_000_000],
    ["1970-01-01T00:00:00.123456789Z", 0n, 123_456_789],
    ["1970-01-01T01:30:00+01:30", 0n, 0],
    ["1969-12-31T23:00:00-01:00", 0n, 0],
    ["2024-02-29T12:00:00Z", 1_709_208_000n, 0],
  ])("%s is read", (text, seconds, nanos) => {
    expect(parseTimestamp(text)).toEqual({ seconds, nanos });
  });

  test.each([
    "",
    "1970-01-01",
    "1970-01-01T00:00:00",
    "1970-01-01 00:00:00Z",
    "1970-01-01t00:00:00z",
    "1970-01-01T00:00Z",
    "1970-01-01T24:00:00Z",
    "1970-01-01T00:60:00Z",
    "1970-01-01T23:59:60Z",
    "1970-01-01T00:00:00.Z",
    "1970-01-01T00:00:00.1234567890Z",
    "1970-01-01T00:00:00+0100",
    "1970-01-01T00:00:00+24:00",
    "2023-02-29T00:00:00Z",
    "2023-02-30T00:00:00Z",
    "2023-04-31T00:00:00Z",
    "2023-13-01T00:00:00Z",
    "2023-00-01T00:00:00Z",
    "2023-01-00T00:00:00Z",
    "0000-12-31T00:00:00Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    " 1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z\n",
  ])("%j is not one", (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

describe("durations", () => {
  test.each([
    [0n, 0, "0s"],
    [1n, 500_000_000, "1.500s"],
    [0n, -500_000_000, "-0.500s"],
    [-1n, -1, "-1.000000001s"],
    [3n, 1_000, "3.000001s"],
    [315_576_000_000n, 0, "315576000000s"],
  ])("%s s and %s ns are %s", (seconds, nanos, text) => {
    expect(formatDuration({ seconds, nanos })).toBe(text);
    expect(parseDuration(text)).toEqual({ seconds, nanos });
  });

  test.each([
    [315_576_000_001n, 0],
    [1n, -1],
    [-1n, 1],
    [0n, 1_000_000_000],
  ])("%s s and %s ns are out of range", (seconds, nanos) => {
    expect(() => formatDuration({ seconds, nanos })).toThrow(RangeError);
  });

  test.each(["", "1", "s", "1.s", ".5s", "1.5", "+1s", "1e3s", "1.0000000001s", "315576000001s", "1s ", "1m"])(
    "%j is not one",
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe("field masks", () => {
  test.each([
    [[], ""],
    [["name"], "name"],
    [["claim_match.subject", "description"], "claimMatch.subject,description"],
    [["*"], "*"],
  ])("%j is %s", (paths, text) => {
    expect(formatFieldMask(paths)).toBe(text);
    expect(parseFieldMask(text)).toEqual(paths);
  });

  test("snake_case is read too", () => {
    expect(parseFieldMask("claim_match.subject,createTime")).toEqual(["claim_match.subject", "create_time"]);
  });

  test.each(["a_1", "a__b", "aB", "a_"])("the path %s has no camel form", (path) => {
    expect(() => formatFieldMask([path])).toThrow(RangeError);
  });

  test("empty paths are kept, for who reads the mask to name them", () => {
    expect(parseFieldMask("a,,b_c,")).toEqual(["a", "", "b_c", ""]);
  });
});

describe("bytes", () => {
  test.each([
    [[], ""],
    [[0xfb, 0xff], "+/8="],
    [[1, 2, 3], "AQID"],
    [[1], "AQ=="],
  ])("%j is %s", (bytes, text) => {
    expect(formatBytes(new Uint8Array(bytes))).toBe(text);
    for (const spelling of [text, text.replaceAll("=", ""), text.replaceAll("+", "-").replaceAll("/", "_")])
      expect(parseBytes(spelling)).toEqual(new Uint8Array(bytes));
  });

  test.each(["A", "AQ=", "AQ===", "=", "==", "AQID=", "A Q=", "AQ==AQ==", "AQ\n", "é"])("%j is not base64", (text) => {
    expect(parseBytes(text)).toBeUndefined();
  });
});
