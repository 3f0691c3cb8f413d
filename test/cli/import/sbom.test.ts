import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readImagePackages } from "../../../src/services/index.ts";
import { readDocumentFile, readDocuments } from "../../../src/services/registry/sbom-documents.ts";
import { openDatabase } from "../../../src/store/index.ts";
import { fakeRegistry, json, manifestFor, putManifest } from "../../feeds/registries/oci/fake-registry.ts";
import { runHere } from "../run-here.ts";

let folder: string;
let database: string;
let group: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-sbom-"));
  database = `sqlite:${join(folder, "platform.db")}`;
  const { stdout, stderr } = await runHere(["init", "--database", database]);
  group = /\b[0-9a-f]{40}\b/.exec(stdout)?.[0] ?? "";
  expect(group, stderr).not.toBe("");
});
afterAll(() => rm(folder, { recursive: true }));

async function importRepo() {
  const registry = await fakeRegistry();
  const digest = putManifest(registry, "app", manifestFor(registry, "app", { architecture: "amd64" }, 1), {
    tag: "v1",
  });
  registry.routes.set("/v2/_catalog", json({ repositories: ["app"] }));
  registry.routes.set("/v2/app/tags/list", json({ tags: ["v1"] }));
  const run = await runHere(["import", "registry", registry.url, "--group", group, "--database", database]);
  expect(run).toMatchObject({ code: 0 });
  const reader = await openDatabase(database);
  const [repo] = await reader.read.list(
    { name: "repos", columns: { name: "text" } },
    { orderBy: [], skip: 0, limit: 1 },
  );
  await reader.close();
  return { repo: repo!.uid, digest };
}

async function importSbom(document: unknown, repo: string, digest: string) {
  const path = join(folder, `${Math.random()}.json`);
  await writeFile(path, typeof document === "string" ? document : JSON.stringify(document));
  return runHere(["import", "sbom", path, "--repo", repo, "--digest", digest, "--database", database]);
}

test("the packages of an image are stored whole, and the second time nothing", async () => {
  const { repo, digest } = await importRepo();
  const component = { type: "library", name: "n", version: "v", purl: "pkg:apk/wolfi/libssl3@3.3.1-r1?origin=openssl" };
  const document = { bomFormat: "CycloneDX", specVersion: "1.6", components: [component] };
  expect(await importSbom(document, repo, digest)).toMatchObject({ code: 0, stdout: "1 packages, added, unread 0\n" });
  expect(await importSbom(document, repo, digest)).toMatchObject({
    code: 0,
    stdout: "1 packages, unchanged, unread 0\n",
  });
  const more = { ...document, components: [component, { type: "library", name: "zlib", version: "1" }] };
  expect(await importSbom(more, repo, digest)).toMatchObject({ code: 0, stdout: "2 packages, changed, unread 0\n" });
  const reader = await openDatabase(database);
  const packages = await readImagePackages(reader.read, repo, [digest]);
  const documents = await readDocuments(reader.read, repo, digest);
  const file = await readDocumentFile(reader.read, documents[0]!.row.uid);
  await reader.close();
  expect(documents).toMatchObject([{ document: { digest, format: "CycloneDX 1.6", componentCount: 2, source: "" } }]);
  expect(file && Buffer.from(file).toString()).toBe(JSON.stringify(more));
  expect(packages.get(digest)).toEqual([
    {
      name: "libssl3",
      version: "3.3.1-r1",
      type: "apk",
      namespace: "wolfi",
      architecture: "",
      origin: "openssl",
      originVersion: "",
      purl: component.purl,
    },
    { name: "zlib", version: "1", type: "", architecture: "", origin: "", originVersion: "" },
  ]);

  const odd = await importSbom({ ...more, mood: "good", components: [{ ...component, colour: "red" }] }, repo, digest);
  expect(odd).toMatchObject({ code: 0, stdout: "1 packages, changed, unread 2\n" });
  expect(odd.stderr).toMatch(/^unread: mood: once, first in .*\nunread: components\[\]\.colour: once/);

  const other = `sha256:${"0".repeat(64)}`;
  const refusals: [unknown, string, string, string][] = [
    [document, repo, other, `--digest: the repo has no image and no tag with ${other}`],
    [document, `${group}/0000000000000000`, digest, `--repo: there is no repo ${group}/0000000000000000`],
    ["{", repo, digest, "is not JSON"],
  ];
  for (const [content, toRepo, toDigest, reason] of refusals) {
    const run = await importSbom(content, toRepo, toDigest);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain(reason);
  }
});

test("a document that is not there is named, and nothing is imported", async () => {
  const { repo, digest } = await importRepo();
  const path = join(folder, "none.json");
  const run = await runHere(["import", "sbom", path, "--repo", repo, "--digest", digest, "--database", database]);
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr).toMatch(/^error: ENOENT: .*none\.json'\n$/);
});
