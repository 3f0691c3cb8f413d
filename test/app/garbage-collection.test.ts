import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { isTuningOn } from "../../src/app/garbage-collection.ts";
import { settingsIn, startPlatformForTest, temporaryFolder } from "../cli/platform-process.ts";

const program = fileURLToPath(new URL("garbage-collection-start.ts", import.meta.url));

async function collections(...args: string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args]);
  return JSON.parse(stdout).collections;
}

it("collects soon after the start of a server, not when the heap has grown several times", async () => {
  const tuned = await collections();
  expect(tuned).toBeGreaterThan(await collections("untuned"));
});

describe("--gc-tuning", () => {
  it.each<[string[], NodeJS.ProcessEnv, boolean]>([
    [["serve"], {}, true],
    [["serve", "--gc-tuning=off"], {}, false],
    [["serve", "--gc-tuning", "off"], {}, false],
    [["serve", "--gc-tuning=off", "--gc-tuning=on"], {}, true],
    [["serve"], { PLATFORM_GC_TUNING: "off" }, false],
    [["serve", "--gc-tuning=on"], { PLATFORM_GC_TUNING: "off" }, true],
    [["serve", "--config=off.json"], {}, false],
    [["serve", "--config", "off.json"], {}, false],
    [["serve"], { PLATFORM_CONFIG: "off.json" }, false],
    [["serve", "--config=off.json"], { PLATFORM_GC_TUNING: "on" }, true],
    [["serve", "--config=null.json"], {}, true],
    [["serve", "--config=missing.json"], {}, true],
  ])("is read before the program is loaded: %j %j", async (args, env, expected) => {
    const folder = await temporaryFolder();
    writeFileSync(join(folder, "off.json"), '{"gcTuning": "off"}');
    writeFileSync(join(folder, "null.json"), "null");
    const inFolder = (text: string | undefined) => text?.replace(/\w+\.json/, (name) => join(folder, name));
    const { PLATFORM_CONFIG, ...rest } = env;
    const all = { ...rest, PLATFORM_CONFIG: inFolder(PLATFORM_CONFIG) };
    expect(
      isTuningOn(
        args.map((arg) => inFolder(arg)!),
        all,
      ),
    ).toBe(expected);
  });

  /** The flags of V8 that a server sets, written to standard error by a module that is loaded before it. */
  async function flagsOf(...args: string[]): Promise<readonly string[]> {
    const folder = await temporaryFolder();
    const preload = join(folder, "preload.mjs");
    writeFileSync(
      preload,
      `import v8 from "node:v8";
import { syncBuiltinESMExports } from "node:module";
const { setFlagsFromString } = v8;
v8.setFlagsFromString = (flag) => {
  process.stderr.write("flag " + flag + "\\n");
  setFlagsFromString(flag);
};
syncBuiltinESMExports();
`,
    );
    const { serve } = settingsIn(folder);
    const server = await startPlatformForTest([...serve, ...args], { env: { NODE_OPTIONS: `--import=${preload}` } });
    expect(await server.end("SIGTERM")).toBe(0);
    return [...server.stderr().matchAll(/^flag (\S+)$/gm)].map(([, flag]) => flag!);
  }

  it("off leaves V8 as it is, while the program is loaded and afterwards", async () => {
    const [on, off] = await Promise.all([flagsOf("--gc-tuning=on"), flagsOf("--gc-tuning=off")]);
    expect(on).toEqual(expect.arrayContaining(["--no-allocation-site-pretenuring", "--heap-growing-percent=150"]));
    expect(off).toEqual([]);
  });
});
