import { toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DocumentSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { AdvisorySchema } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { violationsOf } from "../../../src/contract/index.ts";
import { parseDistribution, readAdvisories } from "../../../src/feeds/formats/advisories.ts";
import { FeedRefusal } from "../../../src/feeds/source/refusal.ts";

const secdb = (...packages: unknown[]) => ({
  apkurl: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
  archs: ["x86_64", "aarch64"],
  reponame: "main",
  urlprefix: "https://packages.example.com",
  packages,
});
const pkg = (name: unknown, secfixes: unknown) => ({ pkg: { name, secfixes } });

/** Documents as JSON, and reasons as text. */
const read = (record: unknown) =>
  readAdvisories(record, () => {}).map((item) => {
    if (item instanceof FeedRefusal) return item.message;
    for (const advisory of item.advisories) expect(violationsOf(AdvisorySchema, advisory)).toEqual([]);
    return toJson(DocumentSchema, item.document);
  });

test("a package is a document, a vulnerability an advisory, a fixed version an event without time", () => {
  const record = secdb(
    pkg("openssl", {
      "3.1.1-r0": ["CVE-2026-0002", "CVE-2026-0001 GHSA-aaaa-bbbb-cccc"],
      "3.1.2-r0": ["CVE-2026-0001 XSA-317", "CVE-2026-0001"],
      "0": ["CVE-2026-0003"],
    }),
    pkg("zlib", {}),
    pkg("curl", undefined),
  );
  const [packageNamespace, packageUrl] = ["main", "pkg:apk/openssl"];
  expect(read(record)).toEqual([
    {
      id: "openssl",
      advisories: [
        { id: "CVE-2026-0003", packageNamespace, packageUrl, events: [{ falsePositiveDetermination: {} }] },
        { id: "CVE-2026-0002", packageNamespace, packageUrl, events: [{ fixed: { fixedVersion: "3.1.1-r0" } }] },
        {
          id: "CVE-2026-0001",
          aliases: ["GHSA-aaaa-bbbb-cccc", "XSA-317"],
          packageNamespace,
          packageUrl,
          events: [{ fixed: { fixedVersion: "3.1.1-r0" } }, { fixed: { fixedVersion: "3.1.2-r0" } }],
        },
      ],
    },
    { id: "zlib" },
    { id: "curl" },
  ]);
  expect(read(record)).toEqual(read(record));
});

test.each([
  [undefined, "v3.19", "pkg:apk/openssl"],
  ["wolfi", undefined, "pkg:apk/wolfi/openssl"],
  ["alpine", "v3.19", "pkg:apk/alpine/openssl?distro=alpine-3.19"],
  ["alpine", "edge", "pkg:apk/alpine/openssl"],
  ["alpine-3.18", "v3.19", "pkg:apk/alpine/openssl?distro=alpine-3.18"],
])("packages of distribution %s, release %s, are %s", (distribution, distroversion, packageUrl) => {
  const record = { ...secdb(pkg("openssl", { "1-r0": ["CVE-1"] })), distroversion };
  const [item] = readAdvisories(record, () => {}, distribution === undefined ? {} : parseDistribution(distribution));
  expect(item).toMatchObject({ document: { advisories: [{ packageUrl }] } });
});

test.each([
  [{ distroversion: "v3.19" }, "v3.19/main"],
  [{ distroversion: "edge", reponame: "community" }, "edge/community"],
  [{}, "main"],
  [{ reponame: "" }, ""],
])("%j is the part %j of a feed", (more, part) => {
  expect(readAdvisories({ ...secdb(pkg("openssl", {})), ...more }, () => {})).toMatchObject([{ part }]);
});

test.each(["", "Alpine", "3.19", "alpine-", "alpine 3", "a/b"])("%j is not a distribution", (text) => {
  expect(parseDistribution(text)).toBeUndefined();
});

test("advisories are approved, by the author secdb, about the whole package", () => {
  const [item] = readAdvisories(secdb(pkg("openssl", { "1-r0": ["CVE-1"] })), () => {});
  if (item === undefined || item instanceof FeedRefusal) throw item;
  expect(item.advisories.map((advisory) => toJson(AdvisorySchema, advisory))).toEqual([
    {
      advisoryId: "CVE-1",
      author: "secdb",
      artifactName: "openssl",
      artifactType: "apk",
      artifactArchitecture: "all",
      componentName: "openssl",
      componentLocation: "/",
      componentType: "apk",
      events: [{ author: "secdb", reviewState: "REVIEW_STATE_APPROVED", fixed: { fixedVersion: "1-r0" } }],
    },
  ]);
});

test.each([
  ["CVE-2017-2616 (+ regression fix)", "CVE-2017-2616", []],
  ["CVE N/A ZBX-11023", "ZBX-11023", []],
  ["CVE_2019-2426", "CVE_2019-2426", []],
  ["  VSV00001\tCVE-2017-12425 ", "VSV00001", ["CVE-2017-12425"]],
])("the ids of %j are read", (text, id, aliases) => {
  const [item] = readAdvisories(secdb(pkg("a", { "1": [text] })), () => {});
  expect(item).toMatchObject({ advisories: [{ advisoryId: id, aliases }] });
});

test("an invalid package is refused alone", () => {
  expect(
    read(
      secdb(
        pkg("good", { "1": ["CVE-1"] }),
        pkg("", {}),
        pkg("a b", {}),
        pkg("bad-fixes", []),
        pkg("bad-list", { "1-r0": "CVE-1" }),
        pkg("bad-version", { "1 0": ["CVE-1"] }),
        pkg("bad-nul", { "1\0": ["CVE-1"] }),
        pkg("bad-text", { "1-r0": ["CVE-1", 7] }),
        pkg("bad-id", { "1-r0": ["n/a"] }),
        { pkg: null },
        "text",
      ),
    ),
  ).toEqual([
    expect.objectContaining({ id: "good" }),
    "packages[1].pkg.name: is empty",
    'packages[2].pkg.name: "a b" is not an id',
    "packages[3].pkg.secfixes: is not an object",
    "packages[4].pkg.secfixes.1-r0: is not a list",
    'packages[5].pkg.secfixes: "1 0" is not a version',
    'packages[6].pkg.secfixes: "1\\u0000" is not a version',
    "packages[7].pkg.secfixes.1-r0[1]: is not text",
    'packages[8].pkg.secfixes.1-r0[0]: "n/a" names no vulnerability',
    "packages[9].pkg: is missing",
    "packages[10]: is not an object",
  ]);
});

test.each([
  [{ packages: {} }, "is not an advisory document"],
  [{ packages: [], reponame: 7 }, "reponame: is not text"],
])("%j is refused completely", (record, reason) => {
  expect(() => readAdvisories(record, () => {})).toThrow(reason);
});

test("unknown members are reported, those of the repository are not", () => {
  const unread: string[] = [];
  const item = pkg("a", { "1": ["CVE-1"] }) as { pkg: object };
  const record = {
    ...secdb({ pkg: { ...item.pkg, mood: 1 }, size: 1 }),
    urlprefix: "u",
    apkurl: "a",
    archs: [],
    mood: 1,
  };
  readAdvisories(record, (member) => unread.push(member));
  expect(unread.sort()).toEqual(["mood", "packages[].pkg.mood", "packages[].size"]);
});
