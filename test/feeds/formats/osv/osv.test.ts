import { toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { VulnerabilityMetadataSchema } from "../../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { readOsv } from "../../../../src/feeds/formats/osv/osv.ts";
import { FeedRefusal, ForeignRecord } from "../../../../src/feeds/source/refusal.ts";

const modified = "2026-01-02T03:04:05Z";
const read = (record: unknown) => toJson(VulnerabilityMetadataSchema, readOsv(record, () => {}).metadata);
const v3 = { type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" };
const v4 = { type: "CVSS_V4", score: "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N" };

test("a record is read completely, except what the API has no field for", () => {
  const metadata = read({
    schema_version: "1.7.3",
    id: "TEST-2026-1",
    modified,
    published: "2026-01-01T00:00:00Z",
    aliases: ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc", "CVE-2026-0001"],
    related: ["CVE-2026-0009"],
    upstream: ["CVE-2026-0010"],
    summary: "A summary",
    details: "Details\n\n```\ncode\n```\n",
    severity: [v3, { type: "CVSS_V2", score: "AV:N/AC:L/Au:N/C:P/I:P/A:P" }, { type: "Ubuntu", score: "low" }],
    affected: [
      { package: { ecosystem: "PyPI", name: "a" }, versions: ["1"] },
      { package: { ecosystem: "PyPI", name: "b" }, severity: [v3, v4] },
    ],
    references: [
      { type: "FIX", url: "https://example.com/fix" },
      { type: "GIT", url: "git://example.com/repo" },
      { url: "https://example.com/" },
    ],
    credits: [{ name: "somebody" }],
    database_specific: { deep: { down: 1 } },
  });
  expect(metadata).toEqual({
    id: "TEST-2026-1",
    summary: "A summary",
    details: "Details\n\n```\ncode\n```\n",
    aliases: ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc"],
    references: [
      { type: "TYPE_FIX", url: "https://example.com/fix" },
      { url: "git://example.com/repo" },
      { url: "https://example.com/" },
    ],
    severities: [
      { type: "TYPE_CVSS_V3", score: v3.score },
      { type: "TYPE_CVSS_V2", score: "AV:N/AC:L/Au:N/C:P/I:P/A:P" },
      { type: "TYPE_CVSS_V4", score: v4.score },
    ],
  });
});

test("the minimal record", () => {
  expect(read({ id: "TEST-1", modified, summary: null, references: null })).toEqual({ id: "TEST-1" });
});

test("every type of reference", () => {
  const types = "ADVISORY ARTICLE DETECTION DISCUSSION REPORT FIX INTRODUCED PACKAGE EVIDENCE WEB".split(" ");
  const references = types.map((type) => ({ type, url: "https://example.com/" }));
  expect(readOsv({ id: "TEST-1", modified, references }, () => {}).metadata.references.map(({ type }) => type)).toEqual(
    types.map((_, i) => i + 1),
  );
});

test("a severity has the type of its vector, and is left out without a valid one", () => {
  const unread: string[] = [];
  const { metadata } = readOsv(
    {
      id: "TEST-1",
      modified,
      severity: [
        { ...v4, type: "CVSS_V3" },
        { ...v3, score: "CVSS:3.1/AV:N" },
        { ...v3, score: "9.8" },
      ],
      affected: [{ severity: [{ ...v3, score: v3.score.replace("3.1", "3.2") }, v3] }],
    },
    (member) => void unread.push(member),
  );
  expect(metadata.severities.map(({ type, score }) => [type, score])).toEqual([
    [3, v4.score],
    [2, v3.score],
  ]);
  expect(unread).toEqual(["severity[].score", "severity[].score", "affected[].severity[].score"]);
});

test("a withdrawn record has the time, and no severities", () => {
  expect(read({ id: "TEST-1", modified, withdrawn: modified, aliases: ["CVE-1"], severity: [v3] })).toEqual({
    id: "TEST-1",
    aliases: ["CVE-1"],
    withdrawTime: modified,
  });
});

test.each<[string, unknown, string]>([
  ["of another format", { id: "TEST-1", schema_version: "2.0.0", modified }, 'schema_version: "2.0.0" is not 1.x'],
  ["with an id of the wrong type", { id: 7, modified }, "id: is not text"],
  ["with an id of two lines", { id: "TEST-1\nTEST-2", modified }, 'id: "TEST-1\\nTEST-2" is not an id'],
  ["with a long id", { id: "T".repeat(256), modified }, "id: has 256 characters, more than 255"],
  ["without a time", { id: "TEST-1", schema_version: "1.7.3" }, "modified: is missing"],
  ["of the year 0", { id: "TEST-1", modified: "0000-01-01T00:00:00Z" }, "modified: "],
  ["published in the year 10000", { id: "TEST-1", modified, published: "10000-01-01T00:00:00Z" }, "published: "],
  ["withdrawn at no time", { id: "TEST-1", modified, withdrawn: "yes" }, "withdrawn: "],
  [
    "with an alias that contains NUL",
    { id: "TEST-1", modified, aliases: ["CVE-1", "CVE\0"] },
    "aliases[1]: contains NUL",
  ],
  ["with an alias that is empty", { id: "TEST-1", modified, aliases: [""] }, 'aliases[0]: "" is not an id'],
  ["with an alias that cannot be seen", { id: "TEST-1", modified, aliases: ["CVE\u200b-1"] }, "aliases[0]: "],
  ["with one alias for a list", { id: "TEST-1", modified, aliases: "CVE-1" }, "aliases: is not a list"],
  ["with too many aliases", { id: "TEST-1", modified, aliases: Array(101).fill("CVE-1") }, "aliases: has 101 items"],
  ["with endless details", { id: "TEST-1", modified, details: "x".repeat(300_000) }, "details: has 300000 characters"],
  [
    "with a script as URL",
    { id: "TEST-1", modified, references: [{ type: "WEB", url: "javascript:alert(1)" }] },
    "references[0].url: is not a URL",
  ],
  [
    "with a reference to nowhere",
    { id: "TEST-1", modified, references: [{ type: "WEB" }] },
    "references[0].url: is missing",
  ],
  ["with a severity without a score", { id: "TEST-1", modified, severity: [{ type: "CVSS_V3" }] }, "severity[0].score"],
  [
    "with a wrong severity in a package",
    { id: "TEST-1", modified, affected: [{}, { severity: [{ type: "CVSS_V3", score: 9.8 }] }] },
    "affected[1].severity[0].score: is not text",
  ],
])("a record %s is refused", (_, record, reason) => {
  expect(() => readOsv(record, () => {})).toThrow(FeedRefusal);
  expect(() => readOsv(record, () => {})).toThrow(reason);
});

test("a reference without its scheme is one of https", () => {
  const references = [{ type: "PACKAGE", url: "github.com/owner/name" }];
  expect(readOsv({ id: "TEST-1", modified, references }, () => {}).metadata.references[0]!.url).toBe(
    "https://github.com/owner/name",
  );
});

test("a refusal has the id of its record, if that is one", () => {
  const idsOf = (id: string) => {
    try {
      return readOsv({ id, modified: "yesterday" }, () => {});
    } catch (error) {
      return (error as FeedRefusal).ids;
    }
  };
  expect([idsOf("TEST-1"), idsOf("a b")]).toEqual([["TEST-1"], []]);
});

test.each<[string, unknown]>([
  ["a text", "TEST-1"],
  ["a list", [{ id: "TEST-1", modified }]],
  ["null", null],
  ["without an id", { modified }],
  ["with an id alone", { id: "TEST-1", summary: "a report" }],
])("what is not a record: %s", (_, record) => {
  expect(() => readOsv(record, () => {})).toThrow(ForeignRecord);
});

test("unknown members are reported, those ignored on purpose are not", () => {
  const unread: string[] = [];
  const record = {
    schema_version: "1.7.0",
    id: "TEST-1",
    modified,
    published: modified,
    upstream: ["CVE-1"],
    related: ["CVE-2"],
    severity: [{ ...v3, mood: 1 }],
    affected: [
      {
        package: { mood: 1 },
        ranges: [{ type: "GIT", repo: "https://example.com/a", events: [{ introduced: "0", mood: 1 }], mood: 1 }],
        versions: ["1"],
        ecosystem_specific: { mood: 1 },
        mood: 1,
      },
      { database_specific: { mood: 1 }, severity: [v3] },
    ],
    references: [{ type: "WEB", url: "https://example.com/", mood: 1 }],
    credits: [{ mood: 1 }],
    database_specific: { mood: 1 },
    mood: 1,
  };
  readOsv(record, (member) => unread.push(member));
  expect(unread.sort()).toEqual([
    "affected[].mood",
    "affected[].package.mood",
    "affected[].ranges[].events[].mood",
    "affected[].ranges[].mood",
    "mood",
    "references[].mood",
    "severity[].mood",
  ]);
});
