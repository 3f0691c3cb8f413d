import { expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { readMavenDocument } from "../../../src/feeds/formats/maven.ts";
import { FeedRefusal } from "../../../src/feeds/source/refusal.ts";

const read = (text: string) => readMavenDocument(Buffer.from(text), () => {});

test("the metadata of an artifact has all its versions", async () => {
  const metadata = `<?xml version="1.0" encoding="UTF-8"?>
    <!-- written by a repository manager -->
    <metadata modelVersion="1.1.0">
      <groupId>org.example</groupId>
      <artifactId>widgets</artifactId>
      <version>1.0</version>
      <versioning>
        <latest>1.10</latest><release>1.10</release>
        <versions><version>1.0</version><version>1.10</version><version> 1.2-RC </version><version>1.0</version></versions>
        <lastUpdated>20260102030405</lastUpdated>
      </versioning>
    </metadata>`;
  expect(await read(metadata)).toEqual({
    ecosystem: Ecosystem.JAVA,
    name: "org.example:widgets",
    release: "1.10",
    isWhole: true,
    versions: [{ version: "1.0" }, { version: "1.10" }, { version: "1.2-RC" }],
  });
});

const metadataWith = (inner: string) => `<metadata><groupId>g</groupId><artifactId>a</artifactId>${inner}</metadata>`;

test.each([
  ["one version", "<versioning><versions><version>1</version></versions></versioning>", ["1"]],
  ["no version", "<versioning><versions/></versioning>", []],
])("the metadata of an artifact with %s", async (_, inner, versions) => {
  expect((await read(metadataWith(inner)))?.versions.map(({ version }) => version)).toEqual(versions);
});

test.each([
  [
    "a snapshot",
    metadataWith(
      "<version>1-SNAPSHOT</version><versioning><snapshot><buildNumber>1</buildNumber></snapshot></versioning>",
    ),
  ],
  [
    "a group",
    "<metadata><plugins><plugin><name>p</name><prefix>p</prefix><artifactId>p</artifactId></plugin></plugins></metadata>",
  ],
])("the metadata of %s is not about an artifact", async (_, metadata) => {
  expect(await read(metadata)).toBeUndefined();
});

test.each([
  ["its own group and version", "<groupId>g</groupId><version>1.0</version>", "g:a", "1.0"],
  [
    "those of its parent",
    "<parent><groupId>p</groupId><artifactId>x</artifactId><version>2.0</version></parent>",
    "p:a",
    "2.0",
  ],
  ["one of each", "<parent><groupId>p</groupId><version>2.0</version></parent><version>2.1</version>", "p:a", "2.1"],
])("a POM has %s", async (_, inner, name, version) => {
  expect(
    await read(`<project xmlns="http://maven.apache.org/POM/4.0.0">${inner}<artifactId>a</artifactId></project>`),
  ).toEqual({
    ecosystem: Ecosystem.JAVA,
    name,
    isWhole: false,
    versions: [{ version }],
  });
});

test.each([
  ["", undefined],
  ["<name>Widgets</name>", "Widgets"],
  ["<name>Widgets</name><description/>", "Widgets"],
  [
    "<name>x</name><description>\n  Widgets &amp; <![CDATA[<gears>]]>,\n  caf&#xe9; &#127866; &amp;lt; &nbsp;</description>",
    "Widgets & <gears>, café 🍺 &lt; &nbsp;",
  ],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a property of Maven's
  ["<name>${project.artifactId}</name>", undefined],
])("a POM with %j", async (inner, description) => {
  const record = await read(
    `<project><groupId>g</groupId><artifactId>a</artifactId><version>1</version>${inner}</project>`,
  );
  expect(record?.description).toBe(description);
  expect(record?.versions).toEqual([{ version: "1", ...(description && { description }) }]);
});

test("a POM in another declared encoding", async () => {
  const pom = `<?xml version='1.0' encoding='ISO-8859-1'?><project><groupId>g</groupId><artifactId>a</artifactId><version>1</version><description>café</description></project>`;
  expect((await readMavenDocument(Buffer.from(pom, "latin1"), () => {}))?.description).toBe("café");
});

const pomWith = (inner: string) => `<project><groupId>g</groupId><artifactId>a</artifactId>${inner}</project>`;

test.each([
  ["nothing", "", /is not XML/],
  ["no XML", "{}", /is not XML/],
  ["an element that is left open", "<project><groupId>g</project>", /is not XML/],
  ["another document", "<html></html>", /neither maven-metadata.xml nor a POM/],
  ["a document type", `<!DOCTYPE project [<!ENTITY a "b">]><project/>`, /has a document type/],
  [
    "a document type of the network",
    `<!DOCTYPE project SYSTEM "http://127.0.0.1/x.dtd"><project/>`,
    /has a document type/,
  ],
  ["nesting without end", "<a>".repeat(2000) + "</a>".repeat(2000), /is not XML: .*nest/i],
  ["an encoding that is none of ours", `<?xml version="1.0" encoding="UTF-16"?><project/>`, /is encoded in utf-16/],
  ["no artifact", "<project><groupId>g</groupId><version>1</version></project>", /project\.artifactId: is missing/],
  ["no group", "<project><artifactId>a</artifactId><version>1</version></project>", /project\.groupId: is missing/],
  ["no version", pomWith(""), /project\.version: is missing/],
  ["two versions", pomWith("<version>1</version><version>2</version>"), /project\.version: is not text/],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a property of Maven's
  ["a version that is a property", pomWith("<version>${revision}</version>"), /project\.version: .* is a property/],
  [
    "a group with white space",
    `<project><groupId>g h</groupId><artifactId>a</artifactId><version>1</version></project>`,
    /"g h:a" is not the name of an artifact/,
  ],
  ["a version of several lines", pomWith("<version>1\n2</version>"), /"1\\n2" is not a version/],
  ["a version that is too long", pomWith(`<version>${"1".repeat(256)}</version>`), /is not a version/],
  [
    "a version of no text",
    metadataWith("<versioning><versions><version><a>1</a></version></versions></versioning>"),
    /versions\.version\[0\]: is not text/,
  ],
])("refuses %s", async (_, text, reason) => {
  await expect(read(text)).rejects.toThrow(reason);
  await expect(read(text)).rejects.toBeInstanceOf(FeedRefusal);
});

test("refuses bytes that are not in the encoding", async () => {
  await expect(readMavenDocument(Buffer.from("<a>é</a>", "latin1"), () => {})).rejects.toThrow(/is not utf-8/);
});
