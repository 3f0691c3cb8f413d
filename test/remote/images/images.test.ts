/** `platform upload` and `platform export sbom`, with the token of a CI job. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { trivyReport } from "../../feeds/formats/vuln-reports.ts";
import { startWithFolder } from "../server.ts";

const digest = `sha256:${"1".repeat(64)}`;
const sbom = {
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  mood: 1,
  components: [
    { type: "library", name: "lodash", version: "4.17.20", purl: "pkg:npm/lodash@4.17.20" },
    { type: "library", name: "nothing" },
  ],
};

let server: Awaited<ReturnType<typeof startWithFolder>>;
let repo: string;

beforeAll(async () => {
  server = await startWithFolder();
  const made = await server.run(["create", "repo", "--parent", server.root, "--name", "team/app", "-o", "json"]);
  repo = JSON.parse(made.stdout).uid;
  await server.run(["create", "tag", "--parent", repo, "--name", "1.4", "--digest", digest]);
  await writeFile(join(server.folder, "app.cdx.json"), JSON.stringify(sbom));
  await writeFile(join(server.folder, "app.cdx.json.gz"), gzipSync(JSON.stringify(sbom)));
  await writeFile(join(server.folder, "broken.json"), "{");
  await writeFile(join(server.folder, "scan.json"), JSON.stringify(trivyReport("2026-11-03T10:00:00Z")));
  const vex = {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://example.com/vex/1",
    author: "Example",
    timestamp: "2026-11-03T10:00:00Z",
    version: 1,
    statements: [
      { vulnerability: { name: "CVE-2026-1" }, products: [{ "@id": "pkg:apk/wolfi/a@1-r0" }], status: "affected" },
    ],
  };
  await writeFile(join(server.folder, "vex.json"), JSON.stringify(vex));
});
afterAll(() => server.stop());

test("a bill of materials is sent and comes back as it was", async () => {
  const sent = await server.run(["upload", "sbom", "app.cdx.json", "--image", "team/app:1.4"]);
  expect(sent).toMatchObject({ code: 0, stdout: "CycloneDX 1.6, 1 package, unmatched 1, unread 1\n" });
  expect(sent.stderr).toBe("unmatched: nothing: has no version\nunread: mood\n");
  const again = await server.run(["upload", "sbom", "app.cdx.json.gz", "--image", `${repo}@${digest}`, "--json"]);
  expect(JSON.parse(again.stdout)).toMatchObject({ digest, componentCount: 1, leftOut: { unread: ["mood"] } });
  const came = await server.run(["export", "sbom", "team/app:1.4"]);
  expect(came.stdout).toBe(JSON.stringify(sbom));
  const made = await server.run(["export", "sbom", "team/app:1.4", "--format", "spdx-2.3"]);
  expect(JSON.parse(made.stdout).spdxVersion).toBe("SPDX-2.3");
});

test("a scan and VEX are sent", async () => {
  const scan = await server.run(["upload", "scan", "scan.json", "--image", `team/app@${digest}`]);
  expect(scan).toMatchObject({ code: 0, stdout: expect.stringMatching(/^TRIVY, \d+ findings?/) });
  const vex = await server.run(["upload", "vex", "vex.json", "--group", server.root]);
  expect(vex).toMatchObject({ code: 0, stdout: "OpenVEX, 1 package\n" });
});

test.each<[string, string[], Record<string, string>, number, string]>([
  ["a file that is not there", ["none.json", "--image", "team/app:1.4"], {}, 1, "none.json: ENOENT"],
  ["broken JSON", ["broken.json", "--image", "team/app:1.4"], {}, 7, "document: is not JSON"],
  ["no image", ["app.cdx.json", "--image", "team/app"], {}, 2, "name an image as REPO:TAG or REPO@DIGEST"],
  ["a digest that is none", ["app.cdx.json", "--image", "team/app@latest"], {}, 2, "the digest must be"],
  ["an unknown tag", ["app.cdx.json", "--image", "team/app:2"], {}, 3, "the repo has no tag 2"],
  ["a wrong token", ["app.cdx.json", "--image", `REPO@${digest}`], { PLATFORM_TOKEN: "wrong" }, 4, "token"],
])("%s is refused", async (_, args, env, code, text) => {
  const refused = await server.run(["upload", "sbom", ...args.map((arg) => arg.replace("REPO", repo))], env);
  expect(refused).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(text) });
});

test("a large document is refused to a wrong token before all of it is sent", async () => {
  const components = Array.from({ length: 200_000 }, (_, i) => ({ name: `${Math.random()}`, version: `${i}` }));
  await writeFile(join(server.folder, "large.json"), JSON.stringify({ ...sbom, components }));
  const args = ["upload", "sbom", "large.json", "--image", `${repo}@${digest}`];
  const refused = await server.run(args, { PLATFORM_TOKEN: "wrong" });
  expect(refused).toMatchObject({ code: 4, stdout: "" });
});
