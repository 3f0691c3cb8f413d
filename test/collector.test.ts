import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const program = fileURLToPath(new URL("collector-start.ts", import.meta.url));

async function collections(...args: string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args]);
  return JSON.parse(stdout).collections;
}

it("collects soon after the start of a server, not when the heap has grown several times", async () => {
  expect(await collections()).toBeGreaterThan(await collections("unlimited"));
});
