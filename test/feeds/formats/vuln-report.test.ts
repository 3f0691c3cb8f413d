import { expect, test } from "vitest";
import { FeedRefusal, readVulnReport } from "../../../src/feeds/index.ts";
import { grypeReport, reportDigest, trivyReport } from "./vuln-reports.ts";

function read(report: unknown) {
  const refused: string[] = [];
  const unread: string[] = [];
  const scan = readVulnReport(Buffer.from(typeof report === "string" ? report : JSON.stringify(report)), {
    refuse: (name, reason) => void refused.push(`${name}: ${reason}`),
    unread: (member) => void unread.push(member),
  });
  return { scan, refused, unread };
}

test("a report of Grype", () => {
  const { scan, refused, unread } = read(grypeReport());
  expect([refused, unread]).toEqual([[], []]);
  expect(scan).toMatchObject({
    scanner: { name: "GRYPE", version: "0.104.0" },
    databaseMs: Date.parse("2026-10-31T06:00:00Z"),
    createMs: Date.parse("2026-11-01T10:00:00.500Z"),
  });
  expect(new Set(scan.digests)).toEqual(new Set([reportDigest]));
  expect(scan.findings.map(({ id, severity, fix }) => [id, severity, fix.state])).toEqual([
    ["CVE-2026-1", "CRITICAL", "FIXED"],
    ["CVE-2026-1", "CRITICAL", "FIXED"],
    ["CVE-2026-2", "LOW", "NOT_FIXED"],
    ["CVE-2026-3", "NEGLIGIBLE", "WONT_FIX"],
  ]);
  expect(scan.findings[0]).toEqual({
    id: "CVE-2026-1",
    aliases: ["GHSA-aaaa-bbbb-cccc"],
    source: "nvd:cpe",
    description: "CVE-2026-1 in short.\nAnd at length.",
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
    exploits: [
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
    urls: ["https://nvd.nist.gov/vuln/detail/CVE-2026-1", "https://example.com/a", "https://example.com/b"],
    fix: { versions: ["3.3.2-r0"], state: "FIXED" },
    package: {
      id: "id-of-libssl3",
      name: "libssl3",
      version: "3.3.1-r1",
      licenses: ["Apache-2.0"],
      purl: "pkg:apk/wolfi/libssl3@3.3.1-r1?arch=x86_64&origin=openssl",
      cpes: ["cpe:2.3:a:libssl3:libssl3:3.3.1-r1:*:*:*:*:*:*:*"],
      locations: ["/usr/lib/libssl3"],
    },
  });
});

test("a report of Trivy", () => {
  const { scan, refused, unread } = read(trivyReport());
  expect([refused, unread]).toEqual([[], []]);
  expect(scan).toMatchObject({
    scanner: { name: "TRIVY", version: "0.68.1" },
    databaseMs: undefined,
    createMs: Date.parse("2026-11-02T10:00:00.123Z"),
    digests: [reportDigest],
  });
  expect(scan.findings.map(({ id, severity, fix }) => [id, severity, fix])).toEqual([
    ["CVE-2026-1", "CRITICAL", { versions: ["3.3.2-r0", "3.4.0-r0"], state: "FIXED" }],
    ["CVE-2026-2", "MEDIUM", { versions: [], state: "NOT_FIXED" }],
    ["CVE-2026-4", "UNKNOWN", { versions: [], state: "WONT_FIX" }],
  ]);
  expect(scan.findings[0]).toMatchObject({
    aliases: ["GHSA-aaaa-bbbb-cccc"],
    source: "wolfi",
    description: "CVE-2026-1 at length.",
    cvss: [
      { score: "7.5", version: "2.0", vector: "AV:N", source: "nvd" },
      { score: "9.8", version: "3.1", vector: "CVSS:3.1/AV:N", source: "nvd" },
    ],
    package: { id: "libssl3@3.3.1-r1", name: "libssl3", locations: ["usr/lib/libssl3"] },
  });
});

test("a finding that cannot be read is refused alone, and unknown members are told", () => {
  const bad = { vulnerability: { id: 7 }, artifact: { name: "a" } };
  const grype = read({ ...grypeReport(undefined, [bad]), mood: "good" });
  expect(grype.scan.findings).toHaveLength(4);
  expect(grype.refused).toEqual(["matches[4]: matches[4].vulnerability.id: is not text"]);
  expect(grype.unread).toContain("mood");
  const trivy = read(trivyReport(undefined, [{ VulnerabilityID: "CVE-1" }, { VulnerabilityID: "", PkgName: "a" }]));
  expect(trivy.scan.findings).toHaveLength(3);
  expect(trivy.refused).toEqual([
    "Results[0].Vulnerabilities[1]: Results[0].Vulnerabilities[1].PkgName: is missing",
    "Results[0].Vulnerabilities[2]: Results[0].Vulnerabilities[2].VulnerabilityID: is empty",
  ]);
});

test("a result of Trivy that is none is refused alone", () => {
  const report = trivyReport();
  const { scan, refused } = read({ ...report, Results: [null, ...(report as { Results: object[] }).Results] });
  expect(scan.findings).toHaveLength(3);
  expect(refused).toEqual(["Results[0]: is not an object"]);
});

test("a rating of Trivy has the version of its vector", () => {
  const cvss = (rating: object) =>
    read(
      trivyReport(undefined, [{ VulnerabilityID: "CVE-1", PkgName: "a", CVSS: { nvd: rating } }]),
    ).scan.findings.find(({ id }) => id === "CVE-1")!.cvss;
  const vector = "CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
  expect(cvss({ V3Vector: vector, V3Score: 9.8 })).toEqual([{ score: "9.8", version: "3.0", vector, source: "nvd" }]);
  expect(cvss({ V3Score: 9.8 })).toEqual([{ score: "9.8", version: "3.1", vector: "", source: "nvd" }]);
});

test("a rating of Grype has the version of its vector, or else its own", () => {
  const cvss = (rating: object) => {
    const match = { vulnerability: { id: "CVE-1", cvss: [rating] }, artifact: { name: "a" } };
    return read(grypeReport(undefined, [match])).scan.findings.find(({ id }) => id === "CVE-1")!.cvss[0]!.version;
  };
  const metrics = { baseScore: 9.8 };
  expect(cvss({ version: "3.1", vector: "CVSS:3.0/AV:N", metrics })).toBe("3.0");
  expect(cvss({ vector: "CVSS:4.0/AV:N", metrics })).toBe("4.0");
  expect(cvss({ version: "2.0", vector: "AV:N", metrics })).toBe("2.0");
});

test("a scan of a directory has no digest", () => {
  const report = { ...grypeReport(), source: { type: "directory", target: "/some/path" } };
  expect(read(report).scan.digests).toEqual([]);
});

test.each([
  ["{", "is not JSON"],
  [{ bomFormat: "CycloneDX" }, "is neither a report of Grype nor one of Trivy in JSON"],
  [{ SchemaVersion: 1 }, "SchemaVersion: is 1, not 2"],
  [{ matches: {}, descriptor: {} }, "matches: is not a list"],
  [[], "is not an object"],
])("%j is refused", (report, reason) => {
  expect(() => read(report)).toThrow(FeedRefusal);
  expect(() => read(report)).toThrow(reason);
});
