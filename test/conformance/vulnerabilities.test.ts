/** Vulnerabilities through the port: what the records of all feeds say of one flaw. */
import { beforeAll, expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { importOsv } from "./feed-fixtures.ts";
import { freshUid, makeIdentity } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const modified = "2026-01-02T03:04:05Z";
const critical = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
const affects = (ecosystem: string, name: string) => [
  { package: { ecosystem, name }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed: "2.0" }] }] },
];

onEveryServer("vulnerabilities", (platform) => {
  const idsOf = ({ vulnerabilities = [] }: Json) => vulnerabilities.map(({ id }: Json) => id);

  beforeAll(async () => {
    const records = [
      {
        id: "GHSA-aaaa-aaaa-aaaa",
        aliases: ["CVE-2026-0001"],
        published: "2026-01-01T00:00:00Z",
        severity: [{ type: "CVSS_V3", score: critical }],
        affected: affects("npm", "@scope/name"),
        upstream: ["CVE-2026-0009"],
      },
      { id: "PYSEC-2026-1", aliases: ["GHSA-aaaa-aaaa-aaaa"], affected: affects("PyPI", "Some_Name") },
      { id: "CVE-2026-0002", database_specific: { severity: "LOW" }, related: ["CVE-2026-0001"] },
      { id: "OSV-2026-3", affected: affects("Debian:12", "openssl") },
    ];
    for (const record of records) await importOsv(platform(), { modified, ...record });
  });

  test("look as all records together have them, by uid, id and any alias", async () => {
    const one = await platform().read("GetVulnerability", { uid: "CVE-2026-0001" });
    expect(one).toMatchObject({
      id: "CVE-2026-0001",
      aliases: ["GHSA-aaaa-aaaa-aaaa", "PYSEC-2026-1"],
      level: "LEVEL_CRITICAL",
      score: 9.8,
      ratings: [{ source: "ghsa", vector: critical, score: 9.8, level: "LEVEL_CRITICAL" }],
      affected: [
        { packageUrl: "pkg:npm/%40scope/name", ranges: ["vers:npm/<2.0"], fixedVersions: ["2.0"] },
        { packageUrl: "pkg:pypi/some-name", ranges: ["vers:pypi/<2.0"], fixedVersions: ["2.0"] },
      ],
      etag: expect.any(String),
    });
    expect(one.records.map(({ id }: Json) => id)).toEqual(["GHSA-aaaa-aaaa-aaaa", "PYSEC-2026-1"]);
    for (const uid of [one.uid, "PYSEC-2026-1", "GHSA-aaaa-aaaa-aaaa"])
      expect(await platform().read("GetVulnerability", { uid })).toEqual(one);
    const uids = ["PYSEC-2026-1", "CVE-2026-0002", one.uid];
    const batch = await platform().ok("BatchGetVulnerabilities", { uids });
    expect(idsOf(batch)).toEqual(["CVE-2026-0001", "CVE-2026-0002", "CVE-2026-0001"]);
  });

  test("that are not there are not found", async () => {
    for (const uid of ["CVE-2026-0404", freshUid()]) await platform().refused("GetVulnerability", { uid }, "NOT_FOUND");
    const uids = ["CVE-2026-0002", "CVE-2026-0404"];
    await platform().refused("BatchGetVulnerabilities", { uids }, "NOT_FOUND");
  });

  test.each<[string, Json, string[]]>([
    ["nothing", {}, ["CVE-2026-0001", "CVE-2026-0002", "OSV-2026-3"]],
    ["ids and aliases", { ids: ["PYSEC-2026-1", "OSV-2026-3"] }, ["CVE-2026-0001", "OSV-2026-3"]],
    [
      "what they name as upstream or related",
      { relatedIds: ["CVE-2026-0001", "CVE-2026-0009"] },
      ["CVE-2026-0001", "CVE-2026-0002"],
    ],
    ["a package", { packages: ["pkg:npm/%40scope/name"] }, ["CVE-2026-0001"]],
    ["a package in other letters", { packages: ["pkg:pypi/Some_Name@1.0"] }, ["CVE-2026-0001"]],
    ["a package of a distribution", { packages: ["pkg:deb/debian/openssl?distro=debian-12"] }, ["OSV-2026-3"]],
    ["what is no package", { packages: ["openssl"] }, []],
    ["levels", { levels: ["LEVEL_LOW", "LEVEL_CRITICAL"] }, ["CVE-2026-0001", "CVE-2026-0002"]],
    ["a probability", { minEpss: 0.1 }, []],
    ["being listed by CISA", { knownExploited: true }, []],
    ["not being listed by CISA", { knownExploited: false, ids: ["CVE-2026-0002"] }, ["CVE-2026-0002"]],
    ["an order", { orderBy: "level desc, id" }, ["CVE-2026-0001", "CVE-2026-0002", "OSV-2026-3"]],
    ["the score, what has none first", { orderBy: "score" }, ["OSV-2026-3", "CVE-2026-0002", "CVE-2026-0001"]],
  ])("are listed by %s", async (name, request, expected) => {
    const page = await platform().read("ListVulnerabilities", request);
    if (name.startsWith("the score")) expect(idsOf(page).at(-1)).toBe("CVE-2026-0001");
    else expect(idsOf(page)).toEqual(expected);
    expect(page.totalCount).toBe(String(expected.length));
  });

  test("are the same for everybody", async () => {
    const identity = await makeIdentity(platform(), platform().root);
    const as = await platform().token(identity.uid);
    expect((await platform().read("ListVulnerabilities", {}, { as })).totalCount).toBe("3");
    expect(await platform().read("GetVulnerability", { uid: "PYSEC-2026-1" }, { as })).toMatchObject({
      id: "CVE-2026-0001",
    });
  });
});
