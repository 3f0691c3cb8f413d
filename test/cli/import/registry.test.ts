import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  type FakeRegistry,
  fakeRegistry,
  json,
  manifestFor,
  putManifest,
} from "../../feeds/registries/oci/fake-registry.ts";
import { programEntry } from "../program.ts";
import { runHere } from "../run-here.ts";

let folder: string;
let database: string;
let group: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-import-"));
  database = `sqlite:${join(folder, "platform.db")}`;
  const { stdout } = await runHere(["init", "--database", database]);
  group = /\b[0-9a-f]{40}\b/.exec(stdout)![0];
});
afterAll(() => rm(folder, { recursive: true }));

function importRegistry(url: string, ...more: string[]) {
  return runHere(["import", "registry", url, "--group", group, "--database", database, "--json", ...more]);
}

function put(registry: FakeRegistry, repository: string, tag: string): string {
  const manifest = manifestFor(registry, repository, { architecture: "amd64" }, tag.length);
  return putManifest(registry, repository, manifest, { tag });
}

const noSboms = { added: 0, changed: 0, unchanged: 0, removed: 0, unversioned: 0, unread: 0 };
const nothing = {
  read: 0,
  added: 0,
  changed: 0,
  unchanged: 0,
  removed: 0,
  refused: 0,
  passedOver: 0,
  gone: 0,
  sboms: noSboms,
};

test("what is wrong is refused with its reason, and the rest is imported", async () => {
  const registry = await fakeRegistry();
  put(registry, "good", "v1");
  putManifest(registry, "good", { schemaVersion: 1 }, { tag: "old", type: "text/plain" });
  putManifest(registry, "good", { config: {} }, { tag: "forged", as: `sha256:${"1".repeat(64)}` });
  registry.routes.set("/v2/_catalog", json({ repositories: ["good", "Not/A/Name", "../etc", "broken", "good"] }));
  registry.routes.set("/v2/good/tags/list", json({ tags: ["v1", "old", "forged", "not a tag", "vanished", "v1"] }));
  registry.routes.set("/v2/broken/tags/list", json({ tags: 7 }));
  const run = await importRegistry(registry.url);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toEqual({ ...nothing, read: 9, added: 4, refused: 5 });
  for (const line of [
    'refused: "Not/A/Name": is not the name of a repository',
    'refused: "../etc": is not the name of a repository',
    "refused: broken: the list of tags is not a list of names",
    "refused: good:forged: the content does not match sha256:1111",
    "refused: good:not a tag: is not a tag",
  ])
    expect(run.stderr).toContain(line);
  expect(registry.asked.filter((line) => line.includes("etc"))).toEqual([]);
});

test("a tag is imported with its digest whatever it names", async () => {
  const registry = await fakeRegistry();
  putManifest(registry, "art", manifestFor(registry, "art", {}, 7), { tag: "1.0" });
  const type = "application/vnd.docker.distribution.manifest.v1+prettyjws";
  putManifest(registry, "art", { schemaVersion: 1, architecture: "amd64" }, { tag: "old", type });
  registry.routes.set("/v2/art/tags/list", json({ tags: ["1.0", "old"] }));
  const first = await importRegistry(registry.url, "--repo", "art", "--prune");
  expect(first).toMatchObject({ code: 0, stderr: expect.not.stringContaining("refused") });
  expect(JSON.parse(first.stdout)).toEqual({ ...nothing, read: 3, added: 3 });
  const again = await importRegistry(registry.url, "--repo", "art", "--prune");
  expect(JSON.parse(again.stdout)).toEqual({ ...nothing, read: 3, unchanged: 3 });
});

test("an empty catalog removes nothing", async () => {
  const registry = await fakeRegistry();
  put(registry, "kept", "v1");
  registry.routes.set("/v2/_catalog", json({ repositories: ["kept"] }));
  registry.routes.set("/v2/kept/tags/list", json({ tags: ["v1"] }));
  expect((await importRegistry(registry.url, "--repo", "kept")).code).toBe(0);
  registry.routes.set("/v2/_catalog", json({ repositories: null }));
  const run = await importRegistry(registry.url, "--prune");
  expect(run).toMatchObject({ code: 1 });
  expect(JSON.parse(run.stdout)).toEqual({ ...nothing, read: 1, refused: 1 });
  expect(run.stderr).toContain("refused: the catalog: is empty; nothing was removed");
});

