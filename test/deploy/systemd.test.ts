/** The units of deploy/systemd, by systemd's own checks. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repository, temporaryFolder } from "../cli/platform-process.ts";

const folder = join(repository, "deploy/systemd");
const isThere = (() => {
  try {
    return execFileSync("systemd-analyze", ["--version"], { encoding: "utf8" }).startsWith("systemd");
  } catch {
    return false;
  }
})();
if (!isThere) console.warn("skipped, the units of systemd are not checked: there is no systemd-analyze");

describe.skipIf(!isThere)("systemd", () => {
  /** A copy of the units, with programs that exist. */
  async function copy(): Promise<string> {
    const target = await temporaryFolder();
    for (const file of readdirSync(folder)) {
      const text = readFileSync(join(folder, file), "utf8").replaceAll("/usr/bin/platform", process.execPath);
      writeFileSync(join(target, file), text);
    }
    return target;
  }

  test("accepts every unit", async () => {
    const target = await copy();
    const units = readdirSync(target).map((file) => join(target, file));
    expect(execFileSync("systemd-analyze", ["verify", "--man=no", ...units], { encoding: "utf8" })).toBe("");
  });

  test("finds the service well confined", async () => {
    const unit = join(await copy(), "platform.service");
    const args = ["security", "--offline=true", "--no-pager", "--threshold=15", unit];
    expect(execFileSync("systemd-analyze", args, { encoding: "utf8" })).toMatch(
      /exposure level for platform.service: 1\.[0-5] OK/,
    );
  });
});
