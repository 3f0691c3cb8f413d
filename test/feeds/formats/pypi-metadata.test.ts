import { expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { readCoreMetadata } from "../../../src/feeds/formats/pypi-metadata.ts";

test("core metadata", () => {
  const metadata = [
    "Metadata-Version: 2.1",
    "Name: Example_Widgets",
    "version: 1.0.post1",
    "Summary: Widgets",
    "        for everyone: really",
    "Classifier: A",
    "Classifier: B",
    "",
    "Name: not this one",
  ];
  for (const lineEnd of ["\n", "\r\n"])
    expect(readCoreMetadata(metadata.join(lineEnd), () => {})).toEqual({
      ecosystem: Ecosystem.PYTHON,
      name: "Example_Widgets",
      description: "Widgets for everyone: really",
      isWhole: false,
      versions: [{ version: "1.0.post1" }],
    });
  expect(readCoreMetadata("Name: w\nVersion: 1", () => {})).not.toHaveProperty("description");
});

test.each([
  ["nothing", "", /a line has no field name/],
  ["no name", "Version: 1", /^name: is missing$/],
  ["an empty version", "Name: w\nVersion:", /^version: is missing$/],
  ["a line of no field", "Name: w\nVersion: 1\nsomething", /a line has no field name/],
  ["a name with white space", "Name: a b\nVersion: 1", /"a b" is not the name/],
])("refuses %s", (_, text, reason) => {
  expect(() => readCoreMetadata(text, () => {})).toThrow(reason);
});
