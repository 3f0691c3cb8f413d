/** Reports of vulnerability scanners and ends of life, as v1 answers them. */
import { beforeAll, expect, test } from "vitest";
import { saveProduct } from "../../src/services/index.ts";
import { grypeReport, trivyReport } from "../feeds/formats/vuln-reports.ts";
import type { Json } from "./contract.ts";
import { importImages, importVulnReport } from "./feed-fixtures.ts";
import { digestOf, freshName, makeGroup, makeMember, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

onEveryServer("reports of vulnerability scanners", (platform) => {
  let group: string;
  let repo: Json;
  const digest = digestOf(7);
  const ok = (method: string, request: Json) => platform().read(`v1.${method}`, request);

  beforeAll(async () => {
    group = (await makeGroup(platform(), "")).uid;
    repo = await makeRepo(platform(), group);
    await makeTag(platform(), repo.uid, { name: "latest", digest });
    const platforms = [{ architecture: "amd64", digest: digestOf(8), size: 12_345 }];
    await importImages(platform(), repo.uid, { digest, platforms });
    await importVulnReport(platform(), repo.uid, digest, grypeReport("2026-11-01T10:00:00Z"));
    await importVulnReport(platform(), repo.uid, digest, grypeReport("2026-11-01T20:00:00Z"));
    await importVulnReport(platform(), repo.uid, digestOf(8), trivyReport("2026-11-03T10:00:00Z"));
    await importVulnReport(platform(), repo.uid, digestOf(6), trivyReport("2026-10-01T10:00:00Z"), ["latest", "old"]);
  });

  test("the newest of each digest and scanner is listed, with packages that share a vulnerability together", async () => {
    const { items } = await ok("Vulnerabilities.ListVulnReports", { repoId: repo.uid });
    expect(items.map((item: Json) => [item.digest, item.scanner.name, item.createdAt])).toEqual([
      [digestOf(8), "TRIVY", "2026-11-03T10:00:00.000Z"],
      [digest, "GRYPE", "2026-11-01T20:00:00.000Z"],
      [digestOf(6), "TRIVY", "2026-10-01T10:00:00.000Z"],
    ]);
    const [critical, low, negligible] = items[1].vulnerabilities;
    expect(critical).toEqual({
      id: "CVE-2026-1",
      aliases: ["GHSA-aaaa-bbbb-cccc"],
      purls: ["pkg:apk/wolfi/libssl3@3.3.1-r1?arch=x86_64&origin=openssl", "pkg:npm/lodash@4.17.20"],
      description: "CVE-2026-1 in short.",
      details: "CVE-2026-1 in short.\nAnd at length.",
      severity: "CRITICAL",
      cvss: [
        {
          score: "9.8",
          version: "3.1",
          vector: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
          source: "nvd@nist.gov",
        },
      ],
      epss: [{ cve: "CVE-2026-1", score: 0.1, percentile: 0.9, date: "2026-11-01" }],
      knownExploits: [
        {
          cve: "CVE-2026-1",
          vendor: "OpenSSL",
          product: "OpenSSL",
          dateAdded: "2026-10-01",
          dueDate: "2026-10-22",
          requiredAction: "Apply updates.",
          ransomwareUse: "unknown",
          urls: ["https://example.com/kev"],
        },
      ],
      risk: 12.5,
      fix: { versions: ["3.3.2-r0"], state: "FIXED" },
      relatedUrls: ["https://nvd.nist.gov/vuln/detail/CVE-2026-1", "https://example.com/a", "https://example.com/b"],
      locations: ["/usr/lib/libssl3", "/usr/lib/lodash"],
    });
    expect([low.severity, negligible.severity]).toEqual(["LOW", "NEGLIGIBLE"]);
  });

  test.each<[Json, string[][]]>([
    [{ tag: "latest" }, [["TRIVY"], ["GRYPE"], ["TRIVY"]]],
    [{ tag: "old" }, [["TRIVY"]]],
    [{ tag: "none" }, []],
    [{ scanner: { name: "GRYPE" } }, [["GRYPE"]]],
    [{ createdSince: "2026-11-01T00:00:00Z" }, [["TRIVY"], ["GRYPE"], ["GRYPE"]]],
    [{ createdSince: "9999-12-31T23:59:59.999Z" }, []],
    [{ severities: ["CRITICAL"], scanner: { name: "GRYPE" } }, [["GRYPE", "CVE-2026-1"]]],
    [{ fixed: false, scanner: { name: "GRYPE" } }, [["GRYPE", "CVE-2026-2", "CVE-2026-3"]]],
    [{ fixed: true, scanner: { name: "GRYPE" } }, [["GRYPE", "CVE-2026-1"]]],
  ])("filter %j", async (filter, expected) => {
    const { items } = await ok("Vulnerabilities.ListVulnReports", { repoId: repo.uid, ...filter });
    const isDetailed = "severities" in filter || "fixed" in filter;
    const shown = items.map(({ scanner, vulnerabilities }: Json) => [
      scanner.name,
      ...(isDetailed ? vulnerabilities.map(({ id }: Json) => id) : []),
    ]);
    expect(shown).toEqual(expected);
  });

  test("a digest wins over a repo, and one of them is needed", async () => {
    const { items } = await ok("Vulnerabilities.ListVulnReports", { digest, tag: "none" });
    expect(items).toHaveLength(1);
    await platform().refused("v1.Vulnerabilities.ListVulnReports", {}, "INVALID_ARGUMENT");
  });

  test("the file of the scanner is answered as it was", async () => {
    const raw = await ok("Vulnerabilities.GetRawVulnReport", { digest });
    expect(JSON.parse(raw.rawReport)).toEqual(grypeReport("2026-11-01T20:00:00Z"));
    expect(raw).toMatchObject({ digest, scanner: { name: "GRYPE", version: "0.104.0" }, rawReportUrl: "" });
    const createdAt = "2026-11-01T10:00:00Z";
    const older = await ok("Vulnerabilities.GetRawVulnReport", { digest, scanner: "GRYPE", createdAt });
    expect(JSON.parse(older.rawReport)).toEqual(grypeReport(createdAt));
    const none = await platform().read("v1.Vulnerabilities.GetRawVulnReport", { digest: digestOf(99) });
    expect(none.report ?? "").toBe("");
    expect(await platform().read("v1.Vulnerabilities.GetRawVulnReport", { digest, scanner: "TRIVY" })).toEqual(none);
  });

  test("the older form has a match for each package, of the newest report of the image or its platforms", async () => {
    const report = await ok("Registry.GetVulnReport", { repoId: repo.uid, digest });
    expect(report).toMatchObject({
      scanner: { name: "trivy", version: "0.68.1" },
      reportGeneration: "2026-11-03T10:00:00.000Z",
    });
    expect(report.vulnerabilityMatches).toHaveLength(3);
    expect(report.vulnerabilityMatches[0]).toMatchObject({
      vulnerability: { id: "CVE-2026-1", severity: "CRITICAL", source: "wolfi", displayId: "CVE-2026-1" },
      pkg: { name: "libssl3", version: "3.3.1-r1" },
      fix: { versions: ["3.3.2-r0", "3.4.0-r0"], state: "FIXED" },
    });
    expect(JSON.parse(Buffer.from(report.rawVulnReport, "base64").toString())).toMatchObject({ SchemaVersion: 2 });
    const none = await platform().read("v1.Registry.GetVulnReport", { repoId: repo.uid, digest: digestOf(99) });
    expect(JSON.stringify(none)).not.toContain("CVE");
  });

  test("the older form has the file of the scanner, up to 1 MiB", async () => {
    const most = 1024 * 1024;
    const other = await makeRepo(platform(), group);
    const reportOf = (bytes: number) => {
      const report = { ...trivyReport(), padding: "" };
      return { ...report, padding: "x".repeat(bytes - JSON.stringify(report).length) };
    };
    await importVulnReport(platform(), other.uid, digestOf(12), reportOf(most));
    await importVulnReport(platform(), other.uid, digestOf(13), reportOf(most + 1));
    const request = { repoId: other.uid, digest: digestOf(12) };
    const { rawVulnReport } = await platform().ok("v1.Registry.GetVulnReport", request);
    expect(Buffer.from(rawVulnReport, "base64").length).toBe(most);
    const larger = await ok("Registry.GetVulnReport", { ...request, digest: digestOf(13) });
    expect(larger.vulnerabilityMatches).toHaveLength(3);
    expect(larger.rawVulnReport ?? "").toBe("");
  });

  test("counts are by day, of its newest report, or of all up to it", async () => {
    const filter = { repo: repo.name, tag: "latest" };
    const { items } = await ok("Vulnerabilities.ListVulnCountReports", filter);
    const brief = ({ date, cveIds, vulnCounts }: Json) => [
      date.slice(0, 10),
      cveIds.join(),
      vulnCounts.flatMap(({ severity, count }: Json) => (count > 0 ? [`${severity} ${count}`] : [])).join(),
    ];
    expect(items.map(brief)).toEqual([
      ["2026-10-01", "CVE-2026-1,CVE-2026-2,CVE-2026-4", "UNKNOWN 1,MEDIUM 1,CRITICAL 1"],
      ["2026-11-01", "CVE-2026-1,CVE-2026-2,CVE-2026-3", "NEGLIGIBLE 1,LOW 1,CRITICAL 1"],
      ["2026-11-03", "CVE-2026-1,CVE-2026-2,CVE-2026-4", "UNKNOWN 1,MEDIUM 1,CRITICAL 1"],
    ]);
    expect(items[1]).toMatchObject({ repo: repo.name, tag: "latest", sizeBytes: "12345", critCveIds: ["CVE-2026-1"] });
    const range = { from: "2026-11-01T23:00:00Z", to: "2026-11-03T00:00:00Z" };
    const cumulative = await ok("Vulnerabilities.ListCumulativeVulnCountReports", { ...filter, ...range });
    expect(cumulative.items.map(brief)).toEqual([
      ["2026-11-01", "CVE-2026-1,CVE-2026-2,CVE-2026-3", "NEGLIGIBLE 1,LOW 1,CRITICAL 1"],
      ["2026-11-03", "CVE-2026-1,CVE-2026-2,CVE-2026-3,CVE-2026-4", "UNKNOWN 1,NEGLIGIBLE 1,MEDIUM 1,CRITICAL 1"],
    ]);
    expect(await ok("Vulnerabilities.ListVulnCountReports", { repo: freshName() })).toEqual({ items: [] });
    await platform().refused("v1.Vulnerabilities.ListVulnCountReports", {}, "INVALID_ARGUMENT");
    const references = [{ repo: repo.name, tag: "old" }];
    const byReference = await platform().ok(
      "v1.Vulnerabilities.ListVulnCountReports",
      { references },
      { over: "grpc" },
    );
    expect(byReference.items.map(({ tag }: Json) => tag)).toEqual(["old"]);
  });

  test("nobody sees the reports of another organisation", async () => {
    const elsewhere = (await makeGroup(platform(), "")).uid;
    const { token: as } = await makeMember(platform(), elsewhere, "owner");
    for (const [method, request] of [
      ["ListVulnReports", { digest }],
      ["ListVulnReports", { repoId: repo.uid }],
      ["ListVulnCountReports", { repo: repo.name }],
      ["ListCumulativeVulnCountReports", { repo: repo.name }],
    ] as const)
      expect(await platform().read(`v1.Vulnerabilities.${method}`, request, { as })).toEqual({ items: [] });
    const none = await platform().read("v1.Vulnerabilities.GetRawVulnReport", { digest: digestOf(98) });
    expect(await platform().read("v1.Vulnerabilities.GetRawVulnReport", { digest }, { as })).toEqual(none);
    await platform().refused("v1.Registry.GetVulnReport", { repoId: repo.uid, digest }, "PERMISSION_DENIED", { as });
  });

  test("the reports of a repo go with it", async () => {
    const other = await makeRepo(platform(), group);
    await importVulnReport(platform(), other.uid, digestOf(11), grypeReport());
    await platform().ok("DeleteRepo", { uid: other.uid });
    expect(await ok("Vulnerabilities.ListVulnReports", { digest: digestOf(11) })).toEqual({ items: [] });
  });
});

onEveryServer("tags with their ends of life", (platform) => {
  test("are of the product that the repo is named after", async () => {
    const { uid: group } = await makeGroup(platform(), "");
    const name = freshName("python");
    const year = new Date().getUTCFullYear();
    const inMonths = (months: number) => new Date(Date.UTC(year, new Date().getUTCMonth() + months, 1));
    const eol = (months: number) => inMonths(months).toISOString().slice(0, 10);
    const cycle = { releaseDate: "2020-01-01", isEol: false, isLts: false, ltsDate: "", latest: "" };
    const cycles = [
      { ...cycle, version: "3.14", eolDate: eol(40), latest: "3.14.1", isLts: true, ltsDate: "2025-01-01" },
      { ...cycle, version: "3.9", eolDate: eol(-2) },
      { ...cycle, version: "3.8", eolDate: eol(-20) },
    ];
    await platform().write((session) => saveProduct(session, { name, cycles }, Date.now()));
    const { uid: repo } = await makeRepo(platform(), group, { name: `library/${name}` });
    for (const tag of ["3.14.1", "3.9", "3.8", "other", "sha256-abc"]) await makeTag(platform(), repo, { name: tag });
    const filter = { uidp: { childrenOf: repo } };
    const { items } = await platform().read("v1.Registry.ListEolTags", filter);
    const brief = items.map((item: Json) => [item.name, item.mainPackageName, item.tagStatus, item.graceStatus]);
    expect(brief.sort()).toEqual([
      ["3.14.1", name, "TAG_ACTIVE", "GRACE_ELIGIBLE"],
      ["3.8", name, "TAG_INACTIVE", "GRACE_EXPIRED"],
      ["3.9", name, "TAG_IN_GRACE", "GRACE_ACTIVE"],
      ["other", name, "TAG_ACTIVE", "GRACE_NOT_ELIGIBLE"],
    ]);
    const [current] = items.filter((item: Json) => item.name === "3.14.1");
    expect(current.mainPackageVersion).toEqual({
      version: "3.14",
      exists: true,
      fips: false,
      lts: true,
      legacyLts: "2025-01-01",
      releaseDate: "2020-01-01",
      eolDate: eol(40),
      eolBroken: false,
      latestVersion: "3.14.1",
    });
    expect(current.gracePeriodExpiryDate).toBe(inMonths(46).toISOString());
    const first = await platform().ok("v1.Registry.ListEolTags", { ...filter, pageSize: 3 });
    expect(first.items).toHaveLength(3);
    const rest = await platform().ok("v1.Registry.ListEolTags", { pageToken: first.nextPageToken });
    expect([rest.items.length, rest.nextPageToken]).toEqual([1, ""]);
    const { uid: unknown } = await makeRepo(platform(), group);
    await makeTag(platform(), unknown, { name: "1" });
    const { items: others } = await platform().ok("v1.Registry.ListEolTags", { uidp: { childrenOf: unknown } });
    expect(others).toMatchObject([
      { mainPackageName: "", tagStatus: "TAG_ACTIVE", mainPackageVersion: { exists: false } },
    ]);
  });
});
