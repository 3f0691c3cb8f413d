/**
 * Files as feeds, scanners, generators of bills of materials and registries publish them: imported by the commands, and
 * what the API answers then.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere } from "../cli/run-here.ts";
import { digestOf as digestOfContent, fakeRegistry, json, putManifest } from "../feeds/registries/oci/fake-registry.ts";
import type { Json } from "./contract.ts";
import { digestOf, freshName, makeGroup, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const digest = digestOf(1);

/** A folder of files, whose contents are JSON unless they are text. */
async function folderOf(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "published-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

function cycloneDx(...purls: readonly string[]) {
  const components = purls.map((purl) => ({ type: "library", name: "as the package URL says", purl }));
  return { bomFormat: "CycloneDX", specVersion: "1.6", components };
}

/** A document that says of each product that the version of its package URL fixes a vulnerability: CVE-1, CVE-2. */
function fixedIn(...purls: readonly string[]) {
  return {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://vex.example.com/1",
    author: "Example Security",
    timestamp: "2026-11-20T00:00:00Z",
    version: 1,
    statements: purls.map((purl, i) => ({
      vulnerability: { name: `CVE-${i + 1}` },
      products: [{ "@id": purl }],
      status: "fixed",
    })),
  };
}

onEveryServer("published files", (platform) => {
  async function run(...args: readonly string[]) {
    const { code, stdout, stderr } = await runHere(["import", ...args, "--database", platform().databaseUrl, "--json"]);
    return { code, stderr, summary: JSON.parse(stdout) as Json };
  }

  async function makeImage() {
    const group = (await makeGroup(platform())).uid as string;
    const repo = (await makeRepo(platform(), group)).uid as string;
    await makeTag(platform(), repo, { name: "latest", digest });
    return { group, repo };
  }

  /** The ids of the documents that one of the advisories is in. */
  const documentsWith = async (...cves: readonly string[]) =>
    ((await platform().read("ListDocuments", { cves, orderBy: "id" })).documents as Json[]).map(({ id }) => id);

  /** The vulnerabilities that the report says are resolved in an image. */
  async function resolvedIn(sbom: unknown, ...fixes: readonly string[]) {
    const { group, repo } = await makeImage();
    const folder = await folderOf({ "image.json": sbom, "fixes.json": fixedIn(...fixes) });
    const feed = ["--group", group, "--feed", freshName("feed")];
    expect(await run("advisories", join(folder, "fixes.json"), ...feed)).toMatchObject({ code: 0, stderr: "" });
    const imported = await run("sbom", join(folder, "image.json"), "--repo", repo, "--digest", digest);
    expect(imported).toMatchObject({ code: 0, stderr: "" });
    const { resolvedVulnsReports } = await platform().read("ListResolvedVulnsReports", {
      images: [`${repo}:latest`],
      startTime: "2026-11-19T00:00:00Z",
      endTime: "2026-11-22T00:00:00Z",
    });
    return resolvedVulnsReports.flatMap((day: Json) => day.resolvedVulns.map(({ id }: Json) => id));
  }

  test.each<[string, [image: string, fix: string][], string[]]>([
    [
      "before their fix in the order of their type",
      [
        ["pkg:golang/example.com/m@v1.2.4-0.20191109021931-daa7c04131f5", "pkg:golang/example.com/m@v1.2.4"],
        ["pkg:pypi/example-dev@2.0.dev3", "pkg:pypi/example-dev@2.0a1"],
      ],
      [],
    ],
    [
      "whose epoch is a qualifier",
      [["pkg:deb/debian/tool@2.33.1-0.2?arch=amd64&distro=debian-12.5&epoch=1", "pkg:deb/debian/tool@1%3A2.33.1-0.1"]],
      ["CVE-1"],
    ],
    ["in the letters of their authors", [["pkg:composer/Acme/Case@6.0.1", "pkg:composer/acme/case@6.0.0"]], ["CVE-1"]],
  ])("report packages %s", async (_, packages, resolved) => {
    const sbom = cycloneDx(...packages.map(([inImage]) => inImage));
    expect(await resolvedIn(sbom, ...packages.map(([, fix]) => fix))).toEqual(resolved);
  });

  const purl = "pkg:npm/a@1.0.0";
  test.each<[string, object]>([
    [
      "an export of GitHub",
      {
        sbom: {
          spdxVersion: "SPDX-2.3",
          packages: [
            {
              SPDXID: "SPDXRef-a",
              name: "npm:a",
              versionInfo: "1.0.0",
              externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
            },
          ],
        },
      },
    ],
    [
      "an in-toto statement",
      {
        _type: "https://in-toto.io/Statement/v0.1",
        predicateType: "https://cyclonedx.org/bom",
        subject: [{ name: "example", digest: { sha256: "a".repeat(64) } }],
        predicate: cycloneDx(purl),
      },
    ],
  ])("list the packages of an image in %s", async (_, sbom) => {
    expect(await resolvedIn(sbom, purl)).toEqual(["CVE-1"]);
  });

  test("of a checkout of OSV records are imported and pruned, beside files that are none", async () => {
    const [kept, gone] = [freshName("X"), freshName("X")];
    const record = (id: string) => ({ id, modified: "2026-01-01T00:00:00Z", summary: "a record" });
    const before = await folderOf({ [`${kept}.json`]: record(kept), [`${gone}.json`]: record(gone) });
    expect(await run("osv", before, "--feed", kept)).toMatchObject({ code: 0, summary: { added: 2 } });
    const checkout = await folderOf({
      [`vulns/${kept}.json`]: record(kept),
      "triage/false_positives.yaml": "CVE-2026-1:\n  reason: not in this ecosystem\n",
    });
    const pruned = await run("osv", checkout, "--feed", kept, "--prune");
    expect(pruned).toMatchObject({ code: 0, stderr: "", summary: { unchanged: 1, removed: 1, passedOver: 1 } });
    const { vulnerabilityMetadata } = await platform().read("ListVulnerabilityMetadata", { ids: [kept, gone] });
    expect(vulnerabilityMetadata.map(({ id }: Json) => id)).toEqual([kept]);
  });

  test("of a VEX repository are imported and pruned, beside its indexes", async () => {
    const { uid: group } = await makeGroup(platform());
    const [name, cve] = [freshName("example.com/tool"), freshName("CVE")];
    const id = `pkg:golang/${name}`;
    const statement = {
      vulnerability: { name: cve },
      products: [{ "@id": id }],
      status: "not_affected",
      justification: "vulnerable_code_not_present",
    };
    const repository = await folderOf({
      "index.json": { updated_at: "2026-03-23T00:00:00Z", packages: [{ id, location: "pkg/tool.openvex.json" }] },
      "pkg/manifest.json": { ID: id, Sources: [{ Path: "tool.openvex.json", URL: "https://git.example.com/tool" }] },
      "pkg/tool.openvex.json": { ...fixedIn(), statements: [statement] },
    });
    const args = [repository, "--group", group, "--feed", freshName("hub"), "--prune"] as const;
    const first = await run("advisories", ...args);
    expect(first).toMatchObject({ code: 0, stderr: "", summary: { added: 2, passedOver: 2 } });
    expect(await run("advisories", ...args)).toMatchObject({ code: 0, summary: { unchanged: 2, passedOver: 2 } });
    expect(await documentsWith(cve)).toEqual([name]);
  });

  test("name packages as their type defines it", async () => {
    const { uid: group } = await makeGroup(platform());
    const own = freshName("Own");
    const folder = await folderOf({
      "a.openvex.json": fixedIn(
        `pkg:github/${own}-Org/Tool-Name@1`,
        `pkg:bitbucket/${own}/Tool@1`,
        `pkg:composer/${own}/Case@1`,
        `pkg:npm/${own}@1.0.0?in%20production=true`,
      ),
    });
    const { code, stderr, summary } = await run("advisories", folder, "--group", group, "--feed", own);
    expect([code, summary]).toEqual([1, expect.objectContaining({ added: 6, refused: 1 })]);
    expect(stderr).toContain("statements[3].products[0].@id: is not a package URL");
    const { advisories } = await platform().read("ListAdvisories", { uidp: { childrenOf: group } });
    const named = own.toLowerCase();
    expect(advisories.map(({ packageUrl }: Json) => packageUrl).sort()).toEqual([
      `pkg:bitbucket/${named}/tool@1`,
      `pkg:composer/${named}/case@1`,
      `pkg:github/${named}-org/tool-name@1`,
    ]);
  });

  test("of several repositories say what each fixes in a package", async () => {
    const { uid: group } = await makeGroup(platform());
    const [name, first, second] = [freshName("musl"), freshName("CVE"), freshName("CVE")];
    const secdb = (distroversion: string, reponame: string, secfixes: Json) => ({
      apkurl: "{{urlprefix}}/{{distroversion}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
      archs: ["x86_64"],
      reponame,
      urlprefix: "https://dl-cdn.example.com/alpine",
      distroversion,
      packages: [{ pkg: { name, secfixes } }],
    });
    const files = {
      "v3.18/main.json": secdb("v3.18", "main", { "1.2.3-r1": [first] }),
      "v3.19/main.json": secdb("v3.19", "main", { "1.2.4-r0": [first], "1.2.4-r2": [second] }),
      "v3.19/community.json": secdb("v3.19", "community", { "0": [second] }),
    };
    const into = ["--group", group, "--feed", name, "--distribution", "alpine", "--prune"];
    const imported = await run("advisories", await folderOf(files), ...into);
    expect(imported).toMatchObject({ code: 0, stderr: "", summary: { read: 7, added: 7 } });
    /** What the document says of the package: vulnerability, release, and versions. */
    const said = async () => {
      const [document] = (await platform().read("ListDocuments", { id: name })).documents;
      const each = document.advisories.map(({ id, packageUrl, events }: Json) => [
        id,
        packageUrl.replace(/.*distro=/, ""),
        events.map(({ fixed }: Json) => fixed?.fixedVersion ?? "never affected").sort(),
      ]);
      return new Set(each);
    };
    const ofMain = [
      [first, "alpine-3.18", ["1.2.3-r1"]],
      [first, "alpine-3.19", ["1.2.4-r0"]],
    ];
    expect(await said()).toEqual(new Set([...ofMain, [second, "alpine-3.19", ["1.2.4-r2", "never affected"]]]));
    const { advisories } = await platform().read("ListAdvisories", { uidp: { childrenOf: group } });
    expect(advisories.map(({ advisoryId }: Json) => advisoryId).sort()).toEqual([first, second].sort());

    const renamed = { "2026-11-20.json": files["v3.19/main.json"], "other.json": files["v3.18/main.json"] };
    const pruned = await run("advisories", await folderOf(renamed), ...into);
    expect(pruned).toMatchObject({ code: 0, summary: { unchanged: 5, removed: 2 } });
    const contradicting = { ...renamed, "x.json": secdb("v3.19", "main", { "9": [first] }) };
    const refused = await run("advisories", await folderOf(contradicting), ...into);
    expect(refused).toMatchObject({ code: 1, summary: { unchanged: 5, refused: 1, removed: 0 } });
    expect(refused.stderr).toContain(`refused: x.json: "${name}" occurs twice in the feed`);
    expect(await said()).toEqual(new Set([...ofMain, [second, "alpine-3.19", ["1.2.4-r2"]]]));
  });

  test("of a repository may have equal entries of a package", async () => {
    const { uid: group } = await makeGroup(platform());
    const [name, id] = [freshName("musl"), freshName("CVE")];
    const pkg = (...ids: readonly string[]) => ({ pkg: { name, secfixes: { "1.2.4-r0": ids } } });
    const into = ["--group", group, "--feed", name, "--prune", "--distribution", "alpine"];
    const equal = await folderOf({ "main.json": { reponame: "main", packages: [pkg(id), pkg(id)] } });
    expect(await run("advisories", equal, ...into)).toMatchObject({ code: 0, stderr: "", summary: { read: 2 } });
    const other = await folderOf({ "main.json": { reponame: "main", packages: [pkg(id), pkg(id, "CVE-2026-2")] } });
    const refused = await run("advisories", other, ...into);
    expect(refused).toMatchObject({ code: 1, summary: { unchanged: 2, refused: 1, removed: 0 } });
    expect(refused.stderr).toContain(`refused: main.json: "${name}" occurs twice in the feed`);
  });

  test("of Maven may be beside build files of Ant", async () => {
    const folder = await folderOf({
      "build.xml": '<project name="app" default="jar"><target name="jar"/></project>',
      "app.pom": `<project><groupId>g</groupId><artifactId>${freshName()}</artifactId><version>1</version></project>`,
    });
    const imported = await run("artifacts", folder);
    expect(imported).toMatchObject({ code: 0, stderr: "", summary: { read: 1, added: 1, passedOver: 1 } });
  });

  test("of a scanner keep the version of CVSS that a vector names", async () => {
    const { repo } = await makeImage();
    const vector = "CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
    const folder = await folderOf({
      "trivy.json": {
        SchemaVersion: 2,
        ArtifactName: "example",
        Metadata: { RepoDigests: [`example@${digest}`] },
        Results: [
          {
            Target: "t",
            Vulnerabilities: [
              {
                VulnerabilityID: "CVE-2026-1",
                PkgName: "p",
                InstalledVersion: "1",
                Severity: "CRITICAL",
                CVSS: { nvd: { V3Vector: vector, V3Score: 9.8 } },
              },
            ],
          },
        ],
      },
    });
    expect(await run("vuln-report", join(folder, "trivy.json"), "--repo", repo)).toMatchObject({ code: 0, stderr: "" });
    const { items } = await platform().read("v1.Vulnerabilities.ListVulnReports", { repoId: repo });
    expect(items[0].vulnerabilities[0].cvss).toEqual([{ score: "9.8", version: "3.0", vector, source: "nvd" }]);
  });

  test("of a registry are tags, whatever their manifests are", async () => {
    const { uid: group } = await makeGroup(platform());
    const registry = await fakeRegistry();
    const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar", digest: digestOfContent("layer"), size: 5 };
    const config = { mediaType: "application/vnd.oci.image.config.v1+json", digest: digestOfContent("{}"), size: 2 };
    registry.routes.set(`/v2/art/blobs/${config.digest}`, json({}));
    const digests = {
      "1.0": putManifest(registry, "art", { schemaVersion: 2, config, layers: [layer] }, { tag: "1.0" }),
      old: putManifest(
        registry,
        "art",
        { schemaVersion: 1, name: "art", tag: "old", architecture: "amd64", fsLayers: [], history: [], signatures: [] },
        { tag: "old", type: "application/vnd.docker.distribution.manifest.v1+prettyjws" },
      ),
    };
    registry.routes.set("/v2/art/tags/list", json({ name: "art", tags: Object.keys(digests) }));
    const args = [registry.url, "--group", group, "--repo", "art", "--prune"] as const;
    expect(await run("registry", ...args)).toMatchObject({ code: 0, summary: { read: 3, added: 3, refused: 0 } });
    expect(await run("registry", ...args)).toMatchObject({ code: 0, summary: { read: 3, unchanged: 3 } });
    const { tags } = await platform().read("ListTags", { uidp: { descendantsOf: group } });
    expect(Object.fromEntries(tags.map((tag: Json) => [tag.name, tag.digest]))).toEqual(digests);
    const { repos } = await platform().read("ListRepos", { uidp: { childrenOf: group } });
    expect(repos).toHaveLength(1);
    for (const of of tags) {
      const architectures = await platform().read("GetArchitectures", { repoUid: repos[0].uid, digest: of.digest });
      expect(architectures).toEqual({ architectures: [] });
    }
  });
});
