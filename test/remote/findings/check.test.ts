/** `platform check` against servers that answer what a test says. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runHere } from "../../cli/run-here.ts";
import { type Answer, startStub } from "../stub-server.ts";
import { sbomOf } from "./seeded-server.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-check-"));
});
afterAll(() => rm(folder, { recursive: true }));

type Query = { readonly purl: string; readonly version?: string };

/** Runs a check of a server that answers each call by its queries. */
async function check(args: readonly string[], answer: (queries: readonly Query[]) => Answer) {
  const { url, stop } = await startStub(({ queries }) => answer(queries as Query[]));
  onTestFinished(stop);
  return runHere(["check", ...args], { cwd: folder, env: { PLATFORM_SERVER: url } });
}

/** A result without findings. */
const nothingOf = ({ purl, version = "" }: Query) => ({ component: { purl: `${purl}@${version}` } });

const evil = "\u001b[2J::error::x";

test("asks for 1,000 packages in a call, and prints the results in their order", async () => {
  const names = Array.from({ length: 2345 }, (_, i) => `p${String(i).padStart(4, "0")}`);
  await writeFile(join(folder, "many.json"), JSON.stringify(sbomOf(Object.fromEntries(names.map((it) => [it, "1"])))));
  const sizes: number[] = [];
  const { code, stdout } = await check(["--sbom", "many.json", "-o", "json"], (queries) => {
    sizes.push(queries.length);
    return [200, { results: queries.map(nothingOf) }];
  });
  expect({ code, sizes }).toEqual({ code: 0, sizes: [1000, 1000, 345] });
  expect(JSON.parse(stdout).map((each: { component: { purl: string } }) => each.component.purl)).toEqual(
    names.map((name) => `pkg:npm/${name}@1`),
  );
});

test("a bill of materials without packages asks for nothing", async () => {
  await writeFile(join(folder, "empty.json"), JSON.stringify(sbomOf({})));
  expect(await check(["--sbom", "empty.json", "--fail-on", "any"], () => [500, {}])).toEqual({
    code: 0,
    stdout: "",
    stderr: "0 packages: no findings\n",
  });
});

test("a server that answers for other packages is none of this API", async () => {
  const outcome = await check(["pkg:npm/a@1", "pkg:npm/b@1"], () => [200, {}]);
  expect(outcome).toMatchObject({ code: 1, stdout: "" });
  expect(outcome.stderr).toMatch(/answers 2 packages with 0 results\nhint: /);
});

test("a server without findings is older", async () => {
  const outcome = await check(["pkg:npm/a@1"], () => [404, { code: "unimplemented", message: "no" }]);
  expect(outcome.stderr).toMatch(/has no method platform\.findings\.v1\.FindingsService\/QueryPackages\nhint: /);
});

test.each(["table", "wide", "json", "yaml", "sarif"])(
  "what a server says is printed as %s without effect",
  async (format) => {
    const finding = {
      ...{ component: { purl: `pkg:npm/a@1${evil}` }, vulnerabilityId: evil, fixedVersion: evil, aliases: [evil] },
      ...{ level: "LEVEL_CRITICAL", state: "STATE_AFFECTED" },
    };
    const { code, stdout, stderr } = await check(["pkg:npm/a@1", "-o", format], () => [
      200,
      { results: [{ findings: [finding] }] },
    ]);
    expect(code).toBe(0);
    expect((stdout + stderr).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(stdout).not.toMatch(/^\s*::error::/m);
    if (format === "json") expect(JSON.parse(stdout)[0].findings[0].vulnerabilityId).toBe(evil);
    if (format === "sarif") expect(JSON.parse(stdout).runs[0].results[0].ruleId).toBe(evil);
  },
);
