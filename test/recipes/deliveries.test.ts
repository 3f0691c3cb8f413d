/** docs/deliveries.md: its commands are run against a server, with a receiver on this machine. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import {
  cleanEnvironment,
  repository,
  settingsIn,
  startPlatformForTest,
  temporaryFolder,
} from "../cli/platform-process.ts";
import { startSink } from "../conformance/event-sink.ts";
import { blocksOf } from "./recipe.ts";

const program = `platform() { "${process.execPath}" "${join(repository, "bin/platform.js")}" "$@"; }`;

test("the commands of docs/deliveries.md are accepted, and its events arrive", async () => {
  const cwd = await temporaryFolder();
  const sink = await startSink();
  onTestFinished(() => sink.close());
  const flags = [...settingsIn(cwd).serve, "--init-token-file", "token"];
  const server = await startPlatformForTest(flags, { cwd, env: { PLATFORM_ALLOW_LOOPBACK_SINKS: "true" } });
  await expect.poll(server.stdout).toContain("token");
  const env: Record<string, string | undefined> = {
    ...cleanEnvironment(),
    PLATFORM_SERVER: server.baseUrl,
    PLATFORM_TOKEN: readFileSync(join(cwd, "token"), "utf8").trim(),
  };
  const run = async (script: string) =>
    (await promisify(execFile)("bash", ["-euc", `${program}\n${script}`], { cwd, env })).stdout;
  const created = await run(`platform create subscription --parent platform --sink ${sink.url("/events")} -o json`);
  env.SUBSCRIPTION = JSON.parse(created).uid;
  env.EVENT_ID = JSON.parse(
    await run('platform deliveries send-test-event --subscription "$SUBSCRIPTION" -o json'),
  ).eventId;
  await expect.poll(() => sink.received).toHaveLength(1);

  const blocks = blocksOf(readFileSync(join(repository, "docs/deliveries.md"), "utf8"));
  for (const { content } of blocks) expect(await run(content)).not.toBe("");
  const ids = () => sink.received.map(({ headers }) => headers["ce-id"]);
  await expect.poll(ids).toHaveLength(3); // the first, its replay, and another test event
  expect(ids().filter((id) => id === env.EVENT_ID)).toHaveLength(2);
}, 180_000);
