/** The importers of feeds as their users run them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { dump } from "js-yaml";
import { describe, expect, onTestFinished, test } from "vitest";
import { documents } from "../../../src/services/advisory/documents.ts";
import { feedClaims } from "../../../src/services/matches/feed-claims.ts";
import { affectedPackages } from "../../../src/services/matches/tables.ts";
import { type Database, openDatabase } from "../../../src/store/index.ts";
import { advisoryDocuments } from "../../feeds/generate-advisories.ts";
import { tarOf, zipOf } from "../../feeds/source/archives.ts";
import { cleanEnvironment, settingsIn, temporaryFolder } from "../platform-process.ts";
import { programEntry } from "../program.ts";
import { runHere } from "../run-here.ts";

const osv = (id: string, more: object = {}) => ({
  id,
  modified: "2026-01-02T03:04:05Z",
  summary: `about ${id}`,
  ...more,
});

/** An initialised database in a folder of one test. */
async function installation() {
  const folder = await temporaryFolder();
  const { database } = settingsIn(folder);
  const { stdout } = await runHere(["init", "--json", ...database]);
  const { rootGroupUid: group } = JSON.parse(stdout) as { rootGroupUid: string };
  const put = async (name: string, content: string | Uint8Array) => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const run = async (...args: string[]) => {
    const packages = args[0] === "advisories" ? ["--distribution", "wolfi"] : [];
    const { code, stdout: out, stderr } = await runHere(["import", ...args, ...packages, ...database, "--json"]);
    return { code, stderr, summary: out === "" ? undefined : (JSON.parse(out) as Record<string, number>) };
  };
  return { folder, group, put, run, url: database[1]! };
}

/** How many documents there are, which are stored with their advisories or not at all. */
async function storedDocuments(database: Database): Promise<number> {
  const ids = await database.read.list(documents.table, {
    orderBy: [{ column: "uid", descending: false }],
    skip: 0,
    limit: 1000,
  });
  return ids.length;
}

const nothing = { read: 0, added: 0, changed: 0, unchanged: 0, removed: 0, refused: 0, unread: 0, passedOver: 0 };

