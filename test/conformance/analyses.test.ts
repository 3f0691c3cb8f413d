/** Analyses: decisions of groups about findings, and what they make of them. */
import { expect, onTestFinished, test } from "vitest";
import { openVulnerabilities } from "../../src/services/findings/summary/open-vulnerabilities.ts";
import { KnownComponents } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import type { Json } from "./contract.ts";
import { importImages, importOsv, importPackages } from "./feed-fixtures.ts";
import { digestOf, freshName, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const allStates = ["AFFECTED", "UNDER_INVESTIGATION", "FIXED", "NOT_AFFECTED", "ACCEPTED"].map(
  (each) => `STATE_${each}`,
);

/** A vulnerability of all versions of an npm package. */
async function makeVulnerability(platform: Platform, name: string) {
  const { id, aliases } = await importOsv(platform, {
    id: freshName("GHSA"),
    modified: "2026-01-02T03:04:05Z",
    aliases: [`CVE-2026-${1e6 + Math.floor(Math.random() * 1e9)}`],
    severity: [{ type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H" }],
    affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
  });
  return { ghsa: id, cve: aliases[0]! };
}

async function makeImage(platform: Platform, group: string, packages: Readonly<Record<string, string>>) {
  const repo = (await makeRepo(platform, group)).uid as string;
  const digest = digestOf(Math.floor(Math.random() * 1e9));
  await importImages(platform, repo, { digest, platforms: [{ architecture: "amd64" }] });
  const all = Object.entries(packages).map(([name, version]) => ({ name, version, type: "npm" }));
  await importPackages(platform, repo, digest, ...all);
  return { repo, digest };
}

onEveryServer("analyses", (platform) => {
  /** An organisation with a group, an image in each, and a package with a vulnerability in both. */
  async function makeWorld() {
    const organisation = (await makeGroup(platform())).uid as string;
    const group = (await makeGroup(platform(), organisation)).uid as string;
    const name = freshName("left");
    const ids = await makeVulnerability(platform(), name);
    const above = await makeImage(platform(), organisation, { [name]: "1.0.0", other: "1.0.0" });
    const below = await makeImage(platform(), group, { [name]: "2.0.0" });

    /** The states of the findings above and below. */
    async function states(request: Json = {}) {
      const { findings } = await platform().ok("ListFindings", { states: allStates, packageNames: [name], ...request });
      const stateIn = (repo: string) => findings.find((each: Json) => each.repo === repo)?.state.replace("STATE_", "");
      return [stateIn(above.repo), stateIn(below.repo)];
    }

    const decide = (parent: string, analysis: Json) =>
      platform().ok("CreateAnalysis", { parent, analysis: { vulnerabilityId: ids.cve, ...analysis } });
    return { organisation, group, name, ...ids, above, below, states, decide };
  }

  const notAffected = { state: "STATE_NOT_AFFECTED", justification: "JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT" };

  test("decide about the images below their group, by any id of the vulnerability, until they are deleted", async () => {
    const { organisation, group, name, cve, ghsa, states, decide, below, above } = await makeWorld();
    expect(await states()).toEqual(["AFFECTED", "AFFECTED"]);
    const { uid } = await decide(group, { ...notAffected, vulnerabilityId: ghsa, note: "It is not called." });
    expect(await states()).toEqual(["AFFECTED", "NOT_AFFECTED"]);
    const [finding] = (await platform().ok("ListFindings", { repo: below.repo, states: allStates })).findings;
    expect(finding).toMatchObject({
      vulnerabilityId: cve,
      justification: "JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT",
      assertions: [
        { source: group, id: uid, state: "STATE_NOT_AFFECTED", reason: "a decision of the group" },
        { id: ghsa, state: "STATE_AFFECTED" },
      ],
    });
    const open = await platform().ok("ListFindings", { packageNames: [name] });
    expect([open.findings.map(({ repo }: Json) => repo), open.totalCount]).toEqual([[above.repo], "1"]);
    const images = await platform().ok("ListImages", { vulnerabilityIds: [cve] });
    expect([images.images.map(({ repo }: Json) => repo), images.totalCount]).toEqual([[above.repo], "1"]);
    const closed = await platform().ok("ListImages", { vulnerabilityIds: [cve], states: ["STATE_NOT_AFFECTED"] });
    expect(closed.images.map(({ repo }: Json) => repo)).toEqual([below.repo]);
    expect((await platform().ok("GetImage", below)).levelCounts ?? []).toEqual([]);
    expect((await platform().ok("GetImage", above)).levelCounts).toMatchObject([{ count: 1 }]);
    const listed = await platform().ok("ListComponents", { repo: below.repo });
    expect(listed.components).toMatchObject([{ levelCounts: [] }]);
    const summary = (root: string) => platform().ok("SummarizeFindings", { uidp: { descendantsOf: root } });
    await platform().ok("CreateTag", { parent: below.repo, tag: { name: "v1", digest: below.digest } });
    expect((await summary(organisation)).counts ?? []).toEqual([]);
    // The package itself stays affected.
    const { results } = await platform().ok("QueryPackages", { queries: [{ purl: `pkg:npm/${name}@2.0.0` }] });
    expect(results[0].findings).toMatchObject([{ state: "STATE_AFFECTED" }]);
    await platform().ok("DeleteAnalysis", { uid });
    expect(await states()).toEqual(["AFFECTED", "AFFECTED"]);
    expect((await summary(organisation)).counts).toMatchObject([{ open: 1 }]);
  });

  test("of the nearest group decide, and of one group the most specific", async () => {
    const { organisation, group, name, states, decide, below, above } = await makeWorld();
    await decide(organisation, { state: "STATE_ACCEPTED" });
    expect(await states()).toEqual(["ACCEPTED", "ACCEPTED"]);
    await decide(group, { state: "STATE_UNDER_INVESTIGATION" });
    expect(await states()).toEqual(["ACCEPTED", "UNDER_INVESTIGATION"]);
    await decide(group, { state: "STATE_NOT_AFFECTED", packageUrl: `pkg:npm/${name}` });
    expect(await states()).toEqual(["ACCEPTED", "NOT_AFFECTED"]);
    await decide(group, { state: "STATE_ACCEPTED", packageUrl: `pkg:npm/${name}`, versionRange: "vers:npm/>=2.0.0" });
    expect(await states()).toEqual(["ACCEPTED", "ACCEPTED"]);
    await decide(group, { state: "STATE_FIXED", packageUrl: `pkg:npm/${name}@2.0.0` });
    expect(await states()).toEqual(["ACCEPTED", "FIXED"]);
    await decide(group, { state: "STATE_AFFECTED", repos: [below.repo] });
    expect(await states()).toEqual(["ACCEPTED", "AFFECTED"]);
    await decide(group, { state: "STATE_NOT_AFFECTED", digests: [below.digest] });
    expect(await states()).toEqual(["ACCEPTED", "NOT_AFFECTED"]);
    await decide(organisation, { state: "STATE_UNDER_INVESTIGATION", repos: [above.repo] });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "NOT_AFFECTED"]);
    // One of another group, and one about another package, change nothing.
    const other = (await makeGroup(platform())).uid;
    await decide(other, { state: "STATE_FIXED" });
    await decide(organisation, { state: "STATE_FIXED", packageUrl: "pkg:npm/other" });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "NOT_AFFECTED"]);
    const { uid } = await decide(group, { state: "STATE_FIXED", digests: [below.digest] });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "FIXED"]);
    await platform().ok("UpdateAnalysis", { analysis: { uid, state: "STATE_ACCEPTED" }, updateMask: "state" });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "ACCEPTED"]);
    await platform().ok("UpdateAnalysis", {
      analysis: { uid, vulnerabilityId: "CVE-2000-1" },
      updateMask: "vulnerabilityId",
    });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "NOT_AFFECTED"]);
  });

  test("say before they are stored how many findings they change", async () => {
    const { organisation, group, cve, states, decide } = await makeWorld();
    const validate = (parent: string, analysis: Json) =>
      platform().ok("CreateAnalysis", { parent, analysis: { vulnerabilityId: cve, ...analysis }, validateOnly: true });
    expect(await validate(organisation, notAffected)).toMatchObject({ changedFindingCount: "2" });
    expect(await validate(group, notAffected)).toMatchObject({ changedFindingCount: "1" });
    expect(await validate(group, { state: "STATE_AFFECTED" })).toMatchObject({ changedFindingCount: "0" });
    expect(await validate(group, { ...notAffected, vulnerabilityId: "CVE-2000-1" })).toMatchObject({
      changedFindingCount: "0",
    });
    expect(await states()).toEqual(["AFFECTED", "AFFECTED"]);
    const stored = await decide(organisation, notAffected);
    expect(stored).not.toHaveProperty("changedFindingCount");
    expect(await validate(group, notAffected)).toMatchObject({ changedFindingCount: "0" });
    const analysis = { uid: stored.uid, state: "STATE_ACCEPTED", justification: "JUSTIFICATION_UNSPECIFIED" };
    const request = { analysis, updateMask: "state,justification", validateOnly: true };
    expect(await platform().ok("UpdateAnalysis", request)).toMatchObject({ changedFindingCount: "2" });
    expect(await states()).toEqual(["NOT_AFFECTED", "NOT_AFFECTED"]);
    expect(await platform().ok("GetAnalysis", { uid: stored.uid })).not.toHaveProperty("changedFindingCount");
  });

  test("end when they expire, with no change of anything", async () => {
    const { group, states, decide, below, cve } = await makeWorld();
    const untilMs = Date.now() + 86_400_000;
    await decide(group, { ...notAffected, expireTime: new Date(untilMs).toISOString() });
    expect(await states()).toEqual(["AFFECTED", "NOT_AFFECTED"]);
    await platform().ok("CreateTag", { parent: below.repo, tag: { name: "v1", digest: below.digest } });
    const database = await openDatabase(platform().databaseUrl);
    onTestFinished(() => database.close());
    let nowMs = untilMs - 1;
    const memory = new KnownComponents(() => nowMs);
    const open = async () => [
      ...((await openVulnerabilities(database.read, memory, { parent: below.repo })).get(below.repo)?.keys() ?? []),
    ];
    expect(await open()).toEqual([]);
    nowMs = untilMs;
    expect(await open()).toEqual([cve]);
  });

  test("have an author, and are made and seen by who may", async () => {
    const { organisation, group, cve, decide } = await makeWorld();
    const viewer = await makeMember(platform(), organisation, "viewer");
    const owner = await makeMember(platform(), group, "owner");
    const analysis = { vulnerabilityId: cve, ...notAffected };
    await platform().refused("CreateAnalysis", { parent: group, analysis }, "PERMISSION_DENIED", { as: viewer.token });
    await platform().refused("CreateAnalysis", { parent: organisation, analysis }, "PERMISSION_DENIED", {
      as: owner.token,
    });
    const made = await platform().ok("CreateAnalysis", { parent: group, analysis }, { as: owner.token });
    expect(made.author).toBe(owner.uid);
    const { uid } = await decide(organisation, { state: "STATE_ACCEPTED" });
    const seenBy = async (as: string) =>
      (await platform().ok("ListAnalyses", { vulnerabilityId: cve }, { as })).analyses
        .map((each: Json) => each.uid)
        .sort();
    expect(await seenBy(viewer.token)).toEqual([made.uid, uid].sort());
    expect(await seenBy(owner.token)).toEqual([made.uid]);
  });

  test("are refused where they say what cannot be", async () => {
    const { group, above, decide, cve } = await makeWorld();
    const cases: [analysis: Json, field: string][] = [
      [{ state: "STATE_ACCEPTED", justification: "JUSTIFICATION_COMPONENT_NOT_PRESENT" }, "justification"],
      [{ ...notAffected, packageUrl: "left" }, "package_url"],
      [{ ...notAffected, versionRange: "vers:npm/<2" }, "version_range"],
      [{ ...notAffected, packageUrl: "pkg:npm/left@1.0.0", versionRange: "vers:npm/<2" }, "version_range"],
      [{ ...notAffected, packageUrl: "pkg:npm/left", versionRange: "<2" }, "version_range"],
      [{ ...notAffected, repos: [above.repo] }, "repos[0]"],
      [{ ...notAffected, digests: ["latest"] }, "digests[0]"],
      [{ ...notAffected, expireTime: "2020-01-01T00:00:00Z" }, "expire_time"],
      [{ ...notAffected, vulnerabilityId: "" }, "vulnerability_id"],
      [{ justification: "JUSTIFICATION_UNSPECIFIED" }, "state"],
    ];
    for (const [analysis, field] of cases) {
      const request = { parent: group, analysis: { vulnerabilityId: cve, ...analysis } };
      const status = await platform().refused("CreateAnalysis", request, "INVALID_ARGUMENT");
      expect(JSON.stringify(status), JSON.stringify(analysis)).toContain(`"${field}"`);
    }
    const { uid } = await decide(group, { ...notAffected, expireTime: new Date(Date.now() + 3_600_000).toISOString() });
    await platform().ok("UpdateAnalysis", { analysis: { uid, note: "Still true." }, updateMask: "note" });
  });
});
