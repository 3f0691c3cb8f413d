import { expect, test } from "vitest";
import { readWheel } from "../../../src/feeds/formats/pypi-wheel.ts";
import { zip } from "./zip.ts";

const metadata = "Metadata-Version: 2.1\nName: widgets\nVersion: 1.0\n\n# Widgets\n";

test("a wheel is read by its metadata", async () => {
  const wheel = zip([
    ["widgets/__init__.py", "print()"],
    ["other/widgets.dist-info/METADATA", "not this one"],
    ["widgets-1.0.dist-info/METADATA", metadata],
  ]);
  expect(await readWheel(wheel, () => {})).toMatchObject({ name: "widgets", versions: [{ version: "1.0" }] });
});

test.each([
  ["no archive", Buffer.from("PK, or not"), /^is not a wheel: /],
  ["an archive that is cut off", zip([["w-1.dist-info/METADATA", metadata]]).subarray(0, 60), /^is not a wheel: /],
  ["an archive without metadata", zip([["widgets/METADATA", metadata]]), /^has no core metadata$/],
  [
    "metadata that are too large",
    zip([["w-1.dist-info/METADATA", "x".repeat(5 * 1024 * 1024)]]),
    /is larger than 4194304 bytes$/,
  ],
  [
    "metadata that are larger than they say",
    zip([["w-1.dist-info/METADATA", metadata, { size: 10 }]]),
    /^is not a wheel: /,
  ],
  [
    "metadata that are not UTF-8",
    zip([["w-1.dist-info/METADATA", Buffer.from("Name: é", "latin1")]]),
    /^is not UTF-8$/,
  ],
  ["a name that leaves the archive", zip([["../w.dist-info/METADATA", metadata]]), /^is not a wheel: /],
])("refuses %s", async (_, bytes, reason) => {
  await expect(readWheel(bytes, () => {})).rejects.toThrow(reason);
  await expect(readWheel(bytes, () => {})).rejects.toMatchObject({ name: "FeedRefusal" });
});
