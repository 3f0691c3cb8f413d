/** The guide from v1 to v2: its commands are run, and its tables hold every route of v1. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listRoutes } from "../../src/rest/index.ts";
import { repository } from "../cli/platform-process.ts";
import { isOfV1, servedServices } from "../contract/generated.ts";
import { onEveryServer } from "./platform.ts";

const guide = readFileSync(join(repository, "docs/from-v1.md"), "utf8");
const blocks = [...guide.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, tag, content = ""]) => ({ tag, content }));

onEveryServer("the guide from v1", (platform) => {
  test("its commands print what it shows", async () => {
    const script = blocks.filter(({ tag }) => tag === "sh").map(({ content }) => content);
    const shown = blocks.filter(({ tag }) => tag === "text").map(({ content }) => content);

    const env = { ...process.env, URL: platform().baseUrl, TOKEN: platform().admin };
    const shell = spawn("bash", ["--norc", "-euo", "pipefail", "-c", script.join("\n")], { env });
    let printed = "";
    let remarks = "";
    shell.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    shell.stderr.on("data", (chunk) => {
      remarks += chunk;
    });
    const [code] = await new Promise<unknown[]>((resolve) => shell.once("close", (...all) => resolve(all)));
    expect([code, remarks]).toEqual([0, ""]);
    expect(printed.trimEnd()).toBe(shown.join("").trimEnd());
  });
});

test("its tables hold every route of v1 and no other, beside routes of v2", () => {
  const shape = ({ httpMethod, template }: { httpMethod: string; template: string }) =>
    `${httpMethod} ${template.replace(/=\*\*?(?=\})/g, "")}`;
  const routes = (version: string) =>
    listRoutes(servedServices.filter((service) => isOfV1(service) === (version === "v1"))).map(shape);
  const rows = [...guide.matchAll(/^\| `([A-Z]+ \/[^`]+)` \| (.*) \|$/gm)].map(([, older, newer = ""]) => ({
    older,
    newer,
  }));
  const additional = "POST /iam/v1/groups"; // creates a root group
  expect(rows.map(({ older }) => older).sort()).toEqual(
    routes("v1")
      .filter((route) => route !== additional)
      .sort(),
  );
  const known = new Set(routes("v2"));
  for (const { older, newer } of rows)
    for (const route of newer === "none" ? [] : newer.replaceAll("`", "").split(", "))
      expect(known, `${older}: ${route}`).toContain(route);
});
