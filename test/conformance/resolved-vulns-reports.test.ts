import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { beforeAll, expect, it } from "vitest";
import type { DocumentAdvisorySchema } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { FeedRefusal, readAdvisories, readSbom } from "../../src/feeds/index.ts";
import type { Json } from "./contract.ts";
import { importDocuments, importImages, importMetadata, importPackages } from "./feed-fixtures.ts";
import { digestOf, freshName, freshUid, makeGroup, makeMember, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer, protocols } from "./platform.ts";

const needed = ["CAP_APK_LIST", "CAP_REPO_LIST", "CAP_MANIFEST_METADATA_LIST", "CAP_TAG_LIST"];
const range = { startTime: "2026-03-01T00:00:00.000Z", endTime: "2026-03-05T00:00:00.000Z" };

function at(time: string) {
  return timestampFromDate(new Date(time));
}

/** A document whose advisories are about one package: an apk unless told. */
function documentOf(id: string, advisories: MessageInitShape<typeof DocumentAdvisorySchema>[], kind = "apk") {
  return { id, advisories: advisories.map((each) => ({ packageUrl: `pkg:${kind}/${id}`, ...each })) };
}

function fixed(time: string, fixedVersion: string) {
  return { timestamp: at(time), data: { case: "fixed" as const, value: { fixedVersion } } };
}

