import { describe, expect, test } from "vitest";
import {
  FeedRefusal,
  ForeignRecord,
  type ListedPackage,
  readSbom,
  readSbomOnThread,
} from "../../../../src/feeds/index.ts";

/** Reads the packages of a document of which nothing is refused, without details. */
function read(document: unknown): readonly ListedPackage[] {
  const { packages, refused } = readAll(document);
  expect(refused).toEqual([]);
  return withoutDetails(packages);
}

function withoutDetails(packages: readonly ListedPackage[]): readonly ListedPackage[] {
  return packages.map(({ purl, licenses, locations, layer, owner, ...identity }) => identity);
}

function readAll(document: unknown) {
  const refused: string[] = [];
  const unread: string[] = [];
  const sbom = readSbom(Buffer.from(typeof document === "string" ? document : JSON.stringify(document)), {
    refuse: (path, reason) => void refused.push(`${path}: ${reason}`),
    unread: (member) => void unread.push(member),
  });
  return { ...sbom, refused, unread };
}

function listed(more: Partial<ListedPackage>): ListedPackage {
  return { name: "", version: "", type: "", architecture: "", origin: "", originVersion: "", ...more };
}

function spdx(...packages: object[]) {
  return { spdxVersion: "SPDX-2.3", SPDXID: "SPDXRef-DOCUMENT", name: "image", packages };
}

function withPurl(purl: string, more: object = {}) {
  return {
    name: "n",
    versionInfo: "v",
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
    ...more,
  };
}

function cyclonedx(...components: object[]) {
  return { bomFormat: "CycloneDX", specVersion: "1.6", components };
}

/** Package URLs and their packages. */
const purls: readonly (readonly [string, Partial<ListedPackage>])[] = [
  [
    "pkg:apk/wolfi/libssl3@3.3.1-r1?arch=x86_64&origin=openssl",
    {
      name: "libssl3",
      version: "3.3.1-r1",
      type: "apk",
      namespace: "wolfi",
      architecture: "x86_64",
      origin: "openssl",
    },
  ],
  [
    "pkg:deb/Debian/libc6@2.36-9%2Bdeb12u4?arch=amd64&upstream=glibc&distro=debian-12",
    {
      name: "libc6",
      version: "2.36-9+deb12u4",
      type: "deb",
      namespace: "debian",
      distro: "debian-12",
      architecture: "amd64",
      origin: "glibc",
    },
  ],
  [
    "pkg:deb/debian/gcc@4%3A12.2-3?upstream=gcc-defaults%401.203",
    {
      name: "gcc",
      version: "4:12.2-3",
      type: "deb",
      namespace: "debian",
      origin: "gcc-defaults",
      originVersion: "1.203",
    },
  ],
  [
    "pkg:rpm/redhat/openssl-libs@3.0.7-2.el9?arch=x86_64&epoch=1&upstream=openssl-3.0.7-2.el9.src.rpm",
    {
      name: "openssl-libs",
      version: "1:3.0.7-2.el9",
      type: "rpm",
      namespace: "redhat",
      architecture: "x86_64",
      origin: "openssl",
      originVersion: "1:3.0.7-2.el9",
    },
  ],
  ["pkg:npm/%40types/node@20.1.0", { name: "@types/node", version: "20.1.0", type: "npm" }],
  ["pkg:maven/org.slf4j/slf4j-api@2.0.9?type=jar", { name: "org.slf4j:slf4j-api", version: "2.0.9", type: "maven" }],
  ["pkg:golang/github.com/a/b@v1.2.3#sub/path", { name: "github.com/a/b", version: "v1.2.3", type: "golang" }],
  ["pkg:pypi/Typing_Extensions@4.9.0", { name: "typing-extensions", version: "4.9.0", type: "pypi" }],
  ["PKG:APK/x/a%zz@1", { name: "a%zz", version: "1", type: "apk", namespace: "x" }],
];

test("a package URL of SPDX may have its type as a URI", () => {
  const reference = { referenceType: "http://spdx.org/rdf/references/purl", referenceLocator: "pkg:npm/a@1" };
  expect(read(spdx({ name: "a", externalRefs: [reference] }))).toEqual([
    listed({ name: "a", version: "1", type: "npm" }),
  ]);
});

