/** docs/tls.md: its commands are run, where OpenSSL is. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  cleanEnvironment,
  repository,
  settingsIn,
  startPlatformForTest,
  temporaryFolder,
} from "../cli/platform-process.ts";
import { blocksOf } from "./recipe.ts";

/** The command line, as a package that is installed has it. */
const program = `platform() { "${process.execPath}" "${join(repository, "bin/platform.js")}" "$@"; }`;

const missing = ["openssl", "curl"].filter((program) => spawnSync(program, ["version"]).error !== undefined);
if (missing.length > 0) console.warn(`docs/tls.md is not followed: ${missing.join(" and ")} cannot be run`);

test.skipIf(missing.length > 0)("the commands of docs/tls.md do what it says", async () => {
  const cwd = await temporaryFolder();
  const env: Record<string, string | undefined> = cleanEnvironment();
  const blocks = blocksOf(readFileSync(join(repository, "docs/tls.md"), "utf8"));
  for (const [i, { language, path, content }] of blocks.entries()) {
    if (language !== "sh") continue;
    if (path === "server") {
      const [, ...flags] = content
        .replaceAll("\\\n", " ")
        .trim()
        .split("serve ")
        .flatMap((part) => part.split(/ +/));
      const serve = flags.slice(flags.indexOf("--tls-cert"));
      const server = await startPlatformForTest([...settingsIn(cwd).serve, "--init-token-file", "token", ...serve], {
        cwd,
      });
      await expect.poll(server.stdout).toContain("token");
      Object.assign(env, { API: server.baseUrl, PLATFORM_TOKEN: readFileSync(join(cwd, "token"), "utf8").trim() });
      continue;
    }
    const output = execFileSync("bash", ["-euc", `${program}\n${content}`], {
      cwd,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const next = blocks[i + 1];
    if (next !== undefined && ["json", "text"].includes(next.language)) expect(output.trim()).toBe(next.content.trim());
    if (content.includes("-enddate")) expect(output).toMatch(/^serial=[0-9A-F]+\nnotAfter=.*GMT\n$/);
  }
});
