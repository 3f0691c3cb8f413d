/** `platform import vuln-report` and `platform import eol`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newRow } from "../../../src/resource/index.ts";
import { saveImage } from "../../../src/services/index.ts";
import { openDatabase } from "../../../src/store/index.ts";
import { grypeReport, reportDigest, trivyReport } from "../../feeds/formats/vuln-reports.ts";
import { runHere } from "../run-here.ts";

const repo = `${"ab".repeat(20)}/${"cd".repeat(8)}`;
let folder: string;
let database: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-scans-"));
  database = `sqlite:${join(folder, "platform.db")}`;
  expect(await runHere(["init", "--database", database])).toMatchObject({ code: 0 });
  const writer = await openDatabase(database);
  await writer.transact(async (session) => {
    const row = newRow(repo, repo.slice(0, 40), 1, { body: Buffer.alloc(0), columns: { name: "app" } });
    await session.insert({ name: "repos", columns: { name: "text" } }, row);
    await saveImage(session, repo, { digest: reportDigest, mediaType: "m", platforms: [] }, 1);
  });
  await writer.close();
});
afterAll(() => rm(folder, { recursive: true }));

async function run(command: string, document: unknown, ...options: string[]) {
  const path = join(folder, `${Math.random()}.json`);
  await writeFile(path, typeof document === "string" ? document : JSON.stringify(document));
  const { code, stdout, stderr } = await runHere(["import", command, path, ...options, "--database", database]);
  return { code, stdout, stderr: stderr.replaceAll(path, "FILE").replaceAll(basename(path), "NAME") };
}

test("a report is stored whole, and the second time nothing", async () => {
  const summary = "findings 4, refused 0, unread 0, UNKNOWN 0, NEGLIGIBLE 1, LOW 1, MEDIUM 0, HIGH 0, CRITICAL 1\n";
  expect(await run("vuln-report", grypeReport(), "--repo", repo)).toMatchObject({
    code: 0,
    stdout: `added, ${summary}`,
  });
  expect(await run("vuln-report", grypeReport(), "--repo", repo)).toMatchObject({
    code: 0,
    stdout: `unchanged, ${summary}`,
  });
  const trivy = await run("vuln-report", trivyReport(), "--repo", repo, "--tag", "1.0", "--json");
  expect(JSON.parse(trivy.stdout)).toMatchObject({ result: "added", findings: 3, CRITICAL: 1 });
});

test("a bad finding is refused alone", async () => {
  const bad = { vulnerability: { id: "" }, artifact: { name: "a" } };
  const { code, stdout, stderr } = await run("vuln-report", grypeReport(undefined, [bad]), "--repo", repo);
  expect([code, stdout.split(",").slice(0, 3).join()]).toEqual([1, "changed, findings 4, refused 1"]);
  expect(stderr).toContain("refused: NAME: matches[4]: matches[4].vulnerability.id: is empty\n");
  expect(stderr).toMatch(/error: 1 refused\n$/);
});

test.each<[string, unknown, string[], string]>([
  ["no report", { bomFormat: "CycloneDX" }, [], "FILE: is neither a report of Grype nor one of Trivy in JSON"],
  ["no JSON", "{", [], "FILE: is not JSON"],
  ["no digest", { ...grypeReport(), source: {} }, [], "the report names no digest of the image; name it by --digest"],
  ["a digest that is none", grypeReport(), ["--digest", "x"], "--digest must be sha256: and 64 lower-case hex digits"],
  [
    "a digest that the repo lacks",
    grypeReport(),
    ["--digest", `sha256:${"0".repeat(64)}`],
    `--digest: the repo has no image and no tag with sha256:${"0".repeat(64)}`,
  ],
  ["a tag that is none", grypeReport(), ["--tag", "a b"], "--tag: a b is not a tag name"],
])("%s is refused", async (_, document, options, reason) => {
  const { code, stderr } = await run("vuln-report", document, "--repo", repo, ...options);
  expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
});

test("a repo that is not there is refused", async () => {
  const other = repo.replace(/.$/, "0");
  const { code, stderr } = await run("vuln-report", grypeReport(), "--repo", other);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`--repo: there is no repo ${other}`)]);
});

test("the versions of a product are stored, and the second time nothing", async () => {
  const cycles = [
    { cycle: "3.14", eol: "2030-10-31" },
    { cycle: "3.13", eol: "later" },
  ];
  expect(await run("eol", cycles, "--product", "python")).toMatchObject({
    code: 1,
    stdout: "python: added, 1 versions, 1 refused\n",
    stderr: "refused: NAME: cycles[1]: cycles[1].eol: is not a date YYYY-MM-DD\nerror: 1 refused\n",
  });
  const again = await run("eol", cycles, "--product", "python", "--json");
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toEqual({ product: "python", result: "unchanged", versions: 1, refused: 1 });
  expect((await run("eol", cycles)).stderr).toContain("the document does not name its product; name it by --product");
  expect((await run("eol", "[")).stderr).toContain("FILE: is not JSON");
});
