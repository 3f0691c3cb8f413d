/**
 * A registry that nobody here wrote, filled with images made on the spot: imported, compared with what it answers
 * itself, and followed through its notifications. Skipped, with the reason, where no registry program is installed.
 */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readImagePackages } from "../../src/services/index.ts";
import { programEntry } from "../cli/program.ts";
import {
  type DistributionRegistry,
  deleteManifest,
  findRegistry,
  type MadeImage,
  pushAttestedImage,
  pushImage,
  pushReferrer,
  startRegistry,
} from "../feeds/registries/oci/distribution-registry.ts";
import { freePort } from "../free-port.ts";
import type { Json } from "./contract.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const found = findRegistry();
const secret = "a-shared-secret-of-the-registry";

if ("missing" in found) {
  console.warn(`registry import is not tested: ${found.missing}`);
  describe.skip(`registry import (skipped: ${found.missing})`, () => it("imports", () => {}));
} else {
  onEveryServer("registry import", (platform) => {
    let registry: DistributionRegistry;
    let group: string;
    const made = new Map<string, MadeImage>();

    async function push(repository: string, tag: string, platforms: readonly string[]) {
      made.set(`${repository}:${tag}`, await pushImage(registry.url, repository, tag, platforms));
    }

    beforeAll(async () => {
      group = (await platform().ok("CreateGroup", { parent: platform().root, group: { name: "registry" } })).uid;
      const port = await freePort();
      const settings = { registryUrl: `http://127.0.0.1:${port}`, registryGroup: group, registrySecret: secret };
      await platform().restart(settings);
      const url = `${platform().baseUrl}/registry/notifications`;
      registry = await startRegistry(found.program, { port, notifications: { url, secret } });
    });
    afterAll(async () => registry?.stop());

    it("shows a push as soon as the registry has told of it", async () => {
      await push("team/app", "v1", ["amd64", "arm64/v8", "arm/v7"]);
      await push("team/app", "v2", ["amd64"]);
      await push("solo", "latest", ["s390x"]);
      await expect.poll(() => tagsOf(platform(), "team/app")).toEqual(expected(made, "team/app"));
      await expect.poll(() => tagsOf(platform(), "solo")).toEqual(expected(made, "solo"));
    });

    it("answers architectures and sizes as the registry's manifests say them", async () => {
      for (const [name, image] of made) {
        const repo = await repoNamed(platform(), name.slice(0, name.lastIndexOf(":")));
        for (const { architecture, variant, digest, size } of image.platforms) {
          const label = architecture === "arm" ? `${architecture}/${variant}` : architecture;
          const request = { repoUid: repo.uid, architecture: label };
          for (const asked of [image.digest, digest]) {
            expect(await platform().read("GetSize", { ...request, digest: asked })).toEqual({
              size: String(size),
              architecture: label,
            });
            const { architectures } = await platform().read("GetArchitectures", { repoUid: repo.uid, digest: asked });
            expect(architectures).toContain(label);
          }
          expect(await sizeInRegistry(registry.url, repo.name, digest)).toBe(size);
        }
      }
    });

    it("imports nothing when it has been told of everything", async () => {
      const { summary, status } = await importRegistry(platform(), registry.url, group);
      expect({ status, summary }).toEqual({
        status: 0,
        summary: {
          ...{ read: 5, added: 0, changed: 0, unchanged: 5, removed: 0, gone: 0, refused: 0, passedOver: 0 },
          sboms: { added: 0, changed: 0, unchanged: 0, removed: 0, unversioned: 0, unread: 0 },
        },
      });
    });

    it("imports a registry whole, and the second time nothing", async () => {
      const other = await platform().ok("CreateGroup", { parent: platform().root, group: { name: "other" } });
      const first = await importRegistry(platform(), registry.url, other.uid);
      expect(first.summary).toMatchObject({ read: 5, added: 5, changed: 0, refused: 0 });
      const before = await tagsOf(platform(), "team/app", other.uid);
      expect(before).toEqual(expected(made, "team/app"));
      const times = await updateTimes(platform(), other.uid);
      const second = await importRegistry(platform(), registry.url, other.uid);
      expect(second.summary).toMatchObject({ added: 0, changed: 0, unchanged: 5, removed: 0 });
      expect(await updateTimes(platform(), other.uid)).toEqual(times);

      await push("team/app", "v2", ["arm64"]);
      const third = await importRegistry(platform(), registry.url, other.uid);
      expect(third.summary).toMatchObject({ added: 0, changed: 1, unchanged: 4 });
      const moved = await updateTimes(platform(), other.uid);
      expect(Object.keys(moved).filter((name) => moved[name] !== times[name])).toEqual(["v2"]);
      await expect.poll(() => tagsOf(platform(), "team/app")).toEqual(expected(made, "team/app"));
    });

    it("tells what is gone and deletes it only when asked", async () => {
      const other = await platform().ok("CreateGroup", { parent: platform().root, group: { name: "gone" } });
      await importRegistry(platform(), registry.url, other.uid);
      const v1 = made.get("team/app:v1")!;
      await deleteManifest(registry.url, "team/app", v1.digest);
      made.delete("team/app:v1");
      const kept = await importRegistry(platform(), registry.url, other.uid);
      expect(kept).toMatchObject({ status: 0, summary: { gone: 1, removed: 0, unchanged: 4 } });
      expect(kept.messages).toContain("gone: team/app:v1");
      expect(Object.keys(await tagsOf(platform(), "team/app", other.uid))).toEqual(["v1", "v2"]);

      await platform().ok("CreateRepo", { parent: other.uid, repo: { name: "nowhere" } });
      const pruned = await importRegistry(platform(), registry.url, other.uid, "--prune");
      expect(pruned).toMatchObject({ status: 0, summary: { gone: 0, removed: 2 } });
      expect(Object.keys(await tagsOf(platform(), "team/app", other.uid))).toEqual(["v2"]);
      const { repos } = await platform().ok("ListRepos", { uidp: { childrenOf: other.uid } });
      expect(repos.map((repo: Json) => repo.name).sort()).toEqual(["solo", "team/app"]);
      // The group that follows the notifications has lost it already.
      await expect.poll(() => tagsOf(platform(), "team/app")).toEqual(expected(made, "team/app"));
    });

    it("imports named repositories only, and refuses those that are none", async () => {
      const other = await platform().ok("CreateGroup", { parent: platform().root, group: { name: "named" } });
      const run = await importRegistry(platform(), registry.url, other.uid, "--repo", "solo", "missing");
      expect(run).toMatchObject({ status: 1, summary: { added: 2, refused: 1 } });
      expect(run.messages).toContain("refused: missing: the registry does not have this repository");
    });

    it("imports bills of materials, in attestations and as referrers, as soon as they are pushed and whole", async () => {
      const componentOf = (name: string) => ({ type: "library", name, version: "1", purl: `pkg:apk/wolfi/${name}@1` });
      const bill = (name: string) => ({ bomFormat: "CycloneDX", specVersion: "1.6", components: [componentOf(name)] });
      const predicateType = "https://cyclonedx.org/bom";
      const statement = {
        _type: "https://in-toto.io/Statement/v0.1",
        predicateType,
        subject: [],
        predicate: bill("attested"),
      };
      const { digest } = await pushAttestedImage(registry.url, "attested", "v1", statement);
      await pushReferrer(registry.url, "attested", digest, "application/vnd.cyclonedx+json", bill("referring"));
      const namesIn = async (groupUid: string) => {
        const repo = await repoNamed(platform(), "attested", groupUid);
        if (repo === undefined) return [];
        const lists = await platform().write((session) => readImagePackages(session, repo.uid, [digest]));
        return (lists.get(digest) ?? []).map(({ name }) => name).sort();
      };
      await expect.poll(() => namesIn(group)).toEqual(["attested", "referring"]);
      const told = await importRegistry(platform(), registry.url, group, "--repo", "attested");
      expect(told).toMatchObject({ status: 0, summary: { refused: 0, sboms: { added: 0, unchanged: 2 } } });
      const other = await platform().ok("CreateGroup", { parent: platform().root, group: { name: "bills" } });
      const whole = await importRegistry(platform(), registry.url, other.uid, "--repo", "attested");
      expect(whole).toMatchObject({ status: 0, summary: { refused: 0, sboms: { added: 2, unchanged: 0 } } });
      expect(await namesIn(other.uid)).toEqual(["attested", "referring"]);
    });
  });
}

