/** `platform import artifacts`, as its users run it. */
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { zip } from "../../feeds/formats/zip.ts";
import { settingsIn, startPlatformForTest, temporaryFolder } from "../platform-process.ts";
import { restClient } from "../rest-client.ts";
import { runHere } from "../run-here.ts";

const packument = (name: string, ...versions: string[]) =>
  JSON.stringify({ name, description: name, versions: Object.fromEntries(versions.map((version) => [version, {}])) });
const project = (name: string, ...versions: string[]) =>
  JSON.stringify({ info: { name }, releases: Object.fromEntries(versions.map((version) => [version, []])) });
const metadata = (artifact: string, ...versions: string[]) =>
  `<metadata><groupId>org.example</groupId><artifactId>${artifact}</artifactId><versioning><release>${versions.at(-1)}</release><versions>${versions.map((version) => `<version>${version}</version>`).join("")}</versions></versioning></metadata>`;
const pom = (artifact: string, version: string) =>
  `<project><groupId>org.example</groupId><artifactId>${artifact}</artifactId><version>${version}</version><description>${artifact} ${version}</description></project>`;
const wheel = (name: string, version: string) =>
  zip([["w.dist-info/METADATA", `Name: ${name}\nVersion: ${version}\nSummary: ${name} ${version}\n`]]);

/** An initialised database, a feed in a folder, and the import of it. */
async function setUp() {
  const folder = await temporaryFolder();
  const { database, serve } = settingsIn(folder);
  const { token } = JSON.parse((await runHere(["init", "--json", ...database])).stdout);
  const feed = join(folder, "feed");
  return {
    feed,
    async write(files: Readonly<Record<string, string | Uint8Array>>) {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(feed, name)), { recursive: true });
        await writeFile(join(feed, name), content);
      }
    },
    async run(...args: string[]) {
      const { code, stdout, stderr } = await runHere(["import", "artifacts", "--json", ...database, ...args]);
      return { code, summary: stdout === "" ? undefined : JSON.parse(stdout), stderr };
    },
    async client() {
      const { baseUrl } = await startPlatformForTest(serve);
      return restClient(baseUrl, token);
    },
  };
}

const summaryOf = (more: object) => ({
  ...{ read: 0, added: 0, changed: 0, unchanged: 0, removed: 0, refused: 0, unread: 0, passedOver: 0 },
  ...more,
});

test("imports documents of every kind, once, and lists their versions in order", async () => {
  const { feed, write, run, client } = await setUp();
  await write({
    "npm/gears.json": packument("gears", "1.10.0", "1.9.0", "2.0.0-rc.1"),
    "pypi/gears.json": project("Gears", "1.0", "1.0.post1", "1.0rc1"),
    "maven/gears/maven-metadata.xml": metadata("gears", "1.0", "1.0-SNAPSHOT", "1.0-sp1"),
    "maven/gears/1.0-sp1/gears-1.0-sp1.pom": pom("gears", "1.0-sp1"),
    "maven/maven-metadata.xml": "<metadata><plugins/></metadata>",
    "wheels/cogs-1.0-cp313-manylinux.whl": wheel("cogs", "1.0"),
    "wheels/cogs-1.0-cp313-macosx.whl": wheel("Cogs", "1.0"),
    "wheels/cogs-1.1.dist-info/METADATA": "Name: cogs\nVersion: 1.1\n",
    "README.md": "passed over",
  });
  expect(await run(feed)).toEqual({
    code: 0,
    summary: summaryOf({ read: 6, added: 4, changed: 2, passedOver: 1 }),
    stderr: "",
  });
  expect(await run(feed)).toMatchObject({ code: 0, summary: summaryOf({ read: 6, unchanged: 6, passedOver: 1 }) });
  expect(await run(feed, "--prune")).toMatchObject({ code: 0, summary: { unchanged: 6, removed: 0 } });

  const { get } = await client();
  const ids = ["javascript:gears", "python:gears", "org.example:gears", "cogs"].map(encodeURIComponent);
  const lists = await Promise.all(ids.map((id) => get(`/libraries/v2/artifacts/${id}/versions`)));
  expect(lists.map(({ body }) => body.artifactVersions.map(({ version }: { version: string }) => version))).toEqual([
    ["2.0.0-rc.1", "1.10.0", "1.9.0"],
    ["1.0.post1", "1.0", "1.0rc1"],
    ["1.0-sp1", "1.0", "1.0-SNAPSHOT"],
    ["1.1", "1.0"],
  ]);
  expect((await get(`/libraries/v2/artifacts/${ids[2]}`)).body).toMatchObject({
    description: "gears 1.0-sp1",
    latestVersion: "1.0-sp1",
    versionCount: 3,
  });
});