describe("package URLs", () => {
  test.each(purls)("%s", (purl, fields) => {
    expect(read(spdx(withPurl(purl)))).toEqual([listed(fields)]);
    expect(read(cyclonedx({ type: "library", name: "n", version: "v", purl }))).toEqual([listed(fields)]);
  });
});

describe("SPDX", () => {
  test("packages without a package URL are read from other fields", () => {
    const document = spdx(
      { name: "musl", versionInfo: "1.2.5-r0", sourceInfo: "acquired package info from APK DB: /lib/apk/db/installed" },
      { name: "thing", versionInfo: "1" },
      { name: "image", versionInfo: "sha256:00", primaryPackagePurpose: "CONTAINER" },
      { name: "wolfi", versionInfo: "20230201", primaryPackagePurpose: "OPERATING-SYSTEM" },
      { name: "unversioned" },
      { name: "unversioned too", versionInfo: "NOASSERTION" },
      withPurl("pkg:oci/image@sha256%3A00"),
      withPurl("pkg:npm/unversioned", { versionInfo: undefined }),
    );
    expect(read(document)).toEqual([
      listed({ name: "musl", version: "1.2.5-r0", type: "apk" }),
      listed({ name: "thing", version: "1" }),
    ]);
  });

  test("the same packages in another order are the same list", () => {
    const packages = purls.map(([purl]) => withPurl(purl));
    expect(read(spdx(...packages.toReversed(), ...packages))).toEqual(read(spdx(...packages)));
  });
});

describe("CycloneDX", () => {
  test("nested components and properties of tools are read", () => {
    const properties = [
      { name: "syft:metadata:originPackage", value: "openssl" },
      { name: "syft:metadata:architecture", value: "aarch64" },
    ];
    const document = cyclonedx(
      {
        type: "operating-system",
        name: "wolfi",
        version: "1",
        components: [
          { type: "library", name: "libssl3", version: "3-r0", purl: "pkg:apk/wolfi/libssl3@3-r0", properties },
        ],
      },
      { type: "library", group: "org.x", name: "y", version: "2" },
      { type: "file", name: "/etc/passwd", version: "1" },
    );
    expect(read(document)).toEqual([
      listed({
        name: "libssl3",
        version: "3-r0",
        type: "apk",
        namespace: "wolfi",
        architecture: "aarch64",
        origin: "openssl",
      }),
      listed({ name: "org.x/y", version: "2" }),
    ]);
  });

  test("a list without components has no packages", () => {
    expect(read({ bomFormat: "CycloneDX", specVersion: "1.5" })).toEqual([]);
  });
});

describe("SPDX 3", () => {
  const document = {
    "@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
    "@graph": [
      { type: "CreationInfo", "@id": "_:creationinfo", specVersion: "3.0.1", created: "2026-01-01T00:00:00Z" },
      { type: "software_Sbom", spdxId: "urn:sbom", rootElement: ["urn:image"] },
      { type: "software_Package", spdxId: "urn:image", name: "image", software_primaryPurpose: "container" },
      {
        type: "software_Package",
        spdxId: "urn:libssl3",
        name: "libssl3",
        software_packageVersion: "3.3.1-r1",
        software_packageUrl: "pkg:apk/wolfi/libssl3@3.3.1-r1?origin=openssl",
      },
      {
        type: "software_Package",
        spdxId: "urn:a",
        name: "a",
        externalIdentifier: [
          { type: "ExternalIdentifier", externalIdentifierType: "cpe23", identifier: "cpe:2.3:a:a:a:1:*:*:*:*:*:*:*" },
          { type: "ExternalIdentifier", externalIdentifierType: "packageUrl", identifier: "pkg:npm/a@1.0.0" },
        ],
      },
      { type: "software_Package", spdxId: "urn:b", name: "b", software_packageVersion: "2" },
      { type: "software_File", spdxId: "urn:f", name: "f" },
      { type: "Relationship", spdxId: "urn:r", from: "urn:image", to: ["urn:a"], relationshipType: "contains" },
    ],
  };

  test("the packages of a graph are read", () => {
    const { packages, unread, unversioned } = readAll(document);
    expect(withoutDetails(packages)).toEqual([
      listed({ name: "a", version: "1.0.0", type: "npm" }),
      listed({ name: "b", version: "2" }),
      listed({ name: "libssl3", version: "3.3.1-r1", type: "apk", namespace: "wolfi", origin: "openssl" }),
    ]);
    expect([unread, unversioned]).toEqual([[], 0]);
  });
});