/** Tags and their digests, of a repo that may not be there yet. */
async function tagsOf(platform: Platform, name: string, group?: string): Promise<Record<string, string>> {
  const repo = await repoNamed(platform, name, group);
  if (repo === undefined) return {};
  const { tags } = await platform.ok("ListTags", { uidp: { childrenOf: repo.uid }, orderBy: "name" });
  return Object.fromEntries(tags.map((tag: Json) => [tag.name, tag.digest]));
}

async function updateTimes(platform: Platform, group: string): Promise<Record<string, string>> {
  const { tags } = await platform.ok("ListTags", { uidp: { descendantsOf: group } });
  return Object.fromEntries(tags.map((tag: Json) => [tag.name, tag.updateTime]));
}

async function repoNamed(platform: Platform, name: string, group?: string): Promise<Json> {
  const { repos: groups } = { repos: await platform.ok("ListGroups", { name: "registry" }) };
  const parent = group ?? groups.groups[0].uid;
  const { repos } = await platform.ok("ListRepos", { name, uidp: { childrenOf: parent } });
  return repos[0];
}

function expected(made: ReadonlyMap<string, MadeImage>, repository: string): Record<string, string> {
  const ofRepository = [...made].filter(([name]) => name.startsWith(`${repository}:`));
  return Object.fromEntries(ofRepository.map(([name, { digest }]) => [name.slice(repository.length + 1), digest]));
}

/** What the registry itself says: the configuration and all layers of a manifest. */
async function sizeInRegistry(url: string, repository: string, digest: string): Promise<number> {
  const accept = "application/vnd.oci.image.manifest.v1+json";
  const answer = await fetch(`${url}/v2/${repository}/manifests/${digest}`, { headers: { accept } });
  const { config, layers } = (await answer.json()) as { config: { size: number }; layers: { size: number }[] };
  return layers.reduce((sum, { size }) => sum + size, config.size);
}

/** Runs the command beside the server. */
async function importRegistry(platform: Platform, url: string, group: string, ...more: string[]) {
  const args = [
    programEntry(),
    "import",
    "registry",
    url,
    "--group",
    group,
    "--database",
    platform.databaseUrl,
    "--json",
    ...more,
  ];
  const run = await promisify(execFile)(process.execPath, args).then(
    ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({ ...error, status: error.code }),
  );
  if (run.stdout === "") throw new Error(`no summary: ${run.stderr}`);
  return { status: run.status, summary: JSON.parse(run.stdout) as Json, messages: run.stderr };
}