describe("import osv", () => {
  const named = ["--feed", "osv"];

  test("takes records in every form, changes nothing the second time, and only what changed the third", async () => {
    const { run, put } = await installation();
    const a = osv("TEST-2026-1", { aliases: ["CVE-2026-1"], details: "1.10" });
    const b = osv("TEST-2026-2");
    const forms = [
      await put(
        "a.tar.gz",
        gzipSync(await tarOf({ name: "v/1.yaml", content: dump(a) }, { name: "v/.id", content: "" })),
      ),
      await put("b.zip", zipOf({ name: "2.json", content: JSON.stringify(b) })),
      await put("c.jsonl", `${JSON.stringify(a)}\n${JSON.stringify(b)}\n`),
    ];
    expect((await run("osv", forms[0]!, ...named)).summary).toEqual({ ...nothing, read: 1, added: 1, passedOver: 1 });
    expect((await run("osv", forms[1]!, ...named)).summary).toEqual({ ...nothing, read: 1, added: 1 });
    expect(await run("osv", forms[2]!, ...named)).toEqual({
      code: 0,
      stderr: "",
      summary: { ...nothing, read: 2, unchanged: 2 },
    });
    const changed = await put("d.json", JSON.stringify({ ...b, summary: "changed" }));
    expect((await run("osv", changed, ...named)).summary).toEqual({ ...nothing, read: 1, changed: 1 });
  });

  test("refuses what is bad with file and reason, and takes the rest", async () => {
    const { run, put } = await installation();
    const path = await put(
      "feed.zip",
      zipOf(
        { name: "a.json", content: JSON.stringify(osv("TEST-1")) },
        { name: "broken.json", content: "{" },
        { name: "year.json", content: JSON.stringify(osv("TEST-2", { modified: "10000-01-01T00:00:00Z" })) },
        { name: "zero.json", content: JSON.stringify(osv("TEST-3", { published: "0000-01-01T00:00:00Z" })) },
        { name: "../up.json", content: JSON.stringify(osv("TEST-4")) },
        { name: "b.json", content: JSON.stringify(osv("TEST-1", { summary: "another" })) },
        { name: "c.yaml", content: `${dump(osv("TEST-5"))}---\n${dump(osv("a b"))}---\n${dump(osv("TEST-6"))}` },
      ),
    );
    const { code, summary, stderr } = await run("osv", path);
    expect([code, summary]).toEqual([1, { ...nothing, read: 9, added: 3, refused: 6 }]);
    for (const place of [
      "broken.json: is not JSON",
      "year.json: modified: ",
      "zero.json: published: ",
      "c.yaml",
      "../up.json: its name",
    ])
      expect(stderr).toContain(`refused: ${place}`);
    expect(stderr).toContain('refused: b.json: "TEST-1" occurs twice in the feed\n');
    expect(stderr).toMatch(/error: 6 refused\n$/);
  });

  test("takes a checkout as it is, and prunes by it", async () => {
    const { run, put, folder } = await installation();
    await run(
      "osv",
      await put("before.jsonl", ["X-1", "X-2", "X-3"].map((id) => JSON.stringify(osv(id))).join("\n")),
      ...named,
    );
    for (const name of ["vulns", "triage", "copies"]) await mkdir(join(folder, "checkout", name), { recursive: true });
    await put("checkout/vulns/X-1.json", JSON.stringify(osv("X-1")));
    await put("checkout/copies/X-1.yaml", dump(osv("X-1")));
    await put("checkout/triage/false_positives.yaml", "CVE-2026-1:\n  reason: not in this ecosystem\n");
    await put("checkout/triage/empty.yaml", "# nothing yet\n");
    await put("checkout/package.json", '{"name":"tools","id":7}');
    await put("checkout/list.json", '["X-9"]');
    await put("checkout/large.json", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
    const checkout = join(folder, "checkout");
    const strict = await run("osv", checkout, ...named, "--strict");
    expect([strict.code, strict.summary]).toEqual([1, { ...nothing, read: 6, unchanged: 1, refused: 5 }]);
    expect(strict.stderr).toContain("refused: triage/false_positives.yaml: is not an OSV record");
    await put("checkout/vulns/X-2.json", JSON.stringify({ ...osv("X-2"), modified: "yesterday" }));
    expect((await run("osv", checkout, ...named, "--prune")).summary).toEqual({
      ...nothing,
      read: 2,
      unchanged: 1,
      refused: 1,
      removed: 1,
      passedOver: 5,
    });
    await put("checkout/vulns/X-2.json", "{");
    const unparsable = await run("osv", checkout, ...named, "--prune");
    expect(unparsable.summary).toMatchObject({ unchanged: 1, refused: 1, removed: 0 });
    expect(unparsable.stderr).toContain("nothing was removed, because not all of the feed could be read");
    await put("checkout/vulns/X-2.json", JSON.stringify(osv("X-2")));
    expect(await run("osv", checkout, ...named, "--prune")).toMatchObject({
      code: 0,
      summary: { unchanged: 2, passedOver: 5 },
    });
  });

  test("prunes its records, and the metadata of the sources that it has records of, if it could be read", async () => {
    const { run, put } = await installation();
    const lines = (...ids: string[]) => ids.map((id) => JSON.stringify(osv(id))).join("\n");
    await run("osv", await put("all.jsonl", lines("A-1", "A-2", "B-1")), ...named);
    const part = await put("part.jsonl", lines("A-2"));
    expect((await run("osv", part, ...named)).summary).toEqual({ ...nothing, read: 1, unchanged: 1 });
    const bad = await put("bad.jsonl", `${lines("A-2")}\n{`);
    const refused = await run("osv", bad, ...named, "--prune");
    expect(refused.summary).toEqual({ ...nothing, read: 2, unchanged: 1, refused: 1 });
    expect(refused.stderr).toContain("nothing was removed, because not all of the feed could be read");
    expect((await run("osv", part, ...named, "--prune")).summary).toEqual({
      ...nothing,
      read: 1,
      unchanged: 1,
      removed: 2,
    });
    // The metadata of B-1 are still there, what the feed said of packages is not.
    expect((await run("osv", await put("b.jsonl", lines("A-1", "B-1")), ...named)).summary).toMatchObject({
      added: 1,
      changed: 1,
    });
  });

  test("reads from an address", async () => {
    const { run } = await installation();
    const server = createServer((_, response) =>
      response.end(zipOf({ name: "a.json", content: JSON.stringify(osv("A-1")) })),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/all`;
    expect(await run("osv", address)).toEqual({ code: 0, stderr: "", summary: { ...nothing, read: 1, added: 1 } });
  });

  test("says what is missing", async () => {
    const { run, folder } = await installation();
    const missing = await run("osv", join(folder, "none"));
    expect([missing.code, missing.summary?.refused]).toEqual([1, 1]);
    expect(missing.stderr).toMatch(/^refused: .*none: ENOENT: no such file or directory/);
    const empty = await runHere(["import", "osv", ".", "--database", `sqlite:${join(folder, "new.db")}`]);
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining("there is no database at")]);
  });

  test.each([["osv"], ["advisories"], ["artifacts"]])("%s of a place with nothing to read fails", async (what) => {
    const { run, folder, group, put } = await installation();
    await mkdir(join(folder, "empty/.git"), { recursive: true });
    await put("empty/readme.md", "nothing");
    await put("empty/.git/a.json", "{}");
    const into = what === "advisories" ? ["--group", group] : [];
    expect(await run(what, join(folder, "empty"), ...into)).toEqual({
      code: 1,
      stderr: `error: ${join(folder, "empty")}: contains nothing that could be read\n`,
      summary: { ...nothing, passedOver: 2 },
    });
    const gone = await run(what, join(folder, "gone"), ...into);
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining(`refused: ${join(folder, "gone")}: ENOENT`)]);
  });

  test("reports what no reader knows, by name, and ends well", async () => {
    const { run, put } = await installation();
    const records = [
      osv("A-1", { mood: "good", credits: [] }),
      osv("A-2", { mood: "bad", affected: [{ package: { ecosystem: "npm", name: "a" }, versions: ["1"], size: 1 }] }),
    ];
    expect(await run("osv", await put("feed.jsonl", records.map((each) => JSON.stringify(each)).join("\n")))).toEqual({
      code: 0,
      stderr: "unread: mood: 2 times, first in feed.jsonl:1\nunread: affected[].size: once, first in feed.jsonl:2\n",
      summary: { ...nothing, read: 2, added: 2, unread: 3 },
    });
  });

  test("keeps the packages by feed, counts those that nothing can be matched with, and takes them after an upgrade", async () => {
    const { run, put, url } = await installation();
    const affected = [
      { package: { ecosystem: "npm", name: "a" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] },
      { package: { ecosystem: "Linux", name: "Kernel" }, versions: ["1"] },
    ];
    const feed = await put(
      "feed.jsonl",
      [osv("A-1", { affected }), osv("B-1")].map((each) => JSON.stringify(each)).join("\n"),
    );
    expect(await run("osv", feed, "--feed", "one", "--complete-for", "pkg:npm/*")).toEqual({
      code: 0,
      stderr: "unmatched: is of an ecosystem without package URLs: once, first in feed.jsonl:1\n",
      summary: { ...nothing, read: 2, added: 2, unmatched: 1 },
    });
    const database = await openDatabase(url);
    onTestFinished(() => database.close());
    const keys = async () =>
      (await database.read.list(affectedPackages, { limit: 10 })).map(({ columns }) => [
        columns.feed,
        columns.package_key,
      ]);
    expect((await keys()).sort()).toEqual([
      ["one", ""],
      ["one", "pkg:npm/a"],
    ]);
    expect((await feedClaims(database.read)).coverage("one", "pkg:npm/a")).toBe("COMPLETE");
    expect((await run("osv", feed, "--feed", "two")).summary).toMatchObject({ changed: 2, unchanged: 0 });
    expect(await keys()).toHaveLength(4);
    const rest = await put("rest.jsonl", JSON.stringify(osv("B-1")));
    expect((await run("osv", rest, "--feed", "one", "--prune")).summary).toMatchObject({ unchanged: 1, removed: 1 });
    expect((await keys()).map(([name]) => name)).toEqual(["two", "two"]);
    expect((await feedClaims(database.read)).coverage("one", "pkg:npm/a")).toBe("COMPLETE");
    const wrong = await run("osv", feed, "--complete-for", "npm");
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining("--complete-for must be like pkg:apk/wolfi/*"),
    ]);
    expect((await run("osv", feed, "--fixes-only")).stderr).toBe("error: --fixes-only needs --complete-for\n");
  });

  const records = fileURLToPath(new URL("../../../../shared/data/pysec-osv.tar.gz", import.meta.url));
  if (!existsSync(records))
    console.log("import osv: real records are not tried, ../shared/data/pysec-osv.tar.gz is not here");
  test.skipIf(!existsSync(records))("takes 2,661 real records, and nothing the second time", async () => {
    const { run } = await installation();
    expect((await run("osv", records)).summary).toMatchObject({ read: 2661, added: 2661, refused: 0, unread: 0 });
    expect((await run("osv", records)).summary).toMatchObject({ read: 2661, unchanged: 2661, refused: 0 });
  });
});

describe("import advisories", () => {
  const lines = (count: number) => [...advisoryDocuments(count)].map((document) => `${JSON.stringify(document)}\n`);

  test("takes documents and their advisories into a group, once", async () => {
    const { run, put, group } = await installation();
    const feed = await put("feed.jsonl", lines(100).join(""));
    expect(await run("advisories", feed, "--group", group)).toEqual({
      code: 0,
      stderr: "",
      summary: { ...nothing, read: 110, added: 110 },
    });
    expect((await run("advisories", feed, "--group", group)).summary).toEqual({
      ...nothing,
      read: 110,
      unchanged: 110,
    });
  });

  test("prunes packages that are gone, with their documents", async () => {
    const { run, put, group } = await installation();
    const into = ["--group", group, "--feed", "packages"];
    await run("advisories", await put("feed.jsonl", lines(30).join("")), ...into);
    const part = await put("part.jsonl", lines(30).slice(1).join(""));
    const pruned = await run("advisories", part, ...into, "--prune");
    expect(pruned.summary).toEqual({ ...nothing, read: 22, unchanged: 22, removed: 11 });
    expect((await run("advisories", part, ...into, "--prune")).summary).toMatchObject({ unchanged: 22, removed: 0 });
  });

  test("of several feeds settles, each by its place unless it has a name, and prunes its own", async () => {
    const { run, put, group, folder } = await installation();
    await mkdir(join(folder, "a"));
    await mkdir(join(folder, "b"));
    const rich = await put("a/feed.jsonl", lines(20).join(""));
    const secdb = (...names: string[]) =>
      JSON.stringify({ packages: names.map((name) => ({ pkg: { name, secfixes: { "1-r0": ["CVE-1"] } } })) });
    const poor = await put("b/feed.jsonl", secdb("package-0", "package-7"));
    const into = ["--group", group];
    expect((await run("advisories", rich, ...into, "--prune")).summary).toEqual({ ...nothing, read: 22, added: 22 });
    expect((await run("advisories", poor, ...into, "--prune")).summary).toEqual({ ...nothing, read: 4, added: 4 });
    for (let round = 0; round < 2; round++) {
      const [again, other] = [
        await run("advisories", rich, ...into, "--prune"),
        await run("advisories", poor, ...into, "--prune", "--feed-order", "x, y"),
      ];
      expect(again.summary).toEqual({ ...nothing, read: 22, unchanged: 22 });
      expect(other.summary).toEqual({ ...nothing, read: 4, unchanged: 4 });
    }
    await put("b/feed.jsonl", secdb("package-7"));
    const pruned = await run("advisories", poor, ...into, "--prune");
    expect(pruned.summary).toEqual({ ...nothing, read: 2, unchanged: 2, removed: 2 });
    expect((await run("advisories", rich, ...into)).summary).toEqual({ ...nothing, read: 22, unchanged: 22 });
    const named = await run("advisories", rich, ...into, "--feed", "other");
    expect(named.summary).toEqual({ ...nothing, read: 22, added: 22 });
    const refused = await run("advisories", rich, ...into, "--feed", "a,b");
    expect([refused.code, refused.summary, refused.stderr]).toEqual([
      1,
      undefined,
      expect.stringMatching(/^error: --feed must be a name of 1 to 255 characters/),
    ]);
  });

  test("keeps what a secdb says of packages, which is complete for the fixes of its distribution", async () => {
    const { run, put, group, url } = await installation();
    const secdb = { packages: [{ pkg: { name: "openssl", secfixes: { "1-r0": ["CVE-2026-1000"] } } }] };
    const feed = await put("security.json", JSON.stringify(secdb));
    await run("advisories", feed, "--group", group, "--feed", "secdb");
    await run("advisories", await put("a.jsonl", lines(1).join("")), "--group", group, "--feed", "documents");
    const database = await openDatabase(url);
    onTestFinished(() => database.close());
    const coverage = async (name: string) => (await feedClaims(database.read)).coverage(name, "pkg:apk/wolfi/openssl");
    expect([await coverage("secdb"), await coverage("documents")]).toEqual(["FIXES_ONLY", undefined]);
    const found = await database.read.list(affectedPackages, {
      where: [{ column: "feed", equals: "secdb" }],
      limit: 9,
    });
    expect(found.map(({ columns }) => columns.package_key)).toEqual(["pkg:apk/wolfi/openssl"]);
    await run("advisories", feed, "--group", group, "--feed", "secdb", "--complete-for", "pkg:apk/wolfi/openssl");
    expect([await coverage("secdb"), (await feedClaims(database.read)).coverage("secdb", "pkg:apk/wolfi/a")]).toEqual([
      "COMPLETE",
      undefined,
    ]);
  });

  const vex = (purl: string, cve: string, more: object = {}) =>
    JSON.stringify({
      "@context": "https://openvex.dev/ns/v0.2.0",
      "@id": "https://vex.example.com/same",
      author: "Example Security",
      timestamp: "2026-01-01T00:00:00Z",
      version: 1,
      statements: [{ vulnerability: { name: cve }, products: [{ "@id": purl }], status: "affected", ...more }],
    });

  test("takes a VEX repository as it is, with several documents about a product", async () => {
    const { run, put, group, folder } = await installation();
    await mkdir(join(folder, "hub/pkg/tool"), { recursive: true });
    const location = "pkg/tool/a.openvex.json";
    await put(
      "hub/index.json",
      JSON.stringify({ updated_at: "2026-03-23T00:00:00Z", packages: [{ id: "x", location }] }),
    );
    await put("hub/vex-repository.json", JSON.stringify({ versions: [{ spec_version: "0.1", locations: [] }] }));
    await put("hub/pkg/tool/manifest.json", JSON.stringify({ ID: "pkg:golang/tool", Sources: [] }));
    await put("hub/pkg/tool/a.openvex.json", vex("pkg:golang/tool@v1", "CVE-1"));
    await put("hub/pkg/tool/b.openvex.json", vex("pkg:golang/tool@v1", "CVE-2"));
    await put("hub/pkg/tool/copy.openvex.json", vex("pkg:golang/tool@v1", "CVE-2"));
    await put("hub/pkg/tool/c.openvex.json", vex("pkg:golang/tool@v2", "CVE-2"));
    const into = [join(folder, "hub"), "--group", group, "--feed", "hub", "--prune"];
    const first = await run("advisories", ...into, "--strict");
    expect(first).toMatchObject({ code: 0, stderr: "", summary: { ...nothing, read: 6, added: 6, passedOver: 3 } });
    const second = await run("advisories", ...into);
    expect(second).toMatchObject({ code: 0, summary: { ...nothing, read: 6, unchanged: 6, passedOver: 3 } });
    await put("hub/pkg/tool/b.openvex.json", vex("pkg:golang/tool@v1", "CVE-2", { status: "maybe" }));
    await put("hub/pkg/tool/c.openvex.json", vex("pkg:golang/other@v2", "CVE-2"));
    await put("hub/pkg/tool/copy.openvex.json", vex("pkg:golang/other@v3", "CVE-2"));
    const refused = await run("advisories", ...into);
    expect(refused.summary).toEqual({ ...nothing, read: 7, added: 4, unchanged: 2, refused: 1, passedOver: 3 });
    await put("hub/pkg/tool/b.openvex.json", "{}");
    expect((await run("advisories", ...into)).summary).toMatchObject({ unchanged: 6, removed: 4, passedOver: 4 });
  });

  test.each([["SIGKILL"], ["SIGINT"]] as const)("is continued by running again after %s", async (signal) => {
    const { run, put, group, url } = await installation();
    const all = lines(3000);
    const server = createServer((_, response) => response.write(all.slice(0, 200).join(""))); // and no end
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.jsonl`;
    const args = [
      "import",
      "advisories",
      address,
      "--group",
      group,
      "--feed",
      "f",
      "--distribution",
      "wolfi",
      "--database",
      url,
      "--json",
    ];
    const child = spawn(process.execPath, [programEntry(), ...args], { env: cleanEnvironment() });
    const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
    const database = await openDatabase(url);
    onTestFinished(() => database.close());
    while ((await storedDocuments(database)) === 0) await setTimeout(20);
    child.kill(signal);
    await once(child, "close");
    const stored = await storedDocuments(database);
    if (signal === "SIGINT") {
      expect([child.exitCode, await stderr]).toEqual([1, "error: stopped; run the command again to continue\n"]);
      expect(JSON.parse(await stdout)).toEqual({ ...nothing, read: 11 * stored, added: 11 * stored });
    }
    const feed = await put("feed.jsonl", all.join(""));
    expect((await run("advisories", feed, "--group", group, "--feed", "f")).summary).toEqual({
      ...nothing,
      read: 3300,
      added: 3300 - 11 * stored,
      unchanged: 11 * stored,
    });
  });

  test("needs a group that is there", async () => {
    const { run, put } = await installation();
    const feed = await put("feed.jsonl", lines(10).join(""));
    expect(await run("advisories", feed)).toMatchObject({ code: 2, summary: undefined });
    const unknown = "0".repeat(40);
    expect(await run("advisories", feed, "--group", unknown)).toEqual({
      code: 1,
      stderr: `error: --group: there is no group ${unknown}\n`,
      summary: undefined,
    });
  });
});
