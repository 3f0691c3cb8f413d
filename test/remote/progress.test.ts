/** The line that tells on a terminal how far a command is. */

import { execFile, execFileSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanEnvironment, repository, runPlatform } from "../cli/platform-process.ts";

/** Pages of two roles, each of which takes a while. */
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const page = Number(JSON.parse(body).pageToken || 0);
  await sleep(400);
  const roles = [1, 2].map((i) => ({ uid: `${page}${i}`, name: `r${page}${i}` }));
  const nextPageToken = page < 5 ? `${page + 1}` : undefined;
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ roles, nextPageToken, totalCount: "40000" }));
});
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  env = { ...cleanEnvironment(), PLATFORM_SERVER: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
});
afterAll(() => void server.close());

/** Runs a command line of the shell on a terminal. Returns what it prints, with `<clear>` for clearing a line. */
async function onTerminal(command: string): Promise<string> {
  const program = `'${process.execPath}' '${join(repository, "src/main.ts")}'`;
  const line = command.replace("platform", program);
  return (await promisify(execFile)("script", ["-qec", line, "/dev/null"], { env })).stdout.replaceAll(
    "\u001b[K",
    "<clear>",
  );
}

const hasTerminal = (() => {
  try {
    execFileSync("script", ["--version"]);
    return true;
  } catch {
    console.warn("skipped, script is missing: progress on a terminal");
    return false;
  }
})();

test.runIf(hasTerminal)("list --all tells how many of all it has, where the list goes to a file", async () => {
  const screen = await onTerminal("platform list roles --all >/dev/null");
  expect(screen).toMatch(/^(\r<clear>\d+ of 40,000)+\r<clear>$/);
});

test.runIf(hasTerminal)("a list on the terminal shows itself how far it is", async () => {
  const screen = await onTerminal("platform list roles --all");
  expect(screen).toContain("r51");
  expect(screen).not.toContain("of 40,000");
});

test("nothing is told where standard error is no terminal", async () => {
  const { code, stderr } = await runPlatform(["list", "roles", "--all", "-o", "name"], {
    env: { PLATFORM_SERVER: env.PLATFORM_SERVER! },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test.runIf(hasTerminal)("wait tells what is the case", async () => {
  const screen = await onTerminal("platform wait advisory x --for deleted --within 5 2>&1 || true");
  expect(screen).toMatch(/\r<clear>\d s: advisory\/\S* exists/);
});