describe("envelopes", () => {
  const bill = cyclonedx({ type: "library", name: "a", purl: "pkg:npm/a@1.0.0" });
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    predicateType: "https://cyclonedx.org/bom",
    subject: [{ name: "example", digest: { sha256: "aa" } }],
    predicate: bill,
  };
  const dsse = {
    payloadType: "application/vnd.in-toto+json",
    payload: Buffer.from(JSON.stringify(statement)).toString("base64"),
    signatures: [],
  };

  test.each<[string, unknown]>([
    ["an in-toto statement", statement],
    ["a DSSE envelope", dsse],
    ["a Sigstore bundle", { mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", dsseEnvelope: dsse }],
    ["a predicate of cosign", { ...statement, predicate: { Data: JSON.stringify(bill), Timestamp: "" } }],
    ["an export of GitHub", { sbom: spdx(withPurl("pkg:npm/a@1.0.0")) }],
    ["BuildKit's", { SPDX: spdx(withPurl("pkg:npm/a@1.0.0")) }],
  ])("%s", (_, document) => {
    expect(read(document)).toEqual([listed({ name: "a", version: "1.0.0", type: "npm" })]);
  });

  test.each<[string, unknown]>([
    ["a statement about something else", { ...statement, predicate: { buildType: "x" } }],
    ["a payload that is not JSON", { ...dsse, payload: "!!" }],
    ["envelopes without end", JSON.parse(`${'{"predicate":'.repeat(20)}${JSON.stringify(bill)}${"}".repeat(20)}`)],
  ])("%s is refused", (_, document) => {
    expect(() => readAll(document)).toThrow(FeedRefusal);
  });
});

test.each<[string, unknown]>([
  ["provenance", { predicateType: "https://slsa.dev/provenance/v1", predicate: { buildDefinition: {} } }],
  ["a statement without a predicate", { predicateType: "https://slsa.dev/provenance/v1" }],
  ["a signature", { mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", messageSignature: {} }],
])("%s is foreign", (_, document) => {
  expect(() => readAll(document)).toThrow(ForeignRecord);
});

test("a statement of a bill of materials without one is not foreign", () => {
  const document = { predicateType: "https://spdx.dev/Document/v2.3", predicate: {} };
  expect(() => readAll(document)).not.toThrow(ForeignRecord);
  expect(() => readAll(document)).toThrow(FeedRefusal);
});

describe("on a thread", () => {
  const padding = { properties: [{ name: "padding", value: "x".repeat(300_000) }], mood: 1 };

  async function readThere(document: object) {
    const [refused, unread]: [string[], string[]] = [[], []];
    const sbom = await readSbomOnThread(Buffer.from(JSON.stringify(document)), {
      refuse: (path, reason) => void refused.push(`${path}: ${reason}`),
      unread: (member) => void unread.push(member),
    });
    return { ...sbom, refused, unread };
  }

  test("a large document is read as here", async () => {
    const components = [{ type: "library", name: "a", version: "1" }, { type: "library", name: "b" }, {}];
    const document = { ...cyclonedx(...components), ...padding };
    const there = await readThere(document);
    expect(there).toEqual(readAll(document));
    expect([there.refused.length, there.unread, there.unversioned]).toEqual([1, ["mood"], 1]);
  });

  test("its refusal is that of here", async () => {
    await expect(readThere(padding)).rejects.toThrow(FeedRefusal);
    await expect(readThere(padding)).rejects.toThrow("is neither SPDX nor CycloneDX");
    await expect(readThere({ ...padding, predicateType: "other" })).rejects.toThrow(ForeignRecord);
  });
});

describe("a package that cannot be read", () => {
  test("is refused alone", () => {
    const ofSpdx = readAll(
      spdx(
        { versionInfo: "1" },
        { name: ["a"] },
        { name: "b", versionInfo: "1\0" },
        { name: "b".repeat(5000) },
        {
          name: "c",
          versionInfo: "1",
        },
      ),
    );
    expect(ofSpdx.packages).toEqual([listed({ name: "c", version: "1" })]);
    expect(ofSpdx.refused).toEqual([
      "packages[0]: packages[0].name: is missing",
      "packages[1]: packages[1].name: is not text",
      "packages[2]: packages[2].versionInfo: contains NUL or a lone surrogate",
      "packages[3]: packages[3].name: has 5000 characters, more than 4096",
    ]);
    const bad = { name: 7, components: [{ name: "c", version: "1" }] };
    const ofCycloneDx = readAll({ ...cyclonedx(bad), components: [bad, "text"] });
    expect(ofCycloneDx.packages).toEqual([listed({ name: "c", version: "1" })]);
    expect(ofCycloneDx.refused).toEqual([
      "components[1]: is not an object",
      "components[0]: components[0].name: is not text",
    ]);
  });

  test("is counted without a version", () => {
    const { packages, unversioned } = readAll(
      cyclonedx(
        { type: "library", name: "a" },
        { type: "library", name: "b", purl: "pkg:npm/b" },
        { type: "application", name: "package-lock.json" },
        { type: "file", name: "/etc/passwd" },
      ),
    );
    expect([packages, unversioned]).toEqual([[], 2]);
    expect(readAll(spdx({ name: "a" }, { name: "go.mod", primaryPackagePurpose: "APPLICATION" })).unversioned).toBe(1);
  });
});

test("the source of a package comes from syft's and Trivy's fields", () => {
  const component = (purl: string, properties: Record<string, string>) => ({
    type: "library",
    name: "n",
    purl,
    properties: Object.entries(properties).map(([name, value]) => ({ name, value })),
  });
  const rpm = component("pkg:rpm/centos/acl-libs@2.2.53-1.el8", {
    "syft:metadata:sourceRpm": "acl-2.2.53-1.el8.src.rpm",
  });
  expect(read(cyclonedx(rpm))[0]).toMatchObject({ origin: "acl", originVersion: "2.2.53-1.el8" });
  const deb = component("pkg:deb/debian/libmapper@1.02-2?epoch=2", {
    "aquasecurity:trivy:SrcName": "lvm2",
    "aquasecurity:trivy:SrcVersion": "2.03",
    "aquasecurity:trivy:SrcRelease": "2.1",
    "aquasecurity:trivy:SrcEpoch": "1",
  });
  expect(read(cyclonedx(deb))[0]).toMatchObject({ version: "2:1.02-2", origin: "lvm2", originVersion: "1:2.03-2.1" });
  const built = withPurl("pkg:deb/debian/libc6@2.36-9", { sourceInfo: "built package from: glibc 2.36-9" });
  expect(read(spdx(built))[0]).toMatchObject({ origin: "glibc", originVersion: "2.36-9" });
});

let deep: object = { type: "library", name: "a", version: "1" };
for (let i = 0; i < 25; i++) deep = { type: "library", name: "a", version: "1", components: [deep] };

test.each<[string, unknown, string]>([
  ["no JSON", "{", "is not JSON"],
  ["another encoding", Buffer.from('{"a":1}', "utf16le").toString("latin1"), "is "],
  ["neither format", { packages: [] }, "is neither"],
  ["a list", [], "is neither"],
  ["null", "null", "is neither"],
  ["SPDX 3", { spdxVersion: "SPDX-3.0" }, "spdxVersion: "],
  ["CycloneDX of the future", { bomFormat: "CycloneDX", specVersion: "2.0" }, "specVersion: "],
  ["packages that are none", { ...spdx(), packages: {} }, "packages: is not a list"],
  ["components without end", cyclonedx(deep), "deeper"],
  ["too many components", cyclonedx(...Array(100_001).fill({ type: "library", name: "a" })), "more than 100000"],
])("%s is refused", (_, document, reason) => {
  let failure: unknown;
  try {
    read(document);
  } catch (error) {
    failure = error;
  }
  expect(failure).toBeInstanceOf(FeedRefusal);
  expect((failure as Error).message).toContain(reason);
});

describe("details", () => {
  const layer = (digit: string) => `sha256:${digit.repeat(64)}`;
  const properties = (values: Record<string, string>) =>
    Object.entries(values).map(([name, value]) => ({ name, value }));
  const detailsOf = ({ packages }: { readonly packages: readonly ListedPackage[] }) =>
    packages.map(({ name, licenses, locations, layer, owner }) => ({ name, licenses, locations, layer, owner }));
  const purlOf = (name: string) => `pkg:npm/${name}@1`;

  test("of CycloneDX by syft", () => {
    const document = {
      ...cyclonedx(
        {
          "bom-ref": "a",
          type: "library",
          name: "a",
          version: "1",
          purl: purlOf("a"),
          licenses: [{ license: { id: "MIT" } }, { license: { name: "Custom" } }, { license: {} }],
          properties: properties({
            "syft:location:0:layerID": layer("1"),
            "syft:location:0:path": "/app/a/package.json",
            "syft:location:1:path": "/app/package-lock.json",
          }),
        },
        { "bom-ref": "b", type: "library", name: "b", version: "1", licenses: [{ expression: "MIT OR Apache-2.0" }] },
      ),
      dependencies: [{ ref: "a", dependsOn: ["b", "nowhere", "a"] }, { ref: "b" }, { ref: "a", dependsOn: ["b"] }],
    };
    const sbom = readAll(document);
    expect(detailsOf(sbom)).toEqual([
      {
        name: "a",
        licenses: ["Custom", "MIT"],
        locations: ["/app/a/package.json", "/app/package-lock.json"],
        layer: layer("1"),
      },
      { name: "b", licenses: ["MIT OR Apache-2.0"] },
    ]);
    expect(sbom).toMatchObject({ format: "CycloneDX 1.6", dependencies: [[0, 1]], refused: [], unread: [] });
    expect(sbom.packages[0]!.purl).toBe(purlOf("a"));
  });

  test("of CycloneDX by Trivy", () => {
    const library = (name: string, more: object = {}) => ({
      "bom-ref": name,
      type: "library",
      name,
      purl: purlOf(name),
      ...more,
    });
    const document = {
      ...cyclonedx(
        { "bom-ref": "lock", type: "application", name: "app/yarn.lock" },
        library("a"),
        library("b", {
          properties: properties({
            "aquasecurity:trivy:FilePath": "app/b/package.json",
            "aquasecurity:trivy:LayerDiffID": layer("2"),
            "aquasecurity:trivy:LayerDigest": layer("1"),
          }),
          evidence: { occurrences: [{ location: "app/b/index.js" }, {}] },
        }),
      ),
      dependencies: [{ ref: "lock", dependsOn: ["a"] }],
    };
    expect(detailsOf(readAll(document))).toEqual([
      { name: "a", locations: ["app/yarn.lock"] },
      { name: "b", locations: ["app/b/index.js", "app/b/package.json"], layer: layer("1") },
    ]);
  });

  test("of SPDX by syft", () => {
    const relation = (from: string, type: string, to: string, comment?: string) => ({
      spdxElementId: from,
      relationshipType: type,
      relatedSpdxElement: to,
      comment,
    });
    const overlap = "ownership-by-file-overlap: indicates that the parent package claims ownership";
    const document = {
      ...spdx(
        withPurl("pkg:deb/debian/python3-a@1", { SPDXID: "deb", name: "python3-a", licenseDeclared: "NONE" }),
        withPurl("pkg:pypi/a@1", {
          SPDXID: "pypi",
          name: "a",
          licenseConcluded: "NOASSERTION",
          licenseDeclared: "LicenseRef-1",
          sourceInfo:
            "acquired package info from installed python package manifest file: /usr/a/METADATA, /usr/a/RECORD",
        }),
        withPurl("pkg:pypi/b@1", { SPDXID: "pypi-b", name: "b", licenseDeclared: "BSD-3-Clause AND MIT" }),
      ),
      hasExtractedLicensingInfos: [{ licenseId: "LicenseRef-1", name: "Own licence", extractedText: "…" }],
      files: [
        { SPDXID: "file", fileName: "/usr/b/METADATA", comment: `layerID: ${layer("1")}` },
        { SPDXID: "other", fileName: "/usr/b/b.py" },
        { SPDXID: "status", fileName: "/var/lib/dpkg/status" },
      ],
      relationships: [
        relation("deb", "OTHER", "pypi", overlap),
        relation("pypi-b", "DEPENDENCY_OF", "pypi"),
        relation(
          "pypi-b",
          "OTHER",
          "file",
          "evident-by: indicates the package's existence is evident by the given file",
        ),
        relation("pypi-b", "CONTAINS", "other"),
        relation("deb", "CONTAINS", "status"),
        relation("image", "CONTAINS", "pypi"),
        { mood: 1 },
      ],
    };
    const sbom = readAll(document);
    expect(detailsOf(sbom)).toEqual([
      {
        name: "a",
        licenses: ["Own licence"],
        locations: ["/usr/a/METADATA", "/usr/a/RECORD"],
        owner: "pkg:deb/debian/python3-a@1",
      },
      { name: "b", licenses: ["BSD-3-Clause AND MIT"], locations: ["/usr/b/METADATA"], layer: layer("1") },
      { name: "python3-a", locations: ["/var/lib/dpkg/status"] },
    ]);
    expect(sbom).toMatchObject({ format: "SPDX 2.3", dependencies: [[0, 1]], refused: [] });
  });

  test.each([
    ["attribution texts", (texts: string[]) => ({ attributionTexts: texts })],
    [
      "annotations",
      (texts: string[]) => ({ annotations: texts.map((comment) => ({ comment, annotationType: "OTHER" })) }),
    ],
  ])("of SPDX by Trivy, the layer in %s", (_, layers) => {
    const document = spdx(
      { SPDXID: "lock", name: "node", primaryPackagePurpose: "APPLICATION", sourceInfo: "app/yarn.lock" },
      withPurl(purlOf("a"), {
        SPDXID: "a",
        name: "a",
        ...layers([`LayerDiffID: ${layer("2")}`, `LayerDigest: ${layer("1")}`]),
      }),
    );
    const relationships = [{ spdxElementId: "lock", relationshipType: "CONTAINS", relatedSpdxElement: "a" }];
    expect(detailsOf(readAll({ ...document, relationships }))).toEqual([
      { name: "a", locations: ["app/yarn.lock"], layer: layer("1") },
    ]);
  });

  test("of SPDX 2.2 by Trivy, which names purposes by ids, and files by packages", () => {
    const document = {
      ...spdx(
        { SPDXID: "SPDXRef-OperatingSystem-0a1b", name: "debian", versionInfo: "12" },
        { SPDXID: "SPDXRef-Application-0a1c", name: "app/yarn.lock" },
        withPurl(purlOf("a"), { SPDXID: "a", name: "a", hasFiles: ["file", "nowhere"] }),
      ),
      spdxVersion: "SPDX-2.2",
      files: [{ SPDXID: "file", fileName: "app/a/package.json" }],
      relationships: [
        { spdxElementId: "SPDXRef-Application-0a1c", relationshipType: "CONTAINS", relatedSpdxElement: "a" },
      ],
    };
    const sbom = readAll(document);
    expect(detailsOf(sbom)).toEqual([{ name: "a", locations: ["app/yarn.lock"] }]);
    expect(sbom.unmatched).toEqual([]);
    expect(detailsOf(readAll({ ...document, relationships: [] }))).toEqual([
      { name: "a", locations: ["app/a/package.json"] },
    ]);
  });

  test("of SPDX 3", () => {
    const element = (id: string) => ({
      type: "software_Package",
      spdxId: id,
      name: id,
      software_packageUrl: purlOf(id),
    });
    const relation = (from: string, relationshipType: string, ...to: string[]) => ({
      type: "Relationship",
      from,
      relationshipType,
      to,
    });
    const document = {
      "@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
      "@graph": [
        element("a"),
        element("b"),
        { type: "software_File", spdxId: "file", name: "/app/a" },
        { type: "simplelicensing_LicenseExpression", spdxId: "mit", simplelicensing_licenseExpression: "MIT" },
        relation("a", "dependsOn", "b"),
        relation("a", "contains", "file"),
        relation("a", "hasDeclaredLicense", "mit"),
      ],
    };
    const sbom = readAll(document);
    expect(detailsOf(sbom)).toEqual([{ name: "a", licenses: ["MIT"], locations: ["/app/a"] }, { name: "b" }]);
    expect(sbom).toMatchObject({ format: "SPDX 3", dependencies: [[0, 1]], refused: [] });
  });

  test("that cannot be read are left out alone", () => {
    const library = {
      type: "library",
      name: "a",
      version: "1",
      "bom-ref": 7,
      licenses: {},
      evidence: { occurrences: 1 },
    };
    const sbom = readAll({ ...cyclonedx(library), dependencies: [{ ref: [] }, { ref: "a", dependsOn: {} }] });
    expect(detailsOf(sbom)).toEqual([{ name: "a" }]);
    expect(sbom.refused).toEqual([]);
    expect([...new Set(sbom.unread)].sort()).toEqual([
      "components[].bom-ref",
      "components[].evidence.occurrences[]",
      "components[].licenses[]",
      "dependencies[]",
    ]);
  });

  test("of the same package in several places are one, whatever their order", () => {
    const at = (path: string, license: string) => ({
      type: "library",
      name: "a",
      purl: purlOf("a"),
      licenses: [{ license: { id: license } }],
      evidence: { occurrences: [{ location: path }] },
    });
    const components = [at("/b", "MIT"), at("/a", "ISC")];
    const sbom = readAll(cyclonedx(...components));
    expect(detailsOf(sbom)).toEqual([{ name: "a", licenses: ["ISC", "MIT"], locations: ["/a", "/b"] }]);
    expect(readAll(cyclonedx(...components.toReversed())).packages).toEqual(sbom.packages);
    const many = Array.from({ length: 150 }, (_, i) => at(`/${1000 + i}`, "MIT"));
    expect(readAll(cyclonedx(...many)).packages[0]!.locations).toHaveLength(100);
  });

  test("of packages that cannot be matched are kept, with the reason", () => {
    const { unmatched } = readAll(
      cyclonedx(
        { type: "library", name: "b", purl: "pkg:npm/b" },
        { type: "library", name: "a" },
        { type: "library", name: "c", version: "1" },
        { type: "library", name: "a" },
      ),
    );
    expect(unmatched).toEqual([
      { name: "a", version: "", reason: "has no version" },
      { name: "b", version: "", reason: "has no version", purl: "pkg:npm/b" },
      { name: "c", version: "1", reason: "has no type" },
    ]);
  });
});

test.each([
  [
    "SPDX",
    {
      ...spdx(withPurl("pkg:apk/a@1", { SPDXID: "SPDXRef-a", licenseConcluded: "MIT", checksums: [], mood: 1 }), {
        name: "b",
        versionInfo: "1",
        supplier: "Organization: b",
        primaryPackagePurpose: "LIBRARY",
      }),
      creationInfo: { mood: 1 },
      relationships: [{ mood: 1 }],
      files: [],
      documentNamespace: "urn:a",
      mood: 1,
    },
    ["mood", "packages[].mood"],
  ],
  [
    "CycloneDX",
    {
      ...cyclonedx({
        type: "library",
        "bom-ref": "a",
        name: "a",
        version: "1",
        licenses: [{ mood: 1 }],
        components: [{ type: "file", name: "b", components: [{ name: "c", hashes: [], mood: 1 }], mood: 1 }],
        properties: [{ name: "n", value: "v", mood: 1 }],
      }),
      $schema: "s",
      serialNumber: "urn:uuid:1",
      version: 1,
      metadata: { mood: 1 },
      dependencies: [{ mood: 1 }],
      mood: 1,
    },
    ["components[].mood", "components[].mood", "components[].properties[].mood", "mood"],
  ],
])("%s: unknown members are reported, those ignored on purpose are not", (_, document, expected) => {
  expect(readAll(document).unread.sort()).toEqual(expected);
});
