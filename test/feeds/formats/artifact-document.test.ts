import { expect, test } from "vitest";
import { isArtifactDocument, readArtifactDocument } from "../../../src/feeds/index.ts";
import type { FileFormat } from "../../../src/feeds/source/feed.ts";
import { ForeignRecord } from "../../../src/feeds/source/refusal.ts";
import { zip } from "./zip.ts";

const read = (name: string, content: string | Uint8Array, format: FileFormat = "json") =>
  readArtifactDocument({ name, format, bytes: Buffer.from(content) }, () => {});

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

test.each<[string, FileFormat, string]>([
  ["w.yaml", "yaml", "name: w"],
  ["w.json", "json", '{"name":"w"}'],
  ["w.json", "json", "[]"],
  ["w.xml", "xml", "<other/>"],
])("%s as %s is not about an artifact: %s", async (name, format, content) => {
  await expect(read(name, content, format)).rejects.toBeInstanceOf(ForeignRecord);
});

test.each<[string, FileFormat, string | Uint8Array, RegExp]>([
  ["w.json", "json", "", /is not JSON/],
  ["w.json", "json", "{}", /is neither/],
  ["w.json", "json", Buffer.from('{"name":"é"}', "latin1"), /is not UTF-8/],
  ["w.json", "json", Buffer.from('{"name":"w"}', "utf16le"), /is UTF-16/],
  ["w.pom", "other", "{}", /is not XML/],
  ["METADATA", "other", Buffer.from("Name: é", "latin1"), /is not UTF-8/],
  ["w.whl", "other", "", /is not a wheel/],
])("%s as %s refused: %j", async (name, format, content, reason) => {
  await expect(read(name, content, format)).rejects.toThrow(reason);
});

test("additional names of documents", () => {
  for (const name of ["a.pom", "x/a.whl", "METADATA", "x.dist-info/METADATA", "x/PKG-INFO"])
    expect(isArtifactDocument(name), name).toBe(true);
  for (const name of ["a.json", "MYMETADATA", "METADATA.txt", "pom", "a.whl.metadata"])
    expect(isArtifactDocument(name), name).toBe(false);
});

/** Documents with all known members, and the unknown member `mood` in every object. */
const withUnknownMembers: Record<
  string,
  readonly [name: string, format: FileFormat, content: string, unread: string[]]
> = {
  packument: [
    "w",
    "json",
    JSON.stringify({
      _id: "w",
      _rev: "1-a",
      name: "w",
      "dist-tags": { latest: "1.0.0" },
      versions: {
        "1.0.0": { name: "w", version: "1.0.0", main: "x", custom: 1, dist: { shasum: "a", tarball: "t", mood: 1 } },
        "2.0.0": { dist: { integrity: "i", fileCount: 1, signatures: [], unpackedSize: 7 } },
      },
      time: { created: "2026-01-01T00:00:00Z", modified: "2026-01-01T00:00:00Z", "0.9.0": "2026-01-01T00:00:00Z" },
      maintainers: [{ name: "ann" }],
      readme: "#",
      readmeFilename: "README.md",
      mood: "good",
    }),
    ["mood", "versions.*.dist.mood"],
  ],
  "PyPI project": [
    "w.json",
    "json",
    JSON.stringify({
      info: { name: "w", version: "1", author: "ann", classifiers: [], requires_dist: null, mood: 1 },
      last_serial: 7,
      releases: {
        "1": [
          { filename: "w-1.whl", digests: {}, size: 1, yanked: false, upload_time: "2026-01-01T00:00:00" },
          { filename: "w-1.tar.gz", yanked: true, yanked_reason: "bad", mood: 1 },
        ],
      },
      urls: [{ mood: 1 }],
      vulnerabilities: [],
      ownership: { roles: [] },
      mood: "good",
    }),
    ["info.mood", "mood", "releases.*[].mood"],
  ],
  "PyPI release": [
    "w.json",
    "json",
    JSON.stringify({ info: { name: "w", version: "1" }, urls: [{ filename: "w", packagetype: "sdist", mood: 1 }] }),
    ["urls[].mood"],
  ],
  "Maven metadata": [
    "maven-metadata.xml",
    "xml",
    `<metadata modelVersion="1.1.0"><groupId>g</groupId><artifactId>w</artifactId><mood/><mood>1</mood><versioning>
      <latest>1</latest><release>1</release><versions><version>1</version></versions><lastUpdated>2026</lastUpdated><mood>1</mood>
    </versioning></metadata>`,
    ["metadata.mood", "metadata.versioning.mood"],
  ],
  POM: [
    "w.pom",
    "other",
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><parent><groupId>g</groupId><artifactId>p</artifactId>
      <version>1</version><relativePath/><mood>1</mood></parent><artifactId>w</artifactId><packaging>jar</packaging><properties><mood>1</mood></properties>
      <dependencies/><build/><licenses/><scm/><url>u</url><name>W</name><description>D</description><mood>1</mood></project>`,
    ["project.mood", "project.parent.mood"],
  ],
  "core metadata": ["PKG-INFO", "other", `${coreMetadata}Author: ann\nRequires-Dist: x\nMood: good\n`, ["mood"]],
};

test.each(Object.entries(withUnknownMembers))(
  "%s: what nobody knows is reported, what is left out on purpose is not",
  async (_, doc) => {
    const [name, format, content, expected] = doc;
    const unread: string[] = [];
    const file = { name, format, bytes: Buffer.from(content) };
    expect(await readArtifactDocument(file, (member) => unread.push(member))).toBeDefined();
    expect(unread.sort()).toEqual(expected);
  },
);
