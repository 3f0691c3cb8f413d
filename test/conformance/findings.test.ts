/** Findings: what is known about packages, by itself and in images. */
import { expect, test } from "vitest";
import { readOsv } from "../../src/feeds/index.ts";
import { FactWriter, removeImage, saveProduct } from "../../src/services/index.ts";
import type { Json } from "./contract.ts";
import { importImages, importOsv, importPackages } from "./feed-fixtures.ts";
import { digestOf, freshName, makeGroup, makeMember, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

/** A record of an npm package that is affected from 4.0.0 up to 4.17.21. */
function record(name: string, more: Record<string, unknown> = {}) {
  const id = freshName("GHSA");
  return {
    id,
    modified: "2026-01-02T03:04:05Z",
    aliases: [`CVE-2026-${1e6 + Math.floor(Math.random() * 1e9)}`],
    severity: [{ type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H" }],
    affected: [
      {
        package: { ecosystem: "npm", name },
        ranges: [{ type: "SEMVER", events: [{ introduced: "4.0.0" }, { fixed: "4.17.21" }] }],
      },
    ],
    ...more,
  };
}

onEveryServer("findings", (platform) => {
  /** An image with a tag in a group of its own, with npm packages. */
  async function makeImage(packages: Readonly<Record<string, string>>, parent = platform().root) {
    const group = (await makeGroup(platform(), parent)).uid as string;
    const repo = await makeRepo(platform(), group);
    const digest = digestOf(Math.floor(Math.random() * 1e9));
    await importImages(platform(), repo.uid, { digest, platforms: [{ architecture: "amd64" }] });
    const all = Object.entries(packages).map(([name, version]) => ({ name, version, type: "npm" }));
    await importPackages(platform(), repo.uid, digest, ...all);
    const tag = await makeTag(platform(), repo.uid, { digest });
    return {
      group,
      repo: repo.uid as string,
      repoName: repo.name as string,
      digest,
      tag: tag.name as string,
      tagUid: tag.uid as string,
    };
  }

  test("say what is known about packages, in the order of the queries", async () => {
    const name = freshName("lodash");
    const { id, aliases } = await importOsv(platform(), record(name));
    const { results } = await platform().ok("QueryPackages", {
      queries: [
        { purl: `pkg:npm/${name}@4.17.20` },
        { purl: `pkg:npm/${name}@4.17.21` },
        { type: "npm", name, version: "3.10.1" },
        { purl: "lodash" },
        { purl: `pkg:npm/${name}` },
      ],
    });
    expect(results[0]).toMatchObject({
      component: { purl: `pkg:npm/${name}@4.17.20` },
      findings: [
        {
          vulnerabilityId: aliases[0],
          aliases: [id],
          state: "STATE_AFFECTED",
          fixState: "FIX_STATE_FIXED",
          fixedVersion: "4.17.21",
          level: "LEVEL_HIGH",
          score: 7.2,
          assertions: [{ id, state: "STATE_AFFECTED", reason: "a general source" }],
        },
      ],
    });
    expect(results[1]).toMatchObject({ component: { version: "4.17.21" } });
    expect(results[1].findings ?? []).toEqual([]);
    expect(results[2].findings ?? []).toEqual([]);
    expect(results[3]).toEqual({ findings: [], unmatchedReason: "is not a package URL" });
    expect(results[4]).toEqual({ findings: [], unmatchedReason: "has no version" });
  });

  test("are in every image that contains the package, whatever comes first", async () => {
    const name = freshName("lodash");
    const before = await makeImage({ [name]: "4.17.20", other: "1.0.0" });
    const { aliases } = await importOsv(platform(), record(name));
    const after = await makeImage({ [name]: "4.17.20" });
    const fixed = await makeImage({ [name]: "4.17.21" });
    const { findings, totalCount } = await platform().ok("ListFindings", { vulnerabilityIds: aliases });
    expect(totalCount).toBe("2");
    expect(new Set(findings.map(({ digest }: { digest: string }) => digest))).toEqual(
      new Set([before.digest, after.digest]),
    );
    expect(findings[0]).toMatchObject({ level: "LEVEL_HIGH", component: { name }, tags: [expect.any(String)] });
    const { images } = await platform().ok("ListImages", { vulnerabilityIds: aliases });
    expect(images.map(({ digest }: { digest: string }) => digest).sort()).toEqual([before.digest, after.digest].sort());
    expect(await platform().ok("GetImage", { repo: before.repo, digest: before.digest })).toMatchObject({
      repoName: before.repoName,
      tags: [before.tag],
      componentCount: 2,
      levelCounts: [{ level: "LEVEL_HIGH", count: 1 }],
      hasSbom: true,
    });
    const ofFixed = await platform().ok("ListFindings", { image: `${fixed.repo}:${fixed.tag}` });
    expect(ofFixed.totalCount).toBe("0");
  });

  test("follow a feed that changes and withdraws", async () => {
    const name = freshName("lodash");
    const image = await makeImage({ [name]: "4.17.20" });
    const first = record(name);
    await importOsv(platform(), first);
    const total = async () =>
      (await platform().ok("ListFindings", { image: `${image.repo}@${image.digest}` })).totalCount;
    expect(await total()).toBe("1");
    const { affected } = record(name);
    const lower = [
      { ...affected[0]!, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "4.17.0" }] }] },
    ];
    await importOsv(platform(), { ...first, affected: lower });
    expect(await total()).toBe("0");
    await importOsv(platform(), first);
    expect(await total()).toBe("1");
    await importOsv(platform(), { ...first, withdrawn: "2026-02-02T00:00:00Z" });
    expect(await total()).toBe("0");
  });

  test("are known since the same time wherever they are, also after their record has changed", async () => {
    const name = freshName("lodash");
    const first = record(name);
    const facts = (version: string) => {
      const { affected } = first;
      return readOsv(
        { ...first, affected: [{ ...affected[0], ranges: [{ type: "SEMVER", events: [{ introduced: version }] }] }] },
        () => {},
      ).facts;
    };
    const says = (version: string, nowMs: number) =>
      platform().write(async (session) => {
        const writer = new FactWriter(session, nowMs);
        await writer.saveAlone("osv", facts(version));
        await writer.settle();
      });
    const begin = Date.UTC(2026, 0, 1);
    const before = await makeImage({ [name]: "2.0.0" });
    for (const [i, version] of ["3.0.0", "2.0.0", "1.0.0"].entries()) await says(version, begin + i * 1000);
    const after = await makeImage({ [name]: "2.0.0" });
    const since = ({ findings }: Json) => findings.map(({ assertions }: Json) => assertions[0].since);
    const purl = `pkg:npm/${name}@2.0.0`;
    const { results } = await platform().ok("QueryPackages", { queries: [{ purl }] });
    expect(since(results[0])).toEqual(["2026-01-01T00:00:01.000Z"]);
    for (const { repo } of [before, after])
      expect(since(await platform().ok("ListFindings", { repo }))).toEqual(["2026-01-01T00:00:01.000Z"]);
    const other = await platform().ok("QueryPackages", { queries: [{ purl: `pkg:npm/${name}@3.0.0` }] });
    expect(since(other.results[0])).toEqual(["2026-01-01T00:00:00.000Z"]);
    await makeImage({ [name]: "1.5.0" });
    const last = await platform().ok("ListFindings", { purls: [`pkg:npm/${name}@1.5.0`] });
    expect(since(last)).toEqual(["2026-01-01T00:00:02.000Z"]);
  });

  test("are those of the packages that an image has when it was removed and pushed again", async () => {
    const name = freshName("lodash");
    await importOsv(platform(), record(name));
    const { repo, digest } = await makeImage({ [name]: "4.17.20" });
    const versions = async () => {
      const { findings } = await platform().ok("ListFindings", { image: `${repo}@${digest}` });
      return findings.map(({ component }: Json) => component.version);
    };
    expect(await versions()).toEqual(["4.17.20"]);
    await platform().write((session) => removeImage(session, repo, digest, Date.now()));
    await importImages(platform(), repo, { digest, platforms: [{ architecture: "amd64" }] });
    await importPackages(platform(), repo, digest, { name, version: "4.17.0", type: "npm" });
    expect(await versions()).toEqual(["4.17.0"]);
  });

  test("have exact totals over pages in every order", async () => {
    const names = Array.from({ length: 5 }, () => freshName("p"));
    for (const name of names) await importOsv(platform(), record(name));
    const root = (await makeGroup(platform())).uid as string;
    for (let i = 0; i < 3; i++) await makeImage(Object.fromEntries(names.map((name) => [name, "4.0.0"])), root);
    for (const orderBy of [
      "",
      "level desc",
      "repo desc",
      "first_seen",
      "package desc",
      "vulnerability_id",
      "epss,repo",
    ]) {
      const seen: string[] = [];
      let pageToken = "";
      do {
        const request = { uidp: { descendantsOf: root }, pageSize: 4, pageToken, ...(pageToken === "" && { orderBy }) };
        const page = await platform().ok("ListFindings", request);
        expect(page.totalCount, orderBy).toBe("15");
        for (const { repo, component, vulnerabilityId } of page.findings)
          seen.push(`${repo} ${component.purl} ${vulnerabilityId}`);
        pageToken = page.nextPageToken ?? "";
      } while (pageToken !== "");
      expect(seen, orderBy).toHaveLength(15);
      expect(new Set(seen).size, orderBy).toBe(15);
      const { findings } = await platform().ok("ListFindings", {
        uidp: { descendantsOf: root },
        orderBy,
        skip: 7,
        pageSize: 3,
      });
      expect(
        findings.map(({ repo, component, vulnerabilityId }: Json) => `${repo} ${component.purl} ${vulnerabilityId}`),
      ).toEqual(seen.slice(7, 10));
    }
  });

  test("are all on pages of one, also where each is in one image only", async () => {
    const names = Array.from({ length: 4 }, () => freshName("p"));
    for (const name of names) await importOsv(platform(), record(name));
    const { repo } = await makeImage(Object.fromEntries(names.map((name) => [name, "4.0.0"])));
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await platform().ok("ListFindings", { repo, pageSize: 1, pageToken });
      for (const { component } of page.findings) seen.push(component.name);
      pageToken = page.nextPageToken ?? "";
    } while (pageToken !== "");
    expect(seen.sort()).toEqual(names.sort());
  });

  test("are all on pages of one, also where other images have more packages with the vulnerability", async () => {
    const name = freshName("lodash");
    const { aliases } = await importOsv(platform(), record(name));
    for (const version of ["4.0.0", "4.0.1", "4.0.2"]) await makeImage({ [name]: version });
    const { repo } = await makeImage({ [name]: "4.1.0" });
    const request = { repo, vulnerabilityIds: aliases, pageSize: 1 };
    const { findings, totalCount } = await platform().ok("ListFindings", request);
    expect(totalCount).toBe("1");
    expect(findings).toMatchObject([{ component: { version: "4.1.0" } }]);
  });

  test("are seen only by who may list them where the image is", async () => {
    const name = freshName("lodash");
    await importOsv(platform(), record(name));
    const mine = await makeImage({ [name]: "4.1.0" });
    const theirs = await makeImage({ [name]: "4.1.0" });
    const { token } = await makeMember(platform(), mine.group, "viewer");
    const listed = await platform().ok("ListFindings", { packageNames: [name] }, { as: token });
    expect(listed.findings.map(({ digest }: { digest: string }) => digest)).toEqual([mine.digest]);
    expect(listed.totalCount).toBe("1");
    const images = await platform().ok("ListImages", { purl: `pkg:npm/${name}` }, { as: token });
    expect(images.totalCount).toBe("1");
    const components = await platform().ok("ListComponents", { packageNames: [name] }, { as: token });
    expect(components.components).toMatchObject([{ imageCount: 1, component: { name } }]);
    await platform().refused("GetImage", { repo: theirs.repo, digest: theirs.digest }, "PERMISSION_DENIED", {
      as: token,
    });
    await platform().refused("ListFindings", { image: `${theirs.repo}:${theirs.tag}` }, "NOT_FOUND", { as: token });
    const compared = { base: `${mine.repo}:${mine.tag}`, target: `${theirs.repo}:${theirs.tag}` };
    await platform().refused("CompareImages", compared, "NOT_FOUND", { as: token });
  });

  test("are of the repos that a place picks", async () => {
    const name = freshName("lodash");
    await importOsv(platform(), record(name));
    const group = (await makeGroup(platform())).uid as string;
    const below = await makeImage({ [name]: "4.1.0" }, group);
    const repo = await makeRepo(platform(), group);
    const digest = digestOf(Math.floor(Math.random() * 1e9));
    await importPackages(platform(), repo.uid, digest, { name, version: "4.2.0", type: "npm" });
    const digests = async (uidp: Json) =>
      (await platform().ok("ListImages", { uidp, purl: `pkg:npm/${name}` })).images.map((each: Json) => each.digest);
    expect(await digests({ childrenOf: group })).toEqual([digest]);
    expect(await digests({ ids: [below.repo] })).toEqual([below.digest]);
    expect((await digests({ descendantsOf: group })).sort()).toEqual([below.digest, digest].sort());
    expect(await digests({ childrenOf: group, ids: [below.repo] })).toEqual([]);
    expect((await platform().ok("ListFindings", { uidp: { childrenOf: group } })).totalCount).toBe("1");
  });

  test("find images by a range of versions", async () => {
    const name = freshName("log4j-core");
    const old = await makeImage({ [name]: "2.9.0" });
    await makeImage({ [name]: "2.17.1" });
    const { images } = await platform().ok("ListImages", { purl: `pkg:npm/${name}`, version: "vers:npm/<2.17.1" });
    expect(images).toMatchObject([{ digest: old.digest, repo: old.repo, tags: [old.tag] }]);
    await platform().refused("ListImages", { purl: `pkg:npm/${name}`, version: "<2" }, "INVALID_ARGUMENT");
    await platform().refused("ListImages", { version: "vers:npm/<2" }, "INVALID_ARGUMENT");
    await platform().refused("ListImages", { purl: "log4j" }, "INVALID_ARGUMENT");
  });

  test("differ between two images", async () => {
    const [kept, gone, come, moved] = [freshName("kept"), freshName("gone"), freshName("come"), freshName("moved")];
    for (const name of [gone, come, moved]) await importOsv(platform(), record(name));
    const base = await makeImage({ [kept]: "1.0.0", [gone]: "4.1.0", [moved]: "4.1.0" });
    const target = await makeImage({ [kept]: "1.0.0", [come]: "4.1.0", [moved]: "4.17.21" });
    const names = { base: `${base.repoName}:${base.tag}`, target: `${target.repo}@${target.digest}` };
    const { components, findings } = await platform().ok("CompareImages", names);
    expect(components.added).toMatchObject([{ name: come }]);
    expect(components.removed).toMatchObject([{ name: gone }]);
    expect(components.changed).toMatchObject([
      { before: { name: moved, version: "4.1.0" }, after: { name: moved, version: "4.17.21" } },
    ]);
    expect(findings.opened).toMatchObject([{ component: { name: come } }]);
    expect(findings.resolved.map(({ component }: Json) => component.name).sort()).toEqual([gone, moved].sort());
  });

  test("of an index are those of its platforms", async () => {
    const name = freshName("lodash");
    await importOsv(platform(), record(name));
    const repo = await makeRepo(platform(), (await makeGroup(platform())).uid);
    const [index, amd64, arm64] = [1, 2, 3].map(() => digestOf(Math.floor(Math.random() * 1e9))) as [
      string,
      string,
      string,
    ];
    const platforms = [
      { architecture: "amd64", digest: amd64 },
      { architecture: "arm64", digest: arm64 },
    ];
    await importImages(platform(), repo.uid, { digest: amd64, platforms: [platforms[0]!] });
    await importPackages(platform(), repo.uid, amd64, { name, version: "4.1.0", type: "npm" });
    await importImages(
      platform(),
      repo.uid,
      { digest: index, platforms },
      { digest: arm64, platforms: [platforms[1]!] },
    );
    await importPackages(platform(), repo.uid, arm64, { name, version: "4.2.0", type: "npm" });
    const { findings } = await platform().ok("ListFindings", { repo: repo.uid, orderBy: "package" });
    expect(findings.map(({ digest, component }: Json) => [digest, component.version])).toEqual([
      [index, "4.1.0"],
      [index, "4.2.0"],
    ]);
    const { images } = await platform().ok("ListImages", { repo: repo.uid });
    expect(images).toMatchObject([{ digest: index, platforms: ["linux/amd64", "linux/arm64"], componentCount: 2 }]);
    const part = await platform().ok("ListFindings", { image: `${repo.uid}@${amd64}` });
    expect(part.totalCount).toBe("1");
  });

  test("show the licences of components, and where these are in an image", async () => {
    const name = freshName("left-pad");
    const { repo, digest } = await makeImage({});
    const where = { locations: ["/app/node_modules/left-pad/package.json"], layer: digestOf(7), owner: "" };
    const packages = { name, version: "1.0.0", type: "npm", licenses: ["MIT"], ...where };
    await importPackages(platform(), repo, digest, packages);
    const request = { image: `${repo}@${digest}`, packageNames: [name] };
    const { components } = await platform().ok("ListComponents", request);
    expect(components).toMatchObject([
      { component: { name, licenses: ["MIT"] }, imageCount: 1, occurrences: [{ digest, ...where }] },
    ]);
    expect((await platform().ok("ListComponents", { ...request, licenses: ["GPL-2.0-only"] })).totalCount).toBe("0");
    await importPackages(platform(), repo, digest, { ...packages, licenses: ["Apache-2.0"] });
    const both = await platform().ok("ListComponents", { packageNames: [name], licenses: ["Apache-2.0"] });
    expect(both.components).toMatchObject([{ component: { licenses: ["Apache-2.0", "MIT"] } }]);
    expect(both.components[0].occurrences).toEqual([]);
  });

  test("know what has reached its end of life, inside images too", async () => {
    const name = freshName("django");
    const cycle = { releaseDate: "", isEol: false, isLts: false, ltsDate: "", latest: "" };
    const cycles = [
      { ...cycle, version: "5.2", eolDate: "2999-01-01" },
      { ...cycle, version: "3.2", eolDate: "2024-04-01" },
    ];
    await platform().write((session) => saveProduct(session, { name, cycles }, Date.now()));
    const group = (await makeGroup(platform())).uid as string;
    const old = await makeImage({ [name]: "3.2.9", other: "3.2.9" }, group);
    const current = await makeImage({ [name]: "5.2.1" }, group);
    const below = { uidp: { descendantsOf: group } };
    const { components } = await platform().ok("ListComponents", { ...below, endOfLife: true });
    expect(components).toMatchObject([{ component: { name, version: "3.2.9" }, endOfLife: true }]);
    expect((await platform().ok("ListComponents", { ...below, endOfLife: false })).totalCount).toBe("2");
    const digests = async (endOfLife: boolean) =>
      (await platform().ok("ListImages", { ...below, endOfLife })).images.map(({ digest }: Json) => digest);
    expect(await digests(true)).toEqual([old.digest]);
    expect(await digests(false)).toEqual([current.digest]);
  });

  test("let a tag's history be read", async () => {
    const { repo, tag, tagUid, digest } = await makeImage({});
    const next = digestOf(Math.floor(Math.random() * 1e9));
    await platform().ok("CreateTag", { parent: repo, tag: { name: tag, digest: next } });
    const { entries, totalCount } = await platform().ok("ListTagHistory", { uid: tagUid });
    expect(totalCount).toBe("2");
    expect(entries).toMatchObject([{ digest: next }, { digest, to: entries[0].from }]);
    await platform().ok("DeleteTag", { uid: tagUid });
    const again = await makeTag(platform(), repo, { name: tag, digest });
    const later = await platform().ok("ListTagHistory", { uid: again.uid });
    expect(later.entries.map((each: Json) => each.digest)).toEqual([digest, next, digest]);
  });
});
