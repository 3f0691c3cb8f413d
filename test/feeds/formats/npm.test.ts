import { expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { isPackument, readPackument } from "../../../src/feeds/formats/npm.ts";
import { Fields } from "../../../src/feeds/records/fields.ts";

const packument = {
  _id: "@example/widgets",
  name: "@example/widgets",
  description: " Widgets for the web ",
  "dist-tags": { latest: "1.1.0" },
  versions: {
    "1.0.0": { name: "@example/widgets", version: "1.0.0", description: "Widgets", dist: { unpackedSize: 1234 } },
    "1.1.0": { name: "@example/widgets", version: "1.1.0", dist: { tarball: "https://registry.example.com/w.tgz" } },
    "1.2.0": { deprecated: "Use 1.1.0" },
    "1.3.0": { deprecated: true },
    "1.4.0": { deprecated: "", description: "Fine" },
    "1.5.0": { deprecated: false },
  },
  time: {
    created: "2019-12-31T23:59:59.000Z",
    modified: "2020-01-02T00:00:00.000Z",
    "1.0.0": "2020-01-01T00:00:00.000Z",
    "0.9.0": "2019-12-31T23:59:59.000Z",
  },
  readme: "# Widgets",
};

test("a packument", () => {
  expect(isPackument(new Fields(packument))).toBe(true);
  expect(readPackument(new Fields(packument))).toEqual({
    ecosystem: Ecosystem.JAVASCRIPT,
    name: "@example/widgets",
    description: "Widgets for the web",
    isWhole: true,
    versions: [
      { version: "1.0.0", description: "Widgets", createTimeMs: Date.UTC(2020, 0, 1), sizeBytes: 1234 },
      { version: "1.1.0" },
      { version: "1.2.0", description: "Deprecated: Use 1.1.0" },
      { version: "1.3.0", description: "Deprecated" },
      { version: "1.4.0", description: "Fine" },
      { version: "1.5.0" },
    ],
  });
});

test("an abbreviated packument, and one without versions", () => {
  const record = { ecosystem: Ecosystem.JAVASCRIPT, name: "w", isWhole: true };
  expect(readPackument(new Fields({ name: "w", modified: "x", versions: { "1.0.0": {} } }))).toEqual({
    ...record,
    versions: [{ version: "1.0.0" }],
  });
  expect(readPackument(new Fields({ name: "w", versions: {}, time: null }))).toEqual({ ...record, versions: [] });
});

test("a long description is cut, but not within a character", () => {
  const read = (description: string) => readPackument(new Fields({ name: "w", versions: {}, description })).description;
  expect(read("x".repeat(5000))).toBe("x".repeat(4096));
  expect(read(`${"x".repeat(4095)}🍺`)).toBe("x".repeat(4095));
});

test.each([
  ["no name", { name: undefined }, /^name: is missing$/],
  ["an empty name", { name: "" }, /^name: is empty$/],
  ["a name with white space", { name: "a b" }, /"a b" is not the name/],
  ["a name that is too long", { name: "a".repeat(513) }, /is not the name/],
  ["a description that is not a text", { description: {} }, /^description: is not text$/],
  ["no versions", { versions: undefined }, /^versions: is missing$/],
  ["a list of versions", { versions: [] }, /^versions: is not an object$/],
  ["a version that is not an object", { versions: { "1.0.0": "x" } }, /^versions\.1\.0\.0: is not an object$/],
  ["a version with a control character", { versions: { "1\u0007": {} } }, /is not a version/],
  [
    "a size below 0",
    { versions: { "1.0.0": { dist: { unpackedSize: -1 } } } },
    /^versions\.1\.0\.0\.dist\.unpackedSize: /,
  ],
  ["a time that is none", { time: { "1.0.0": "yesterday" } }, /^time\.1\.0\.0: .* is not an RFC 3339 time/],
  ["a time in the year 10000", { time: { "1.0.0": "+010000-01-01T00:00:00Z" } }, /^time\.1\.0\.0: /],
  [
    "too many versions",
    { versions: Object.fromEntries(Array.from({ length: 100_001 }, (_, i) => [`1.0.${i}`, {}])) },
    /has more than 100000 versions/,
  ],
])("refuses %s", (_, change, reason) => {
  expect(() => readPackument(new Fields({ ...packument, ...change }))).toThrow(reason);
});