test("a list that breaks off removes nothing", async () => {
  const registry = await fakeRegistry();
  for (const tag of ["a", "b", "c"]) put(registry, "cut", tag);
  registry.routes.set("/v2/cut/tags/list", json({ tags: ["a", "b", "c"] }));
  expect((await importRegistry(registry.url, "--repo", "cut")).code).toBe(0);
  registry.routes.set("/v2/cut/tags/list", (request, response) => {
    if (request.url!.includes("last")) response.writeHead(404).end("{}");
    else response.writeHead(200, { link: '</v2/cut/tags/list?last=a>; rel="next"' }).end('{"tags":["a"]}');
  });
  const run = await importRegistry(registry.url, "--repo", "cut", "--prune");
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({ removed: 0, gone: 0, refused: 1 });
});

test("a registry that is not there, a group that is not, and addresses that are none", async () => {
  expect((await importRegistry("https://user:secret@host")).stderr).toContain(
    "the address must not contain credentials",
  );
  expect((await importRegistry("registry")).code).toBe(1);
  const elsewhere = ["import", "registry", "http://127.0.0.1:1", "--group", "0".repeat(40), "--database", database];
  expect((await runHere(elsewhere)).stderr).toContain("--group: there is no group");
  expect((await importRegistry("http://127.0.0.1:1", "--watch", "soon")).stderr).toContain("--watch must be like");
});

test("credentials come from a file and are told to nobody", async () => {
  const registry = await fakeRegistry();
  registry.routes.set("/v2/_catalog", (request, response) => {
    const expected = `Basic ${Buffer.from("reader:hunter2").toString("base64")}`;
    if (request.headers.authorization === expected) response.end('{"repositories":[]}');
    else response.writeHead(401, { "www-authenticate": "Basic" }).end();
  });
  const path = join(folder, "credentials");
  await writeFile(path, "reader:hunter2\n");
  expect((await importRegistry(registry.url, "--registry-credentials", path)).code).toBe(0);
  await writeFile(path, "reader:wrong-hunter3");
  const run = await importRegistry(registry.url, "--registry-credentials", path);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain("refused: the registry: the registry rejects the credentials");
  expect(run.stderr + run.stdout).not.toContain("hunter3");
  await writeFile(path, "no colon");
  expect((await importRegistry(registry.url, "--registry-credentials", path)).code).toBe(2);
});

test("--watch goes on after a round that failed, until it is told to stop", async () => {
  const registry = await fakeRegistry();
  registry.routes.set("/v2/_catalog", json({}, {}, 403));
  const args = [
    "import",
    "registry",
    registry.url,
    "--group",
    group,
    "--database",
    database,
    "--json",
    "--watch",
    "1s",
  ];
  const child = spawn(process.execPath, [programEntry(), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stderr.resume();
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value!);
  expect(await next()).toMatchObject({ refused: 1, added: 0 });
  put(registry, "watched", "v1");
  registry.routes.set("/v2/_catalog", json({ repositories: ["watched"] }));
  registry.routes.set("/v2/watched/tags/list", json({ tags: ["v1"] }));
  let summary = await next();
  while (summary.refused === 1) summary = await next();
  expect(summary).toMatchObject({ refused: 0, added: 2 });
  expect(await next()).toMatchObject({ refused: 0, added: 0, unchanged: 2 });
  child.kill("SIGTERM");
  const [code] = await once(child, "close");
  expect(code).toBe(0);
});

test("many tags of one image ask for it seldom, and the second time cost one request each", async () => {
  const registry = await fakeRegistry();
  const digest = put(registry, "many", "t0");
  const route = registry.routes.get("/v2/many/manifests/t0")!;
  const count = 600;
  for (let i = 0; i < count; i++) registry.routes.set(`/v2/many/manifests/t${i}`, route);
  registry.routes.set("/v2/many/tags/list", (request, response) => {
    const page = Number(new URL(request.url!, "http://a").searchParams.get("page") ?? "0");
    const link = page < count / 200 - 1 ? { link: `</v2/many/tags/list?page=${page + 1}>; rel="next"` } : {};
    response.writeHead(200, link);
    response.end(JSON.stringify({ tags: Array.from({ length: 200 }, (_, i) => `t${page * 200 + i}`) }));
  });
  const first = await importRegistry(registry.url, "--repo", "many");
  expect(JSON.parse(first.stdout)).toMatchObject({ added: count + 1, refused: 0 });
  expect(registry.asked.filter((line) => line === `GET /v2/many/manifests/${digest}`).length).toBeLessThan(10);
  registry.asked.length = 0;
  const second = await importRegistry(registry.url, "--repo", "many");
  expect(JSON.parse(second.stdout)).toMatchObject({ added: 0, changed: 0, unchanged: count + 1 });
  expect(registry.asked).toHaveLength(count + count / 200 + 1); // the referrers of the image
});