test("reports what it does not take, and stores the rest", async () => {
  const { feed, write, run } = await setUp();
  await write({
    "good.json": packument("good", "1.0.0"),
    "again.json": packument("good", "1.0.0"),
    "another.json": packument("good", "2.0.0"),
    "list.json": "[]",
    "bomb.pom": '<!DOCTYPE project [<!ENTITY a "aaaa">]><project/>',
    "broken.whl": "PK",
    "named.json": packument("a b", "1.0.0"),
  });
  const { code, summary, stderr } = await run(feed, "--prune");
  expect({ code, summary }).toEqual({ code: 1, summary: summaryOf({ read: 5, added: 1, refused: 4, passedOver: 1 }) });
  for (const reason of [
    /^refused: good: .* occurs twice in the feed$/m,
    /^refused: bomb\.pom: has a document type$/m,
    /^refused: broken\.whl: is not a wheel/m,
    /^refused: named\.json: "a b" is not the name of an artifact$/m,
    /^nothing was removed, because not all of the feed could be read$/m,
    /^error: 4 refused$/m,
  ])
    expect(stderr).toMatch(reason);
});

test("--prune removes what the feed does not have any more, of its ecosystems", async () => {
  const { feed, write, run, client } = await setUp();
  await write({
    "gears.json": packument("gears", "1.0.0", "1.1.0"),
    "cogs.json": packument("cogs", "1.0.0"),
    "maven.xml": metadata("gears", "1.0"),
    "wheels/cogs-1.0.whl": wheel("cogs", "1.0"),
    "wheels/cogs-1.1.whl": wheel("cogs", "1.1"),
  });
  await run(feed);
  await write({ "gears.json": packument("gears", "1.1.0") });
  for (const name of ["cogs.json", "maven.xml", "wheels/cogs-1.0.whl"]) await rm(join(feed, name));
  const pruned = { read: 2, changed: 1, unchanged: 1, removed: 3 };
  expect(await run(feed, "--prune")).toMatchObject({ code: 0, summary: summaryOf(pruned) });
  expect(await run(feed, "--prune")).toMatchObject({ code: 0, summary: summaryOf({ read: 2, unchanged: 2 }) });
  const { get } = await client();
  const all = "ecosystems=ECOSYSTEM_JAVA&ecosystems=ECOSYSTEM_PYTHON&ecosystems=ECOSYSTEM_JAVASCRIPT";
  const { artifacts } = (await get(`/libraries/v2/artifacts?${all}&orderBy=name`)).body;
  const seen = artifacts.map(({ name, versionCount }: Record<string, unknown>) => `${name} ${versionCount}`);
  expect(seen).toEqual(["cogs 1", "gears 1", "org.example:gears 1"]); // nothing of Maven is in the feed now
});

test("asks a registry for the packages named", async () => {
  const { feed, write, run } = await setUp();
  const answers: Record<string, string> = {
    "/npm/gears": packument("gears", "1.0.0"),
    "/npm/@example%2Fcogs": packument("@example/cogs", "1.0.0"),
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url!];
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/npm`;
  await write({ "packages.txt": "# what we use\n@example/cogs\n\ngears # twice\n" });
  const packages = ["--ecosystem", "npm", "--packages-file", join(feed, "packages.txt"), "--package", "gears"];
  expect(await run(registry, ...packages)).toMatchObject({ code: 0, summary: summaryOf({ read: 2, added: 2 }) });

  expect(await run(registry, ...packages, "missing")).toMatchObject({
    code: 1,
    summary: summaryOf({ read: 3, unchanged: 2, refused: 1 }),
    stderr: expect.stringMatching(/^refused: missing: the registry does not have it$/m),
  });
  delete answers["/npm/gears"];
  expect(await run(registry, ...packages, "--prune")).toMatchObject({
    code: 0,
    summary: summaryOf({ read: 1, unchanged: 1, removed: 1 }),
  });
});

test.each([
  [["--ecosystem", "cargo"], /--ecosystem must be maven, pypi, npm, not "cargo"/],
  [["--package", "gears"], /--package and --packages-file need --ecosystem/],
  [["--ecosystem", "npm", "--packages-file", "missing"], /missing/],
])("refuses %j", async (args, reason) => {
  const { database } = settingsIn(await temporaryFolder());
  await runHere(["init", ...database]);
  const command = ["import", "artifacts", "https://registry.example.com", ...database, ...args];
  expect(await runHere(command)).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(reason) });
});