onEveryServer("resolved vulnerability reports", (platform) => {
  let group: string;
  let repo: Json;

  beforeAll(async () => {
    group = (await makeGroup(platform())).uid;
    repo = await makeRepo(platform(), group, { name: freshName("image") });
    await makeTag(platform(), repo.uid, { name: "latest", digest: digestOf(1) });
    await makeTag(platform(), repo.uid, { name: "old", digest: digestOf(2) });
    await makeTag(platform(), repo.uid, { name: "empty", digest: digestOf(3) });
    await importImages(platform(), repo.uid, {
      digest: digestOf(1),
      platforms: [
        { architecture: "amd64", digest: digestOf(11) },
        { architecture: "arm64", digest: digestOf(12) },
      ],
    });
    const libssl = { name: "libssl3", origin: "openssl-of-reports" };
    await importPackages(
      platform(),
      repo.uid,
      digestOf(11),
      { ...libssl, version: "3.3.1-r2" },
      { name: "curl-of-reports", version: "8.10.0-r0" },
      { name: "zlib-of-reports", version: "1.3-r1" },
      { name: "lib-of-reports", version: "2.0.0-rc.1", type: "npm" },
    );
    await importPackages(
      platform(),
      repo.uid,
      digestOf(12),
      { ...libssl, version: "3.3.1-r2" },
      { name: "zlib-of-reports", version: "1.3-r0" },
    );
    await importPackages(platform(), repo.uid, digestOf(3));
    await importPackages(platform(), repo.uid, digestOf(2), { ...libssl, version: "3.3.0-r9" });
    await importDocuments(
      platform(),
      documentOf("openssl-of-reports", [
        {
          id: "ADV-1",
          aliases: ["CVE-2026-1", "GHSA-1"],
          events: [
            { timestamp: at("2026-02-01T00:00:00Z"), data: { case: "detection", value: {} } },
            fixed("2026-03-02T23:59:59.999Z", "3.3.1-r1"),
          ],
        },
        { id: "ADV-2", aliases: ["CVE-2026-2"], events: [fixed("2026-03-02T00:00:00Z", "3.3.0-r9")] },
        { id: "ADV-3", events: [fixed("2026-03-03T12:00:00Z", "3.3.1-r10")] }, // not yet in any image
        { id: "ADV-4", events: [fixed("2026-03-06T00:00:00Z", "1.0-r0")] }, // after the range
        { id: "ADV-5", events: [fixed("2026-02-28T23:59:59.999Z", "1.0-r0")] }, // before it
      ]),
      documentOf("libssl3", [{ id: "ADV-1", aliases: ["ALIAS-1"], events: [fixed("2026-03-02T08:00:00Z", "3.0-r0")] }]),
      documentOf("curl-of-reports", [{ id: "ADV-6", events: [fixed("2026-03-05T23:00:00Z", "8.9.1-r3")] }]),
      // One platform is behind.
      documentOf("zlib-of-reports", [{ id: "ADV-7", events: [fixed("2026-03-04T00:00:00Z", "1.3-r1")] }]),
      documentOf("lib-of-reports", [{ id: "ADV-8", events: [fixed("2026-03-04T00:00:00Z", "2.0.0")] }], "npm"),
    );
    await importMetadata(platform(), {
      id: "CVE-2026-1",
      aliases: ["GHSA-1"],
      severities: [{ type: 2, score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" }],
    });
  });

  /** The ids of each day. */
  async function idsByDay(request: Json, as = platform().admin): Promise<Record<string, string[]>> {
    const { resolvedVulnsReports } = await platform().read(
      "ListResolvedVulnsReports",
      { ...range, ...request },
      { as },
    );
    const days = resolvedVulnsReports.map(({ date, resolvedVulns }: Json) => [
      date.slice(5, 10),
      resolvedVulns.map(({ id }: Json) => id),
    ]);
    return Object.fromEntries(days);
  }
  const nothing = { "03-01": [], "03-02": [], "03-03": [], "03-04": [], "03-05": [] };
  const latest = { ...nothing, "03-02": ["ADV-1", "ADV-2"], "03-05": ["ADV-6"] };

  it("lists what was fixed on each day for packages that the image holds, days without news included", async () => {
    expect(await idsByDay({ images: [`${repo.uid}:latest`] })).toEqual(latest);
    expect(await idsByDay({ images: [repo.name] })).toEqual(latest);
    expect(await idsByDay({ images: [`${repo.name}:old`] })).toEqual({ ...nothing, "03-02": ["ADV-1", "ADV-2"] });
    expect(await idsByDay({ images: [`${repo.name}:old`, `${repo.uid}:latest`] })).toEqual(latest);
  });

  it("answers a repo's references as REST's texts, over gRPC and Connect", async () => {
    const text = await platform().ok("ListResolvedVulnsReports", { ...range, images: [`${repo.uid}:latest`] });
    for (const over of protocols.filter((protocol) => protocol !== "rest")) {
      for (const imageRefs of [[{ repo: repo.uid }], [{ repo: repo.name, tags: ["latest"] }]]) {
        const answer = await platform().ok("ListResolvedVulnsReports", { ...range, imageRefs }, { over });
        expect(answer, over).toEqual(text);
      }
      const many = await platform().ok(
        "ListResolvedVulnsReports",
        { ...range, imageRefs: [{ repo: repo.uid, tags: ["empty", "old"] }] },
        { over },
      );
      expect(many.resolvedVulnsReports[1].resolvedVulns.map(({ id }: Json) => id)).toEqual(["ADV-1", "ADV-2"]);
    }
  });

  it("gives aliases and ratings, a uid that stays, and the day as both times", async () => {
    const ask = () => platform().read("ListResolvedVulnsReports", { ...range, images: [`${repo.name}:latest`] });
    const { resolvedVulnsReports: reports, totalCount, skipped } = await ask();
    expect({ totalCount, skipped }).toEqual({ totalCount: "5", skipped: 0 });
    const [, second] = reports;
    expect(second).toMatchObject({
      date: "2026-03-02T00:00:00.000Z",
      createTime: "2026-03-02T00:00:00.000Z",
      updateTime: "2026-03-02T00:00:00.000Z",
    });
    expect(second.resolvedVulns).toEqual([
      {
        id: "ADV-1",
        aliases: ["ALIAS-1", "CVE-2026-1", "GHSA-1"],
        cvssSeverities: [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" }],
      },
      { id: "ADV-2", aliases: ["CVE-2026-2"], cvssSeverities: [] },
    ]);
    expect(new Set(reports.map(({ uid }: Json) => uid)).size).toBe(5);
    expect((await ask()).resolvedVulnsReports).toEqual(reports);
  });

  it("takes the whole days of both ends", async () => {
    const request = { images: [repo.name], startTime: "2026-03-02T23:00:00Z", endTime: "2026-03-05T00:00:00Z" };
    expect(await idsByDay(request)).toEqual({
      "03-02": ["ADV-1", "ADV-2"],
      "03-03": [],
      "03-04": [],
      "03-05": ["ADV-6"],
    });
    const instant = "2026-03-02T12:00:00Z";
    expect(await idsByDay({ ...request, startTime: instant, endTime: instant })).toEqual({
      "03-02": ["ADV-1", "ADV-2"],
    });
  });

  it("pages, skips and orders as every list does", async () => {
    const images = [repo.name];
    for (const orderBy of ["", "date desc", "uid", "create_time desc,uid"]) {
      const request = { ...range, images, orderBy };
      const whole = (await platform().ok("ListResolvedVulnsReports", request)).resolvedVulnsReports;
      const paged: Json[] = [];
      let page = await platform().read("ListResolvedVulnsReports", { ...request, pageSize: 2 });
      for (;;) {
        paged.push(...page.resolvedVulnsReports);
        expect(page.totalCount).toBe("5");
        if (page.nextPageToken === undefined) break;
        page = await platform().read("ListResolvedVulnsReports", { pageSize: 2, pageToken: page.nextPageToken });
      }
      expect(paged, orderBy).toEqual(whole);
      const skipped = await platform().read("ListResolvedVulnsReports", { ...request, skip: 3 });
      expect(skipped).toMatchObject({ skipped: 3, resolvedVulnsReports: whole.slice(3) });
    }
    const { resolvedVulnsReports: last } = await platform().ok("ListResolvedVulnsReports", {
      ...range,
      images,
      orderBy: "date desc",
      pageSize: 1,
    });
    expect(last[0].date).toBe("2026-03-05T00:00:00.000Z");
    const { nextPageToken: pageToken } = await platform().ok("ListResolvedVulnsReports", {
      ...range,
      images,
      pageSize: 1,
    });
    await platform().refused(
      "ListResolvedVulnsReports",
      { ...range, images: ["other"], pageToken },
      "INVALID_ARGUMENT",
    );
  });

  it("adds nothing for an image without packages", async () => {
    expect(await idsByDay({ images: [`${repo.name}:empty`] })).toEqual(nothing);
  });

  it("says that an image does not exist, also where it may not be seen", async () => {
    const missing = async (image: string, as = platform().admin) => {
      const images = [`${repo.name}:latest`, image];
      const { message, details } = await platform().refused(
        "ListResolvedVulnsReports",
        { ...range, images: as === platform().admin ? images : [image] },
        "NOT_FOUND",
        { as },
      );
      const name = image.includes(":") ? image : `${image}:latest`;
      expect(message).toBe(`Not found: Image ${JSON.stringify(name)} does not exist`);
      expect(details[1]).toMatchObject({ resourceType: "registry.platform.internal/Image", resourceName: name });
    };
    for (const image of ["nowhere", `${repo.name}:nowhere`, `${freshUid(group)}:latest`, "Not A Name"])
      await missing(image);
    const elsewhere = await makeMember(platform(), (await makeGroup(platform())).uid, needed);
    const less = await makeMember(platform(), group, needed.slice(1));
    for (const { token } of [elsewhere, less])
      for (const image of [repo.uid, repo.name, `${repo.name}:nowhere`, freshUid(group)]) await missing(image, token);
    const here = await makeMember(platform(), group, needed);
    expect(await idsByDay({ images: [repo.name] }, here.token)).toEqual(latest);
  });

  it("says which images have no bill of materials", async () => {
    await makeTag(platform(), repo.uid, { name: "unlisted", digest: digestOf(4) });
    await makeTag(platform(), repo.uid, { name: "unlisted-too", digest: digestOf(5) });
    const names = [`${repo.name}:unlisted`, `${repo.name}:unlisted-too`];
    const { message, details } = await platform().refused(
      "ListResolvedVulnsReports",
      { ...range, images: [`${repo.name}:latest`, ...names] },
      "FAILED_PRECONDITION",
    );
    expect(message).toBe(
      `Precondition failed: ${names.map((name) => `image "${name}" has no software bill of materials`).join("; ")}`,
    );
    expect(details[1].violations).toEqual(
      names.map((subject) => ({
        type: "SBOM_MISSING",
        subject,
        description: `image "${subject}" has no software bill of materials`,
      })),
    );
    for (let i = 0; i < 25; i++) await makeTag(platform(), repo.uid, { name: `unlisted-${i}`, digest: digestOf(5) });
    const many = Array.from({ length: 25 }, (_, i) => `${repo.name}:unlisted-${i}`);
    const refused = await platform().refused(
      "ListResolvedVulnsReports",
      { ...range, images: many },
      "FAILED_PRECONDITION",
    );
    expect(refused.details[1].violations).toHaveLength(20);
    expect(refused.message).toContain("(25 images have none)");
    await importPackages(platform(), repo.uid, digestOf(4));
    expect(await idsByDay({ images: names.slice(0, 1) })).toEqual(nothing);
  });

  it("matches packages by type, namespace and distribution, not by name alone", async () => {
    const image = await makeRepo(platform(), group, { name: freshName("kinds") });
    await makeTag(platform(), image.uid, { name: "latest", digest: digestOf(6) });
    const name = freshName("openssl");
    await importPackages(
      platform(),
      image.uid,
      digestOf(6),
      { name, version: "999", type: "npm" },
      { name: `${name}-tools`, version: "9-r0", type: "apk", namespace: "alpine", distro: "alpine-3.19.1" },
    );
    const on = (day: number, id: string, packageUrl: string, version = "1-r0") => ({
      id,
      packageUrl,
      events: [fixed(`2026-03-0${day}T00:00:00Z`, version)],
    });
    await importDocuments(
      platform(),
      documentOf(name, [
        on(1, "KIND-1", `pkg:apk/wolfi/${name}`),
        on(1, "KIND-2", `pkg:deb/debian/${name}`),
        on(2, "KIND-3", `pkg:npm/${name}`, "1.0.0"),
      ]),
      documentOf(`${name}-tools`, [
        on(3, "KIND-4", `pkg:apk/wolfi/${name}-tools`),
        on(3, "KIND-5", `pkg:apk/alpine/${name}-tools?distro=alpine-3.18`),
        on(4, "KIND-6", `pkg:apk/alpine/${name}-tools?distro=alpine-3.19`),
        on(5, "KIND-7", `pkg:apk/${name}-tools`),
      ]),
    );
    expect(await idsByDay({ images: [image.name] })).toEqual({
      ...nothing,
      "03-02": ["KIND-3"],
      "03-04": ["KIND-6"],
      "03-05": ["KIND-7"],
    });
  });

  it("names packages and documents whose type is unknown, and matches none of them", async () => {
    const image = await makeRepo(platform(), group, { name: freshName("untyped") });
    await makeTag(platform(), image.uid, { name: "latest", digest: digestOf(7) });
    const [typed, untyped] = [freshName("typed"), freshName("untyped")];
    await importPackages(
      platform(),
      image.uid,
      digestOf(7),
      { name: typed, version: "9-r0" },
      { name: untyped, version: "9-r0", type: "" },
    );
    const events = [fixed("2026-03-02T00:00:00Z", "1-r0")];
    await importDocuments(
      platform(),
      documentOf(typed, [{ id: "UNTYPED-1", events, packageUrl: "" }]),
      documentOf(untyped, [{ id: "UNTYPED-2", events }]),
    );
    const page = await platform().read("ListResolvedVulnsReports", { ...range, images: [image.name], pageSize: 1 });
    const said = {
      untypedPackages: [untyped],
      untypedPackageCount: 1,
      untypedDocuments: [typed],
      untypedDocumentCount: 1,
    };
    expect(page).toMatchObject(said);
    expect(await platform().read("ListResolvedVulnsReports", { pageToken: page.nextPageToken })).toMatchObject(said);
    expect(await idsByDay({ images: [image.name] })).toEqual(nothing);
    const whole = await platform().read("ListResolvedVulnsReports", { ...range, images: [`${repo.name}:latest`] });
    expect(whole).toMatchObject({ untypedPackages: [], untypedPackageCount: 0, untypedDocumentCount: 0 });
  });

  /** The report of an image with a bill of materials, after the import of a CVE-N for each of these fixes. */
  async function reportOn(sbom: Json, fixes: readonly string[]): Promise<Json> {
    const image = await makeRepo(platform(), group, { name: freshName("bill") });
    await makeTag(platform(), image.uid, { name: "latest", digest: digestOf(8) });
    const refuse = (reason: string) => {
      throw new Error(reason);
    };
    const { packages } = readSbom(Buffer.from(JSON.stringify(sbom)), { refuse, unread: refuse });
    await importPackages(platform(), image.uid, digestOf(8), ...packages);
    const vex = {
      "@context": "https://openvex.dev/ns/v0.2.0",
      "@id": "https://vex.example.com/1",
      author: "Example",
      timestamp: "2026-03-02T00:00:00Z",
      version: 1,
      statements: fixes.map((purl, i) => ({
        vulnerability: { name: `CVE-${i + 1}` },
        products: [{ "@id": purl }],
        status: "fixed",
      })),
    };
    for (const read of readAdvisories(vex, refuse)) {
      if (read instanceof FeedRefusal) throw read;
      await importDocuments(platform(), read.document);
    }
    return platform().read("ListResolvedVulnsReports", { ...range, images: [image.name] });
  }

  function cycloneDx(...components: Json[]): Json {
    const all = components.map((component) => ({ type: "library", ...component }));
    return { bomFormat: "CycloneDX", specVersion: "1.6", components: all };
  }

  const resolvedOn = ({ resolvedVulnsReports: [, second] }: Json): string[] =>
    second.resolvedVulns.map(({ id }: Json) => id);

  it("compares versions by the order of their type", async () => {
    const component = (purl: string) => ({ name: purl.replace(/.*\//, ""), purl });
    const sbom = cycloneDx(
      component("pkg:golang/example.com/m@v1.2.4-0.20191109021931-daa7c04131f5"),
      component("pkg:pypi/example-dev@2.0.dev3"),
      component("pkg:npm/example-alpha@1.0.0-alpha.1"),
      component("pkg:maven/g/example-c@3.1.4"),
      component("pkg:pypi/example-epoch@1!1.0"),
      component("pkg:gem/example-gem@1.0.1.rc1"),
    );
    const report = await reportOn(sbom, [
      "pkg:golang/example.com/m@v1.2.4",
      "pkg:pypi/example-dev@2.0a1",
      "pkg:npm/example-alpha@1.0.0-alpha.beta",
      "pkg:maven/g/example-c@3.1.4E",
      "pkg:pypi/example-epoch@2.0",
      "pkg:gem/example-gem@1.0.0",
    ]);
    expect(resolvedOn(report)).toEqual(["CVE-5", "CVE-6"]);
    expect(report).toMatchObject({ uncomparedPackages: [], uncomparedPackageCount: 0 });
  });

  it("names packages whose version cannot be compared, and takes equal ones for fixed", async () => {
    const sbom = cycloneDx(
      { name: "tool", purl: "pkg:generic/example-tool@2024a" },
      { name: "other", purl: "pkg:generic/example-other@2024a" },
      { name: "m", purl: "pkg:golang/example.com/devel@(devel)" },
    );
    const report = await reportOn(sbom, [
      "pkg:generic/example-tool@2024a",
      "pkg:generic/example-other@2023c",
      "pkg:golang/example.com/devel@v1.0.0",
    ]);
    expect(resolvedOn(report)).toEqual(["CVE-1"]);
    expect(report).toMatchObject({
      uncomparedPackages: ["example-other", "example.com/devel"],
      uncomparedPackageCount: 2,
    });
  });

  it("finds packages of Debian by source and epoch, as Trivy and syft write them", async () => {
    const trivy = cycloneDx(
      {
        name: "example-utils",
        version: "1:2.33.1-0.2",
        purl: "pkg:deb/debian/example-utils@2.33.1-0.2?arch=amd64&distro=debian-12.5&epoch=1",
      },
      {
        name: "libmapper1.02.1",
        version: "2:1.02.175-2.1",
        purl: "pkg:deb/debian/libmapper1.02.1@1.02.175-2.1?arch=amd64&distro=debian-12.5&epoch=2",
        properties: Object.entries({ SrcName: "example-lvm2", SrcVersion: "2.03.11", SrcRelease: "2.1" }).map(
          ([name, value]) => ({ name: `aquasecurity:trivy:${name}`, value }),
        ),
      },
    );
    const syft = cycloneDx(
      { name: "example-utils", purl: "pkg:deb/debian/example-utils@1%3A2.33.1-0.2?distro=debian-12" },
      {
        name: "libmapper1.02.1",
        purl: "pkg:deb/debian/libmapper1.02.1@2%3A1.02.175-2.1?distro=debian-12&upstream=example-lvm2%402.03.11-2.1",
      },
    );
    const spdx = {
      spdxVersion: "SPDX-2.3",
      packages: [
        [
          "example-utils",
          "1:2.33.1-0.2",
          "example-utils@2.33.1-0.2?epoch=1",
          "built package from: example-utils 1:2.33.1-0.2",
        ],
        [
          "libmapper1.02.1",
          "2:1.02.175-2.1",
          "libmapper1.02.1@1.02.175-2.1?epoch=2",
          "built package from: example-lvm2 2.03.11-2.1",
        ],
      ].map(([name, versionInfo, purl, sourceInfo]) => ({
        name,
        versionInfo,
        sourceInfo,
        externalRefs: [
          { referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: `pkg:deb/debian/${purl}` },
        ],
      })),
    };
    const fixes = [
      "pkg:deb/debian/example-utils@1%3A2.33.1-0.1?distro=debian-12",
      "pkg:deb/debian/example-utils@2.33.1-0.3?epoch=1",
      "pkg:deb/debian/example-lvm2@2.03.10-1",
      "pkg:deb/debian/example-lvm2@2.03.11-3",
    ];
    for (const sbom of [trivy, syft, spdx]) expect(resolvedOn(await reportOn(sbom, fixes))).toEqual(["CVE-1", "CVE-3"]);
  });

  it("finds packages of RPM by their source, whose file has no epoch", async () => {
    const purls = [
      "pkg:rpm/redhat/example-libs@3.0.7-2.el9?epoch=1&upstream=example-ssl-3.0.7-2.el9.src.rpm",
      "pkg:rpm/redhat/example-mapper@1.02-3.el9?epoch=9&upstream=example-volumes-2.03-3.el9.src.rpm",
    ];
    const sbom = cycloneDx(...purls.map((purl) => ({ name: "n", purl })));
    const fixes = [
      "pkg:rpm/redhat/example-ssl@3.0.7-1.el9?epoch=1",
      "pkg:rpm/redhat/example-ssl@3.0.7-3.el9?epoch=1",
      "pkg:rpm/redhat/example-volumes@2.02-1.el9?epoch=1", // The source may have another epoch than the package.
      "pkg:rpm/redhat/example-volumes@2.03-3.el9",
    ];
    expect(resolvedOn(await reportOn(sbom, fixes))).toEqual(["CVE-1", "CVE-4"]);
  });

  it("finds packages of Alpine by the release alone, and by names in the letters of the document", async () => {
    const sbom = cycloneDx(
      { name: "example-musl", purl: "pkg:apk/alpine/example-musl@1.2.4-r2?arch=x86_64&distro=3.19.1" },
      { name: "Example-R", purl: "pkg:apk/alpine/Example-R@4.3.2-r0?distro=3.19.1" },
    );
    await importDocuments(
      platform(),
      documentOf("Example-R", [{ id: "CVE-R", events: [fixed("2026-03-02T00:00:00Z", "4.3.1-r0")] }], "apk/alpine"),
    );
    const fixes = [
      "pkg:apk/alpine/example-musl@1.2.4-r1?distro=alpine-3.19",
      "pkg:apk/alpine/example-musl@1.2.4-r1?distro=alpine-3.18",
    ];
    expect(resolvedOn(await reportOn(sbom, fixes))).toEqual(["CVE-1", "CVE-R"]);
  });

  it("compares names as their type defines it", async () => {
    const sbom = cycloneDx(
      { name: "Example-Case", purl: "pkg:composer/Acme/Example-Case@6.0.1" },
      { name: "Example_Py", purl: "pkg:pypi/Example_Py@2.0" },
      { name: "Example-Tool", purl: "pkg:hex/Acme/Example-Tool@1.0.0" },
      { name: "Example-Cased", purl: "pkg:npm/Example-Cased@1.0.0" },
    );
    const report = await reportOn(sbom, [
      "pkg:composer/acme/example-case@6.0.0",
      "pkg:pypi/example-py@1.0",
      "pkg:hex/acme/example-tool@1.0.0",
      "pkg:npm/example-cased@1.0.0",
    ]);
    expect(resolvedOn(report)).toEqual(["CVE-1", "CVE-2", "CVE-3"]);
  });

  it("refuses a name that several repos have, of those that the caller may see", async () => {
    const other = await makeGroup(platform());
    const twin = await makeRepo(platform(), other.uid, { name: freshName("twin") });
    const here = await makeRepo(platform(), group, { name: twin.name });
    const { message } = await platform().refused(
      "ListResolvedVulnsReports",
      { ...range, images: [twin.name] },
      "INVALID_ARGUMENT",
    );
    expect(message).toContain(`images: more than one repo is called "${twin.name}"`);
    const member = await makeMember(platform(), group, needed);
    await makeTag(platform(), here.uid, { name: "latest", digest: digestOf(1) });
    await importPackages(platform(), here.uid, digestOf(1));
    expect(await idsByDay({ images: [twin.name] }, member.token)).toEqual(nothing);
    expect(await idsByDay({ images: [here.uid] })).toEqual(nothing);
  });

  it("refuses what is not a question", async () => {
    const images = [repo.name];
    const bad: [request: Json, part: string][] = [
      [{ ...range }, "images: is required: at least one image"],
      [{ ...range, images: [":latest"] }, "images[0]: "],
      [{ ...range, images: ["repo:"] }, "images[0]: "],
      [{ images, endTime: range.endTime }, "start_time: is required"],
      [{ images, startTime: range.startTime }, "end_time: is required"],
      [{ images, startTime: range.endTime, endTime: range.startTime }, "end_time: must not be before start_time"],
      [
        { images, startTime: "2010-01-01T00:00:00Z", endTime: "2026-01-01T00:00:00Z" },
        "end_time: must be within 3660 days",
      ],
      [{ ...range, images, orderBy: "id" }, "order_by: "],
    ];
    for (const [request, part] of bad) {
      const { message } = await platform().refused("ListResolvedVulnsReports", request, "INVALID_ARGUMENT");
      expect(message).toContain(part);
    }
    const long = { images, startTime: "0001-01-01T00:00:00Z", endTime: "0001-01-02T00:00:00Z" };
    expect((await platform().read("ListResolvedVulnsReports", long)).totalCount).toBe("2");
  });
});
