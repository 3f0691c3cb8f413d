import { expect, test } from "vitest";
import type { FileFormat } from "../../src/feeds/feed.ts";
import { isArtifactDocument, readArtifactDocument } from "../../src/feeds/index.ts";
import { zip } from "./formats/zip.ts";

const read = (name: string, content: string | Uint8Array, format: FileFormat = "json") =>
  readArtifactDocument({ name, format, bytes: Buffer.from(content) });

const coreMetadata = "Metadata-Version: 2.1\nName: w\nVersion: 1\n";
const pom = "<project><groupId>g</groupId><artifactId>w</artifactId><version>1</version></project>";

test.each<[string, FileFormat, string | Uint8Array, string]>([
  ["w.json", "json", JSON.stringify({ name: "w", versions: {} }), "w"],
  ["w", "json", JSON.stringify({ name: "w", versions: {} }), "w"],
  ["w.json", "json", `\uFEFF${JSON.stringify({ info: { name: "w" }, releases: {} })}`, "w"],
  ["a/w-1.pom", "other", pom, "g:w"],
  ["a/pom.xml", "xml", pom, "g:w"],
  ["feed", "xml", pom, "g:w"],
  ["w-1.dist-info/METADATA", "other", coreMetadata, "w"],
  ["PKG-INFO", "other", coreMetadata, "w"],
  ["w-1-py3-none-any.whl", "other", zip([["w-1.dist-info/METADATA", coreMetadata]]), "w"],
])("%s as %s", async (name, format, content, expected) => {
  expect(await read(name, content, format)).toMatchObject({ name: expected });
});

test("YAML is about no artifact", async () => {
  expect(await read("w.yaml", "name: w", "yaml")).toBeUndefined();
});

test.each<[string, FileFormat, string | Uint8Array, RegExp]>([
  ["w.json", "json", "", /is not JSON/],
  ["w.json", "json", "[]", /is not an object/],
  ["w.json", "json", "{}", /is neither/],
  ["w.json", "json", Buffer.from('{"name":"é"}', "latin1"), /is not UTF-8/],
  ["w.json", "json", Buffer.from('{"name":"w"}', "utf16le"), /is UTF-16/],
  ["w.pom", "other", "{}", /is not XML/],
  ["METADATA", "other", Buffer.from("Name: é", "latin1"), /is not UTF-8/],
  ["w.whl", "other", "", /is not a wheel/],
])("%s as %s refused: %j", async (name, format, content, reason) => {
  await expect(read(name, content, format)).rejects.toThrow(reason);
});

test("names of documents that other feeds do not have", () => {
  for (const name of ["a.pom", "x/a.whl", "METADATA", "x.dist-info/METADATA", "x/PKG-INFO"])
    expect(isArtifactDocument(name), name).toBe(true);
  for (const name of ["a.json", "MYMETADATA", "METADATA.txt", "pom", "a.whl.metadata"])
    expect(isArtifactDocument(name), name).toBe(false);
});
