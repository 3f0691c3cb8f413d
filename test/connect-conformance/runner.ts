/** The official runner, https://github.com/connectrpc/conformance: a program in Go. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { bundled } from "../bundled.ts";
import { campaign } from "../campaign.ts";
import { goProgram } from "../go-program.ts";

const folder = import.meta.dirname;
/** Which cases the runner has for the server. */
const features = campaign({ short: "features-short.yaml", full: "features.yaml" });

/** The runner's path; undefined if it cannot be built. */
export function buildRunner(): string | undefined {
  return goProgram("connectrpc.com/conformance/cmd/connectconformance", "v1.0.5");
}

/** What the runner printed, and whether all cases passed. */
export interface Verdict {
  readonly hasPassed: boolean;
  readonly printed: string;
}

/**
 * Runs every case of `features.yaml`, or those that the flags `more` select, against the server in a mode
 * (`server.ts`).
 */
export function runConformance(runner: string, mode: string, more: readonly string[] = []): Promise<Verdict> {
  const flags = [
    ...["--mode", "server", "--conf", join(folder, features)],
    ...["--known-flaky", `@${join(folder, "known-flaky.txt")}`],
    ...["--parallel", "16", "--max-servers", "2", ...more], // it waits for a server no longer than some seconds
  ];
  const entry = bundled(
    "conformance-server",
    "test/connect-conformance/rolldown.config.js",
    "test/connect-conformance/server.ts",
  );
  const server = [process.execPath, entry, mode];
  return new Promise((resolve) => {
    execFile(runner, [...flags, "--", ...server], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ hasPassed: error === null, printed: stdout + stderr }),
    );
  });
}
