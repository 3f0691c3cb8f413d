/** The line that tells on a terminal how far a command is. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runPlatform } from "../cli/platform-process.ts";
import { startStub } from "./stub-server.ts";
import { hasTerminal, onTerminal } from "./terminal.ts";

let server: Awaited<ReturnType<typeof startStub>>;
let env: Record<string, string>;

/** Pages of two roles, each of which takes a while. It is a resource as well. */
beforeAll(async () => {
  server = await startStub(async ({ pageToken }) => {
    const page = Number(pageToken || 0);
    await sleep(400);
    const roles = [1, 2].map((i) => ({ uid: `${page}${i}`, name: `r${page}${i}` }));
    return [200, { uid: "x", roles, totalCount: "40000", ...(page < 5 && { nextPageToken: `${page + 1}` }) }];
  });
  env = { PLATFORM_SERVER: server.url };
});
afterAll(() => server.stop());

async function screenOf(line: string): Promise<string> {
  return (await onTerminal(line, { env })).replaceAll("\u001b[K", "<clear>");
}

test.runIf(hasTerminal)("list --all tells how many of all it has, where the list goes to a file", async () => {
  const screen = await screenOf("platform list roles --all >/dev/null");
  expect(screen).toMatch(/^(\r<clear>\d+ of 40,000)+\r<clear>$/);
});

test.runIf(hasTerminal)("a list on the terminal shows itself how far it is", async () => {
  const screen = await screenOf("platform list roles --all");
  expect(screen).toContain("r51");
  expect(screen).not.toContain("of 40,000");
});

test("nothing is told where standard error is not a terminal", async () => {
  const { code, stderr } = await runPlatform(["list", "roles", "--all", "-o", "name"], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test.runIf(hasTerminal)("wait tells what is the case", async () => {
  const screen = await screenOf("platform wait advisory x --for deleted --within 5 || true");
  expect(screen).toMatch(/\r<clear>\d s: advisory\/\S* exists/);
});
