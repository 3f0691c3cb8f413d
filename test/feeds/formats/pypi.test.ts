import { expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { isPypiDocument, readPypiDocument } from "../../../src/feeds/formats/pypi.ts";
import { Fields } from "../../../src/feeds/records/fields.ts";

const file = (time: string, size: number, more = {}) => ({
  filename: "w.whl",
  upload_time: time.slice(0, 19),
  upload_time_iso_8601: time,
  size,
  yanked: false,
  yanked_reason: null,
  ...more,
});

const project = {
  info: { name: "Example_Widgets", version: "2.0", summary: "Widgets", description: "# Widgets", yanked: false },
  last_serial: 1,
  releases: {
    "1.0": [file("2020-01-02T03:04:05.678901Z", 100), file("2020-01-01T03:04:05.678901Z", 20)],
    "1.1": [file("2020-02-01T00:00:00Z", 1, { yanked: true, yanked_reason: "Broken" })],
    "1.2": [file("2020-03-01T00:00:00Z", 1, { yanked: true }), file("2020-03-02T00:00:00Z", 1)],
    "2.0": [],
  },
  urls: [],
  vulnerabilities: [],
};

test("the document of a project", () => {
  expect(isPypiDocument(new Fields(project))).toBe(true);
  expect(readPypiDocument(new Fields(project))).toEqual({
    ecosystem: Ecosystem.PYTHON,
    name: "Example_Widgets",
    description: "Widgets",
    isWhole: true,
    versions: [
      {
        version: "1.0",
        createTimeMs: Date.UTC(2020, 0, 1, 3, 4, 5, 678),
        sizeBytes: 120,
        yanked: false,
        description: "",
      },
      { version: "1.1", createTimeMs: Date.UTC(2020, 1, 1), sizeBytes: 1, yanked: true, description: "Broken" },
      { version: "1.2", createTimeMs: Date.UTC(2020, 2, 1), sizeBytes: 2, yanked: false, description: "" },
      { version: "2.0", sizeBytes: 0, yanked: false, description: "" },
    ],
  });
});

test("the document of one release", () => {
  const { releases: _, ...release } = { ...project, urls: [file("2020-01-01T00:00:00Z", 7)] };
  expect(readPypiDocument(new Fields(release))).toMatchObject({
    isWhole: false,
    versions: [{ version: "2.0", sizeBytes: 7 }],
  });
});

test.each([
  ["no name", { info: { version: "1" } }, /^info\.name: is missing$/],
  ["no info", { info: null }, /^info: is missing$/],
  ["a summary that is not a text", { info: { name: "w", summary: [] } }, /^info\.summary: is not text$/],
  ["releases that are not lists", { releases: { "1.0": {} } }, /^releases\.1\.0: is not a list$/],
  [
    "a release of the year 0",
    { releases: { "1.0": [file("0000-01-01T00:00:00Z", 1)] } },
    /^releases\.1\.0\[0\]\.upload_time_iso_8601: /,
  ],
  [
    "a size that is not a number",
    { releases: { "1.0": [{ size: "1" }] } },
    /^releases\.1\.0\[0\]\.size: is not a non-negative integer/,
  ],
  [
    "yanked that is neither",
    { releases: { "1.0": [{ yanked: "no" }] } },
    /^releases\.1\.0\[0\]\.yanked: is not true or false$/,
  ],
  ["a version of two lines", { releases: { "1\n2": [] } }, /is not a version/],
])("refuses %s", (_, change, reason) => {
  expect(() => readPypiDocument(new Fields({ ...project, ...change }))).toThrow(reason);
});
