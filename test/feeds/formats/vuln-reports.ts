/** Reports of scanners about an image with two packages, in the published shapes of Grype and Trivy. */

export const reportDigest = `sha256:${"a1".repeat(32)}`;

/** A package of the image's bill of materials: name, version and package URL. */
type ListedPackage = readonly [name: string, version: string, purl: string];

const openssl: ListedPackage = ["libssl3", "3.3.1-r1", "pkg:apk/wolfi/libssl3@3.3.1-r1?arch=x86_64&origin=openssl"];
const lodash: ListedPackage = ["lodash", "4.17.20", "pkg:npm/lodash@4.17.20"];

function grypeMatch(id: string, severity: string, [name, version, purl]: ListedPackage, fix: object): object {
  return {
    vulnerability: {
      id,
      dataSource: `https://nvd.nist.gov/vuln/detail/${id}`,
      namespace: "nvd:cpe",
      severity,
      urls: ["https://example.com/a", "https://example.com/b"],
      description: `${id} in short.\nAnd at length.`,
      cvss: [
        {
          source: "nvd@nist.gov",
          type: "Primary",
          version: "3.1",
          vector: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
          metrics: { baseScore: 9.8, exploitabilityScore: 3.9, impactScore: 5.9 },
          vendorMetadata: {},
        },
      ],
      epss: [{ cve: id, epss: 0.1, percentile: 0.9, date: "2026-11-01" }],
      knownExploited: [
        {
          cve: id,
          vendorProject: "OpenSSL",
          product: "OpenSSL",
          dateAdded: "2026-10-01",
          requiredAction: "Apply updates.",
          dueDate: "2026-10-22",
          knownRansomwareCampaignUse: "unknown",
          urls: ["https://example.com/kev"],
          cwes: ["CWE-787"],
        },
      ],
      fix,
      advisories: [],
      risk: 12.5,
    },
    relatedVulnerabilities: [{ id: "GHSA-aaaa-bbbb-cccc", dataSource: "", namespace: "github:language:javascript" }],
    matchDetails: [{ type: "exact-direct-match", matcher: "apk-matcher", searchedBy: {}, found: {} }],
    artifact: {
      id: `id-of-${name}`,
      name,
      version,
      type: "apk",
      locations: [{ path: `/usr/lib/${name}`, layerID: reportDigest, accessPath: `/usr/lib/${name}` }],
      language: "",
      licenses: ["Apache-2.0"],
      cpes: [`cpe:2.3:a:${name}:${name}:${version}:*:*:*:*:*:*:*`],
      purl,
      upstreams: [],
    },
  };
}

/** A report of Grype: three vulnerabilities, one of them in two packages. */
export function grypeReport(timestamp = "2026-11-01T10:00:00.5Z", more: readonly object[] = []): object {
  const fixed = { versions: ["3.3.2-r0"], state: "fixed", available: [{ version: "3.3.2-r0", date: "2026-10-01" }] };
  return {
    matches: [
      grypeMatch("CVE-2026-1", "Critical", openssl, fixed),
      grypeMatch("CVE-2026-1", "Critical", lodash, fixed),
      grypeMatch("CVE-2026-2", "Low", lodash, { versions: [], state: "not-fixed" }),
      grypeMatch("CVE-2026-3", "Negligible", lodash, { versions: [], state: "wont-fix" }),
      ...more,
    ],
    source: {
      type: "image",
      target: {
        userInput: "app:latest",
        imageID: `sha256:${"b2".repeat(32)}`,
        manifestDigest: reportDigest,
        mediaType: "application/vnd.docker.distribution.manifest.v2+json",
        tags: ["app:latest"],
        repoDigests: [`registry.example.com/app@${reportDigest}`],
        layers: [],
      },
    },
    distro: { name: "wolfi", version: "20230201", idLike: [] },
    descriptor: {
      name: "grype",
      version: "0.104.0",
      configuration: { output: ["json"] },
      db: { status: { schemaVersion: "v6.1.3", built: "2026-10-31T06:00:00Z", valid: true }, providers: {} },
      timestamp,
    },
  };
}

function trivyVulnerability(id: string, severity: string, [name, version, purl]: ListedPackage, fix: object): object {
  return {
    VulnerabilityID: id,
    VendorIDs: ["GHSA-aaaa-bbbb-cccc"],
    PkgID: `${name}@${version}`,
    PkgName: name,
    PkgPath: `usr/lib/${name}`,
    PkgIdentifier: { PURL: purl, UID: "1a2b3c" },
    InstalledVersion: version,
    Layer: { Digest: reportDigest, DiffID: reportDigest },
    SeveritySource: "nvd",
    PrimaryURL: `https://avd.aquasec.com/nvd/${id.toLowerCase()}`,
    DataSource: { ID: "wolfi", Name: "Wolfi Secdb", URL: "https://packages.wolfi.dev/os/security.json" },
    Fingerprint: reportDigest,
    Title: `${id} in short`,
    Description: `${id} at length.`,
    Severity: severity,
    CweIDs: ["CWE-787"],
    VendorSeverity: { nvd: 4 },
    CVSS: { nvd: { V2Vector: "AV:N", V3Vector: "CVSS:3.1/AV:N", V2Score: 7.5, V3Score: 9.8 } },
    References: ["https://example.com/a"],
    PublishedDate: "2026-01-01T00:00:00Z",
    LastModifiedDate: "2026-01-02T00:00:00Z",
    ...fix,
  };
}

/** A report of Trivy: three vulnerabilities. */
export function trivyReport(createdAt = "2026-11-02T10:00:00.123456789Z", more: readonly object[] = []): object {
  return {
    SchemaVersion: 2,
    Trivy: { Version: "0.68.1" },
    ReportID: "017b7d41-e09f-7000-80ea-000000000001",
    CreatedAt: createdAt,
    ArtifactName: "registry.example.com/app:latest",
    ArtifactType: "container_image",
    Metadata: {
      Size: 9_000_000,
      OS: { Family: "wolfi", Name: "20230201" },
      ImageID: `sha256:${"b2".repeat(32)}`,
      DiffIDs: [reportDigest],
      RepoTags: ["registry.example.com/app:latest"],
      RepoDigests: [`registry.example.com/app@${reportDigest}`],
      ImageConfig: { architecture: "amd64", os: "linux" },
    },
    Results: [
      {
        Target: "registry.example.com/app:latest (wolfi 20230201)",
        Class: "os-pkgs",
        Type: "wolfi",
        Vulnerabilities: [
          trivyVulnerability("CVE-2026-1", "CRITICAL", openssl, {
            Status: "fixed",
            FixedVersion: "3.3.2-r0, 3.4.0-r0",
          }),
          ...more,
        ],
      },
      {
        Target: "Node.js",
        Class: "lang-pkgs",
        Type: "node-pkg",
        Vulnerabilities: [
          trivyVulnerability("CVE-2026-2", "MEDIUM", lodash, { Status: "affected" }),
          trivyVulnerability("CVE-2026-4", "UNKNOWN", lodash, { Status: "will_not_fix" }),
        ],
      },
      { Target: "/etc/config.yaml", Class: "config", Type: "yaml", MisconfSummary: { Successes: 1, Failures: 0 } },
    ],
  };
}
