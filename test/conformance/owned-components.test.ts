/** Findings of components whose files belong to a package of a distribution, from the document to the answer. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { DocumentEventSchema } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import type { Json } from "./contract.ts";
import { importDocuments, importOsv } from "./feed-fixtures.ts";
import { digestOf, freshName, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

type EventData = NonNullable<Exclude<MessageInitShape<typeof DocumentEventSchema>, { $typeName: string }>["data"]>;

const fixedIn = (fixedVersion: string): EventData => ({ case: "fixed", value: { fixedVersion } });
const pending: EventData = { case: "pendingUpstreamFix", value: { note: "" } };
const foundIn = (componentName: string): EventData => ({
  case: "detection",
  value: { type: { case: "scanv1", value: { componentName } } },
});

onEveryServer("findings of components that a package owns", (platform) => {
  /** Uploads the bill of materials of an image in a repo of its own. */
  async function upload(document: object) {
    const group = (await makeGroup(platform())).uid as string;
    const repo = (await makeRepo(platform(), group)).uid as string;
    const { token } = await makeMember(platform(), group, "owner");
    const digest = digestOf(Math.floor(Math.random() * 1e9));
    const answer = await fetch(`${platform().baseUrl}/findings/v1/images/${repo}/digests/${digest}/sboms`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/spdx+json" },
      body: JSON.stringify(document),
    });
    expect(answer.status, await answer.text()).toBe(200);
    return { repo, digest };
  }

  /** A Python package with one vulnerability, its package in a distribution, and an image that contains both. */
  async function make() {
    const name = freshName("Requests.Lib");
    const cve = `CVE-2026-${1e6 + Math.floor(Math.random() * 1e9)}`;
    const { id } = await importOsv(platform(), {
      id: freshName("PYSEC"),
      modified: "2026-01-02T03:04:05Z",
      aliases: [cve],
      affected: [{ package: { ecosystem: "PyPI", name }, ranges: [], versions: ["2.31.0"] }],
    });
    const apk = `pkg:apk/wolfi/py3-${name.toLowerCase()}@2.31.0-r1`;
    const pypi = `pkg:pypi/${name.toLowerCase().replace(".", "-")}@2.31.0`;
    const { repo, digest } = await upload(spdx({ apk, pypi, name, isOwned: true }));
    const image = `${repo}@${digest}`;

    /** What the distribution says, in the order of its events. */
    async function advise(...events: EventData[]) {
      const all = events.map((data, i) =>
        create(DocumentEventSchema, { timestamp: timestampFromDate(new Date(2026, 0, 1 + i)), data }),
      );
      const packageUrl = `pkg:apk/wolfi/py3-${name.toLowerCase()}`;
      const advisories = [{ id: freshName("CGA"), packageUrl, aliases: [cve], events: all }];
      await importDocuments(platform(), { id: `py3-${name}`, advisories });
    }

    /** The findings in the image, as types of components with states. */
    async function found(more: Json = {}) {
      const states = ["AFFECTED", "UNDER_INVESTIGATION", "FIXED", "NOT_AFFECTED"].map((state) => `STATE_${state}`);
      const { findings } = await platform().ok("ListFindings", { image, states, ...more });
      return findings.map(({ component, state }: Json) => `${component.type} ${state}`).sort();
    }

    return { repo, digest, image, name, cve, id, apk, pypi, advise, found };
  }

  function spdx({ apk, pypi, name, isOwned }: { apk: string; pypi: string; name: string; isOwned: boolean }) {
    const listed = (SPDXID: string, purl: string) => ({
      SPDXID,
      name: SPDXID === "pypi" ? name : `py3-${name.toLowerCase()}`,
      versionInfo: purl.split("@")[1],
      downloadLocation: "NOASSERTION",
      externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
    });
    const comment = "ownership-by-file-overlap: indicates that the parent package claims ownership";
    return {
      spdxVersion: "SPDX-2.3",
      SPDXID: "SPDXRef-DOCUMENT",
      name: "image",
      packages: [listed("apk", apk), listed("pypi", pypi)],
      relationships: isOwned
        ? [{ spdxElementId: "apk", relationshipType: "OTHER", relatedSpdxElement: "pypi", comment }]
        : [],
    };
  }

  test("are those of the ecosystem where the distribution says nothing", async () => {
    const { found, image, apk } = await make();
    expect(await found()).toEqual(["pypi STATE_AFFECTED"]);
    const { components } = await platform().ok("ListComponents", { image, types: ["pypi"] });
    expect(components).toMatchObject([{ imageCount: 1, occurrences: [{ owner: apk }] }]);
  });

  test("are closed where the distribution has fixed its package", async () => {
    const { advise, found, repo, digest, image, cve, pypi, apk } = await make();
    await advise(fixedIn("2.31.0-r1"));
    expect(await found()).toEqual(["apk STATE_FIXED", "pypi STATE_FIXED"]);
    expect((await platform().ok("GetImage", { repo, digest })).levelCounts ?? []).toEqual([]);
    expect((await platform().ok("ListImages", { repo, vulnerabilityIds: [cve] })).totalCount).toBe("0");
    const fixed = await platform().ok("ListImages", { repo, vulnerabilityIds: [cve], states: ["STATE_FIXED"] });
    expect(fixed.totalCount).toBe("1");
    const { findings } = await platform().ok("ListFindings", { image, purls: [pypi], states: ["STATE_FIXED"] });
    expect(findings[0]).toMatchObject({
      component: { purl: pypi },
      fixedVersion: "2.31.0-r1",
      assertions: [
        { state: "STATE_FIXED", reason: expect.stringContaining(`about ${apk}, which owns the files`) },
        { state: "STATE_AFFECTED", reason: "a general source" },
      ],
    });
    // What is known about the package itself stays as it is.
    const { results } = await platform().ok("QueryPackages", { queries: [{ purl: pypi }] });
    expect(results[0].findings).toMatchObject([{ state: "STATE_AFFECTED" }]);
  });

  test("are shown once, at the package, where that is affected", async () => {
    const { advise, found, repo, digest } = await make();
    await advise(pending);
    expect(await found()).toEqual(["apk STATE_AFFECTED"]);
    const { levelCounts } = await platform().ok("GetImage", { repo, digest });
    expect(levelCounts.map(({ count }: Json) => count)).toEqual([1]);
  });

  test("follow what scanners have found in the package by its name, as people write it", async () => {
    const named = await make();
    await named.advise(foundIn(named.name.replace(".", "_")), fixedIn("2.31.0-r1"));
    expect(await named.found()).toEqual(["apk STATE_FIXED", "pypi STATE_FIXED"]);
    const other = await make();
    await other.advise(foundIn("urllib3"), fixedIn("2.31.0-r1"));
    expect(await other.found()).toEqual(["apk STATE_FIXED", "pypi STATE_AFFECTED"]);
  });

  test("are others in an image where nothing owns the component", async () => {
    const { advise, found, pypi, cve } = await make();
    await advise(fixedIn("2.31.0-r1"));
    const { digest } = await upload(spdx({ apk: "pkg:apk/wolfi/other@1-r0", pypi, name: "other", isOwned: false }));
    expect(await found()).toEqual(["apk STATE_FIXED", "pypi STATE_FIXED"]);
    const { images, totalCount } = await platform().ok("ListImages", { vulnerabilityIds: [cve] });
    expect([images[0].digest, totalCount]).toEqual([digest, "1"]);
    const { components } = await platform().ok("ListComponents", { purls: [pypi] });
    expect(components).toMatchObject([{ imageCount: 2, levelCounts: [{ count: 1 }] }]);
    // The order by repo looks at each component of the images; only those with the vulnerability were read before.
    const byRepo = await platform().ok("ListFindings", { vulnerabilityIds: [cve], orderBy: "repo" });
    expect(byRepo.totalCount).toBe("1");
  });
});
