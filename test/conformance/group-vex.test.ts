/** VEX documents of groups: what their statements make of findings, and of nothing else. */
import { expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { importImages, importOsv, importPackages } from "./feed-fixtures.ts";
import { digestOf, freshName, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const allStates = ["AFFECTED", "UNDER_INVESTIGATION", "FIXED", "NOT_AFFECTED", "ACCEPTED"].map(
  (each) => `STATE_${each}`,
);

onEveryServer("VEX of groups", (platform) => {
  async function makeImage(group: string, ...packages: Parameters<typeof importPackages>[3][]) {
    const repo = (await makeRepo(platform(), group)).uid as string;
    const digest = digestOf(Math.floor(Math.random() * 1e9));
    await importImages(platform(), repo, { digest, platforms: [{ architecture: "amd64" }] });
    await importPackages(platform(), repo, digest, ...packages);
    return { repo, digest };
  }

  /** An organisation with a package that is affected, in an image above a group and in one below. */
  async function makeWorld() {
    const organisation = (await makeGroup(platform())).uid as string;
    const group = (await makeGroup(platform(), organisation)).uid as string;
    const name = freshName("left");
    const id = `CVE-2026-${1e6 + Math.floor(Math.random() * 1e9)}`;
    const ghsa = freshName("GHSA");
    await importOsv(platform(), {
      id,
      aliases: [ghsa],
      modified: "2026-01-02T03:04:05Z",
      affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
    });
    const npm = (version: string) => ({ type: "npm", name, version, purl: `pkg:npm/${name}@${version}` });
    const above = await makeImage(organisation, npm("1.0.0"));
    const below = await makeImage(group, npm("2.0.0"));
    const { token } = await makeMember(platform(), organisation, "owner");

    /** Uploads a document of statements, each with a product or with one and a part of it. */
    async function state(at: string, status: string, products: readonly Json[], more: Json = {}) {
      const justified = status === "not_affected" && { justification: "vulnerable_code_not_present" };
      const document = {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": `https://example.com/${freshName()}`,
        author: "Example",
        version: 1,
        timestamp: "2026-02-01T00:00:00Z",
        ...more,
        statements: [{ vulnerability: { name: id, aliases: [ghsa] }, products, status, ...justified }],
      };
      const answer = await fetch(`${platform().baseUrl}/findings/v1/groups/${at}/vex`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(document),
      });
      const json = (await answer.json()) as Json;
      expect(answer.status, JSON.stringify(json)).toBe(200);
      return json.uid as string;
    }

    /** The states of the findings above and below. */
    async function states(request: Json = {}) {
      const asked = { states: allStates, packageNames: [name], ...request };
      const { findings } = await platform().ok("ListFindings", asked);
      const stateIn = (repo: string) => findings.find((each: Json) => each.repo === repo)?.state.replace("STATE_", "");
      return [stateIn(above.repo), stateIn(below.repo)];
    }
    return { organisation, group, name, id, above, below, state, states };
  }

  test("count in the images below the group, for the version that they name, until they are deleted", async () => {
    const { organisation, group, name, id, below, above, state, states } = await makeWorld();
    const other = { "@id": `pkg:npm/${name}@1.0.0` };
    await state(group, "not_affected", [other]);
    expect(await states()).toEqual(["AFFECTED", "AFFECTED"]);
    const uid = await state(group, "not_affected", [{ "@id": `pkg:npm/${name}@2.0.0` }]);
    expect(await states()).toEqual(["AFFECTED", "NOT_AFFECTED"]);
    expect(await states({ vulnerabilityIds: [id] })).toEqual(["AFFECTED", "NOT_AFFECTED"]);
    const { images } = await platform().ok("ListImages", { vulnerabilityIds: [id] });
    expect(images.map(({ repo }: Json) => repo)).toEqual([above.repo]);
    const [finding] = (await platform().ok("ListFindings", { repo: below.repo, states: allStates })).findings;
    expect(finding).toMatchObject({
      justification: "JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT",
      assertions: [
        { source: group, id: uid, reason: "a VEX statement of the group about this version" },
        { source: "osv", state: "STATE_AFFECTED" },
      ],
    });
    await platform().ok("DeleteVexDocument", { uid });
    expect(await states()).toEqual(["AFFECTED", "AFFECTED"]);
    await state(organisation, "not_affected", [{ "@id": `pkg:npm/${name}` }]);
    expect(await states()).toEqual(["NOT_AFFECTED", "NOT_AFFECTED"]);
    const stranger = await makeWorld();
    await stranger.state(stranger.organisation, "under_investigation", [{ "@id": `pkg:npm/${name}` }]);
    expect(await states()).toEqual(["NOT_AFFECTED", "NOT_AFFECTED"]);
  });

  test("about something specific go before those about a product, then later ones, and analyses before all", async () => {
    const { organisation, group, name, id, state, states } = await makeWorld();
    const product = [{ "@id": `pkg:npm/${name}` }];
    await state(organisation, "not_affected", product);
    await state(organisation, "under_investigation", product, { timestamp: "2026-03-01T00:00:00Z" });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "UNDER_INVESTIGATION"]);
    await state(organisation, "affected", product, { timestamp: "2026-01-15T00:00:00Z" });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "UNDER_INVESTIGATION"]);
    await state(organisation, "fixed", [{ "@id": `pkg:npm/${name}@2.0.0` }], { timestamp: "2026-01-01T00:00:00Z" });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "FIXED"]);
    const analysis = { vulnerabilityId: id, state: "STATE_ACCEPTED" };
    await platform().ok("CreateAnalysis", { parent: group, analysis });
    expect(await states()).toEqual(["UNDER_INVESTIGATION", "ACCEPTED"]);
  });

  test("about an image count in it alone, and for the parts that they name", async () => {
    const { organisation, name, above, below, state, states } = await makeWorld();
    const image = (digest: string) => `pkg:oci/app@${encodeURIComponent(digest)}`;
    await state(organisation, "not_affected", [
      { "@id": image(above.digest), subcomponents: [{ "@id": "pkg:npm/other" }] },
    ]);
    expect(await states()).toEqual(["AFFECTED", "AFFECTED"]);
    await state(organisation, "not_affected", [
      { "@id": image(above.digest), subcomponents: [{ "@id": `pkg:npm/${name}` }] },
    ]);
    expect(await states()).toEqual(["NOT_AFFECTED", "AFFECTED"]);
    await state(organisation, "fixed", [{ "@id": image(below.digest) }]);
    expect(await states()).toEqual(["NOT_AFFECTED", "FIXED"]);
  });

  test("about a part of a package count where the package owns it", async () => {
    const { organisation, group, name, state, states } = await makeWorld();
    const apk = { type: "apk", namespace: "wolfi", name: "app", version: "1-r0", purl: "pkg:apk/wolfi/app@1-r0" };
    const owned = { type: "npm", name, version: "3.0.0", purl: `pkg:npm/${name}@3.0.0`, owner: apk.purl };
    const { repo } = await makeImage(group, apk, owned);
    await state(organisation, "not_affected", [
      { "@id": "pkg:apk/wolfi/app@1-r0", subcomponents: [{ "@id": `pkg:npm/${name}` }] },
    ]);
    expect(await states()).toEqual(["AFFECTED", "AFFECTED"]);
    const { findings } = await platform().ok("ListFindings", { repo, states: allStates });
    expect(findings).toMatchObject([{ state: "STATE_NOT_AFFECTED", component: { version: "3.0.0" } }]);
  });
});
