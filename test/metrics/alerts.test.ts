/** The alarms, by Prometheus's own tool: their syntax, and when they fire. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";

const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;
if (!hasPromtool) console.warn("the alarms are not tested: there is no promtool (Debian's package prometheus)");

test.skipIf(!hasPromtool).each([
  ["check", "rules", join(repository, "deploy/prometheus/alerts.yaml")],
  ["test", "rules", join(import.meta.dirname, "alerts.promtool.yaml")],
])("promtool %s %s", (...args) => {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  expect(status, `${stdout}${stderr}`).toBe(0);
});
