/** What commands print about findings, against a real server. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestOf, sbomOf, startSeeded } from "./seeded-server.ts";

let server: Awaited<ReturnType<typeof startSeeded>>;

beforeAll(async () => {
  server = await startSeeded();
});
afterAll(() => server.stop());

const output = (...args: string[]) => server.done(...args);
const jsonOf = async (...args: string[]) => JSON.parse(await output(...args, "-o", "json"));

describe("list", () => {
  test("findings, in columns that tell most", async () => {
    const [heading, first, ...others] = (await output("list", "findings")).trimEnd().split("\n");
    expect(heading).toMatch(/^LEVEL +VULNERABILITY +PACKAGE +FIXED-IN +IMAGE +SCORE +STATE +FIRST-SEEN$/);
    expect(first).toMatch(
      new RegExp(
        `^critical +CVE-2026-0001 +pkg:npm/lodash@4\\.17\\.20 +4\\.17\\.21 +library/api:1\\.3@${digestOf("1.3")} +10 +affected +2026-`,
      ),
    );
    expect(others).toHaveLength(2);
  });

  test.each([
    [["--image", "library/api:1.3"], 2],
    [["--image", "team/library/api:1.4"], 1],
    [["--image", `library/api@${digestOf("1.3")}`, "--levels", "critical,high"], 1],
    [["--repo", "team/library/api"], 3],
    [["--below", "team", "--filter", "vulnerability_ids=GHSA-dddd-eeee-ffff"], 2],
    [["--states", "not-affected"], 0],
    [["--package-names", "nothing"], 0],
  ])("findings %j", async (args, count) => {
    expect(await jsonOf("list", "findings", ...args)).toHaveLength(count);
  });

  test("images and components by what is in them", async () => {
    expect(await output("list", "images", "--vulnerability-ids", "CVE-2026-0001")).toMatch(
      new RegExp(`^REPO .*\nlibrary/api +1\\.3 +1 critical, 1 medium +${digestOf("1.3")} `),
    );
    expect(await jsonOf("list", "images", "--purl", "pkg:npm/lodash", "--version", "vers:npm/<4.17.21")).toHaveLength(
      1,
    );
    const components = await output("list", "components", "--image", "library/api:1.3", "--order-by", "package desc");
    expect(components.split("\n").map((line) => line.split(/ +/)[0])).toEqual([
      "PACKAGE",
      "pkg:npm/%40scope/pkg@1.0.0",
      "pkg:npm/lodash@4.17.20",
      "pkg:npm/gone@1.0.0",
      "",
    ]);
  });

  test("vulnerabilities, and one by any of its ids", async () => {
    expect(await output("list", "vulnerabilities", "--levels", "critical")).toMatch(
      /^ID +LEVEL +SCORE +PUBLISHED +SUMMARY\nCVE-2026-0001 +critical +10 +2026-01-01T\S+ +Something in lodash\n$/,
    );
    const printed = await output("get", "vulnerability", "GHSA-aaaa-bbbb-cccc");
    expect(printed).toMatch(/^id +CVE-2026-0001$/m);
    expect(printed).toMatch(/^affected:\n {2}PACKAGE-URL +RANGES .*\n {2}pkg:npm\/lodash +vers:npm\//m);
  });

  test("what a tag has named", async () => {
    const printed = await output("list", "tag-history", "--uid", "library/api/1.3");
    expect(printed).toMatch(new RegExp(`^DIGEST +FROM\n${digestOf("1.3")} +20`));
  });

  test("has pages, totals and every format that has a place for them", async () => {
    const { stdout, stderr } = await server.run(["list", "findings", "--limit", "1", "-o", "yaml"]);
    expect(stdout).toMatch(/^vulnerabilityId: CVE-2026-0001$/m);
    expect(stderr).toBe("2 more: --all prints them, --limit 3 too\n");
    expect(await output("list", "findings", "--all", "-o", "jsonpath={.items[*].component.name}")).toBe(
      "lodash pkg pkg",
    );
    expect(await server.run(["list", "findings", "-o", "name"])).toMatchObject({
      code: 2,
      stderr: "error: -o name: Finding has no uid\n",
    });
    expect(await server.run(["list", "findings", "-o", "documents"])).toMatchObject({
      code: 2,
      stderr: "error: -o documents: findings have none: the API cannot create or change them\n",
    });
  });
});

test("get image finds by tag and by digest", async () => {
  for (const name of [
    "library/api:1.3",
    "team/library/api:1.3",
    `library/api@${digestOf("1.3")}`,
    `${server.repo}:1.3`,
  ])
    expect(await jsonOf("get", "image", name)).toMatchObject({ digest: digestOf("1.3"), componentCount: 3 });
  for (const [name, code, message] of [
    ["library/api:9", 3, "library/api:9: the repo has no tag 9"],
    ["library/none:1", 3, "no repo is named library/none"],
    ["library/api", 2, "library/api: name an image as REPO:TAG or REPO@DIGEST"],
  ] as const)
    expect(await server.run(["get", "image", name])).toMatchObject({ code, stderr: `error: ${message}\n` });
});

describe("compare", () => {
  test("prints the images, the findings and the packages that differ", async () => {
    const printed = await output("compare", "library/api:1.3", ":1.4");
    const [images, findings, packages] = printed.split("\n\n");
    expect(images).toMatch(
      /^IMAGE .*\nbase +library\/api +.*1 critical, 1 medium .*\ntarget +library\/api +.*1 medium /,
    );
    expect(findings).toMatch(/^findings: 1 gone\nCHANGE .*\ngone +critical +CVE-2026-0001 /);
    expect(packages).toMatch(
      /^packages: 1 added, 1 changed, 1 removed\nCHANGE +PACKAGE +BASE +TARGET\nadded +npm\/come +- +1\.0\.0\nchanged +npm\/lodash +4\.17\.20 +4\.17\.21\nremoved +npm\/gone +1\.0\.0 +-\n$/,
    );
    expect(await output("compare", "library/api:1.3", "library/api:1.3")).toMatch(
      /\n\nfindings: no difference\n\npackages: no difference\n$/,
    );
  });

  test("fails by what only the target has", async () => {
    const compare = (base: string, target: string, ...args: string[]) =>
      server.run(["compare", `library/api:${base}`, `library/api:${target}`, "-o", "json", ...args]);
    expect(await compare("1.3", "1.4", "--fail-on", "any")).toMatchObject({ code: 0, stderr: "" });
    const worse = await compare("1.4", "1.3", "--fail-on", "high");
    expect(worse).toMatchObject({ code: 5, stderr: "error: 1 finding is at or above the level high\n" });
    expect(JSON.parse(worse.stdout).findings.opened).toMatchObject([{ vulnerabilityId: "CVE-2026-0001" }]);
    expect(await compare("1.3", "9")).toMatchObject({ code: 3 });
  });
});

test("of images, their packages and repos, names are completed", async () => {
  const completions = async (...words: string[]) => {
    const env = { PLATFORM_COMPLETION_TIMEOUT: "60" }; // a busy machine can pause
    const { stdout } = await server.run(["__complete", "--", ...words], env);
    return stdout
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((line) => line.split("\t")[0]);
  };
  expect(await completions("compare", "")).toEqual(["library/api:"]);
  expect(await completions("compare", "team/library/")).toEqual(["team/library/api:"]);
  expect((await completions("compare", "library/api:1.3", ":")).sort()).toEqual([":1.3", ":1.4"]);
  expect((await completions("get", "image", "team/library/api:1")).sort()).toEqual([
    "team/library/api:1.3",
    "team/library/api:1.4",
  ]);
  for (const words of [
    ["list", "findings", "--image"],
    ["upload", "sbom", "sbom.json", "--image"],
    ["export", "sbom"],
  ])
    expect(await completions(...words, "library/api:")).toHaveLength(2);
  expect(await completions("list", "findings", "--repo", "")).toEqual(["library/api"]);
  expect((await completions("get", "vulnerability", "")).sort()).toEqual(["CVE-2026-0001", "CVE-2026-0002"]);
  expect(await completions("list", "findings", "--levels", "")).toEqual(["none", "low", "medium", "high", "critical"]);
  expect(await completions("check", "--fail-on", "")).toEqual(["any", "low", "medium", "high", "critical"]);
  expect(await completions("check", "--output", "s")).toContain("sarif");
});

describe("check", () => {
  test("asks for packages by their package URLs", async () => {
    const { code, stdout, stderr } = await server.run(["check", "pkg:npm/lodash@4.17.20", "pkg:npm/lodash@4.17.21"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "2 packages: 1 critical\n" });
    expect(stdout).toMatch(/^LEVEL +VULNERABILITY .*\ncritical +CVE-2026-0001 +pkg:npm\/lodash@4\.17\.20 +4\.17\.21 /);
    expect(await jsonOf("check", "pkg:npm/lodash@4.17.21")).toMatchObject([
      { component: { purl: "pkg:npm/lodash@4.17.21" }, findings: [] },
    ]);
  });

  test("says the same of the packages of a bill of materials, and stores nothing", async () => {
    const before = await jsonOf("list", "components", "--all");
    const checked = await jsonOf("check", "--sbom", join(server.folder, "1.3.cdx.json"));
    const findings = checked.flatMap((each: { findings: object[] }) => each.findings);
    const ofImage = await jsonOf("list", "findings", "--image", "library/api:1.3");
    const known = (list: { component: { purl: string }; vulnerabilityId: string }[]) =>
      list.map(({ component, vulnerabilityId }) => `${component.purl} ${vulnerabilityId}`).sort();
    expect(known(findings)).toEqual(known(ofImage));
    expect(await jsonOf("list", "components", "--all")).toEqual(before);
  });

  test.each([
    ["pkg:npm/lodash@4.17.20", "high", 5],
    ["pkg:npm/lodash@4.17.20", "critical", 5],
    ["pkg:npm/%40scope/pkg@1.0.0", "any", 5],
    ["pkg:npm/%40scope/pkg@1.0.0", "medium", 5],
    ["pkg:npm/%40scope/pkg@1.0.0", "high", 0],
    ["pkg:npm/lodash@4.17.21", "any", 0],
  ])("of %s with --fail-on %s ends with status %i", async (purl, level, code) => {
    expect((await server.run(["check", purl, "--fail-on", level])).code).toBe(code);
  });

  test("names what it could not ask for", async () => {
    const file = join(server.folder, "partly.cdx.json");
    const { components, ...document } = sbomOf({ lodash: "4.17.21", nothing: "" });
    await writeFile(
      file,
      JSON.stringify({ ...document, components: [...components, { type: "library", name: "x", version: "1" }] }),
    );
    const { code, stderr } = await server.run(["check", "--sbom", file]);
    expect(code).toBe(0);
    expect(stderr).toContain("3 packages: no findings\n");
    expect(stderr).toContain("note: 1 package cannot be matched: has no type\n");
    expect(stderr).toContain("note: 1 package cannot be matched: has no version\n");
    expect(await jsonOf("check", "--sbom", file)).toMatchObject([
      { component: { name: "lodash" }, unmatchedReason: "" },
      { component: { name: "nothing", version: "" }, unmatchedReason: "has no version" },
      { component: { name: "x", version: "1" }, unmatchedReason: "has no type" },
    ]);
  });

  test.each<[string, string[], number, string]>([
    ["nothing", [], 2, "give package URLs, or --sbom FILE"],
    ["no package URL", ["lodash"], 2, '"lodash" is not a package URL'],
    ["a package URL without version", ["pkg:npm/lodash"], 2, "pkg:npm/lodash has no version"],
    ["an image", ["pkg:docker/nginx@1"], 2, "pkg:docker/nginx@1 is an image, not a package"],
    ["a package without distribution", ["pkg:deb/curl@1"], 2, "pkg:deb/curl@1 names no distribution"],
    ["a file that is not there", ["--sbom", "none.json"], 2, "--sbom: cannot read none.json: ENOENT"],
    ["a file that is none", ["--sbom", "platform.db"], 2, "platform.db: is not"],
    ["another level", ["pkg:npm/lodash@1.0.0", "--fail-on", "severe"], 2, "Allowed choices are any, low, medium"],
  ])("refuses %s", async (_, args, code, message) => {
    const outcome = await server.run(["check", ...args]);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toContain(message);
  });

  test("needs a token", async () => {
    const wrong = { PLATFORM_TOKEN: "wrong" };
    expect(await server.run(["check", "pkg:npm/lodash@4.17.20"], wrong)).toMatchObject({ code: 4, stdout: "" });
  });
});
